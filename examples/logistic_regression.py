"""Logistic regression on scikit-learn's breast-cancer data, with SciPy's optimisers.

What it shows: a loss in plain NumPy, `fg.value_and_grad` handed to `scipy.optimize.minimize` as it
stands (`jac=True`), and Newton's method whose Hessian is never formed: `fg.hvp` gives its products.
Both reach the same minimum; Newton needs far fewer steps.

    python examples/logistic_regression.py --compile
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import ferrograd as fg
import support

RIDGE = 1e-2


def load_data(seed: int) -> list[np.ndarray]:
    """Standardised features with a column of ones, labels -1 and 1; train and test."""
    data = load_breast_cancer()
    parts = train_test_split(data.data, data.target, test_size=0.25, random_state=seed)
    mean, deviation = parts[0].mean(axis=0), parts[0].std(axis=0)
    scaled = [np.c_[(x - mean) / deviation, np.ones(len(x))] for x in parts[:2]]
    return [*scaled, *(2.0 * y - 1.0 for y in parts[2:])]


def make_loss(features: np.ndarray, labels: np.ndarray):
    """Mean of log(1 + exp(-margin)) and a ridge: ordinary NumPy, nothing of ferrograd in it."""

    def loss(weights):
        margins = labels * (features @ weights)
        return np.mean(np.logaddexp(0.0, -margins)) + 0.5 * RIDGE * np.sum(weights**2)

    return loss


def fit(method: str, loss, start: np.ndarray, compiled):
    """The optimiser's result and the loss after each of its steps."""
    history = [float(loss(start))]
    more = {"hessp": compiled(fg.hvp(loss))} if method == "Newton-CG" else {}
    result = minimize(
        compiled(fg.value_and_grad(loss)),
        start,
        jac=True,
        method=method,
        callback=lambda weights: history.append(float(loss(weights))),
        **more,
    )
    return result, history


def main() -> None:
    """Fits with both methods, measures, draws."""
    options = support.parse_options("logistic regression through scipy.optimize", compiles=True)
    features, test_features, labels, test_labels = load_data(options.seed)
    loss = make_loss(features, labels)
    figure, axes = plt.subplots(figsize=(6, 4))
    for method in ("L-BFGS-B", "Newton-CG"):
        result, history = fit(method, loss, np.zeros(features.shape[1]), options.compiled)
        right = np.mean(np.sign(test_features @ result.x) == test_labels)
        slope = np.abs(fg.grad(loss)(result.x)).max()
        print(f"{method}: {len(history) - 1} steps, loss {result.fun:.8f}, |gradient| {slope:.1e}")
        print(f"{method} accuracy: {100 * right:.2f} %")
        gap = np.maximum(np.array(history) - result.fun, 1e-16)
        axes.semilogy(gap, marker=".", label=method)
    axes.set(xlabel="step", ylabel="loss above the minimum", title="Breast-cancer data")
    axes.legend()
    support.save_figure(figure, options.out, "logistic_regression.png")


if __name__ == "__main__":
    main()
