"""Black-box variational inference: a Bayesian logistic regression on breast-cancer data.

What it shows: gradients of an expectation through its samples, w = μ + σ ε, of any log density
written in NumPy; `fg.value_and_grad` over a dict of parameters; a stochastic optimiser in five
lines. Method: Ranganath et al., 2014; Kucukelbir et al., 2017 (reparameterised).

    python examples/variational.py --steps 1500 --compile
"""

import matplotlib.pyplot as plt
import numpy as np
from logistic_regression import load_data
from tqdm import tqdm

import ferrograd as fg
import support

SAMPLES, RATE, PRIOR = 8, 0.05, 1.0


def make_log_density(features: np.ndarray, labels: np.ndarray):
    """Log posterior of rows of weights, up to a constant."""

    def log_density(weights):
        margins = labels * (weights @ features.T)
        likelihood = -np.sum(np.logaddexp(0.0, -margins), axis=1)
        return likelihood - 0.5 * np.sum(weights**2, axis=1) / PRIOR**2

    return log_density


def make_objective(log_density):
    """Minus the evidence lower bound of a Gaussian with independent weights."""

    def objective(guide, noise):
        weights = guide["mean"] + np.exp(guide["log_deviation"]) * noise
        entropy = np.sum(guide["log_deviation"])
        return -np.mean(log_density(weights)) - entropy

    return objective


def fit(step, size: int, steps: int, rng):
    """The guide after `steps` of Adam, and the bound at each."""
    guide = {"mean": np.zeros(size), "log_deviation": np.full(size, -1.0)}
    first = {name: np.zeros(size) for name in guide}
    second = {name: np.zeros(size) for name in guide}
    bounds = []
    for i in tqdm(range(1, steps + 1), desc="fitting", unit="step"):
        value, slopes = step(guide, rng.normal(size=(SAMPLES, size)))
        bounds.append(-float(value))
        rate = RATE * 0.5 * (1 + np.cos(np.pi * i / steps))
        for name, slope in slopes.items():
            first[name] = 0.9 * first[name] + 0.1 * slope
            second[name] = 0.999 * second[name] + 0.001 * slope**2
            scale = np.sqrt(second[name] / (1 - 0.999**i)) + 1e-8
            guide[name] = guide[name] - rate * first[name] / (1 - 0.9**i) / scale
    return guide, bounds


def main() -> None:
    """Fits, predicts with uncertainty, draws."""
    options = support.parse_options("black-box variational inference", compiles=True, steps=1500)
    rng = np.random.default_rng(options.seed)
    features, test_features, labels, test_labels = load_data(options.seed)
    objective = make_objective(make_log_density(features, labels))
    step = options.compiled(fg.value_and_grad(objective))
    guide, bounds = fit(step, features.shape[1], options.steps, rng)
    print(f"bound: {bounds[0]:.1f} at first, {np.mean(bounds[-50:]):.1f} at last")

    spread = rng.normal(size=(500, features.shape[1])) * np.exp(guide["log_deviation"])
    chances = 1 / (1 + np.exp(-(guide["mean"] + spread) @ test_features.T))
    mean = chances.mean(axis=0)
    right = (mean > 0.5) == (test_labels > 0)
    print(f"test accuracy: {100 * right.mean():.2f} %")
    log_loss = -np.mean(np.log(np.where(test_labels > 0, mean, 1 - mean)))
    print(f"test log loss: {log_loss:.4f} (0.6931 knows nothing)")

    figure, (left, other) = plt.subplots(1, 2, figsize=(9, 4))
    left.plot(bounds)
    left.set(xlabel="step", ylabel="evidence lower bound", ylim=(np.percentile(bounds, 5), None))
    order = np.argsort(mean)
    low, high = np.percentile(chances[:, order], [5, 95], axis=0)
    other.fill_between(np.arange(len(mean)), low, high, alpha=0.3, label="90 % of the posterior")
    other.plot(mean[order])
    other.plot(np.where(right[order], np.nan, test_labels[order] > 0), "rx", label="mistakes")
    other.set(xlabel="test patient, sorted", ylabel="chance of a benign tumour")
    other.legend(loc="upper left")
    support.save_figure(figure, options.out, "variational.png")


if __name__ == "__main__":
    main()
