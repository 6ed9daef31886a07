"""Gaussian-process regression on scikit-learn's diabetes data, hyper-parameters by gradient.

What it shows: the marginal likelihood through a Cholesky factorisation, differentiated as written
and maximised by SciPy. Formulas: Rasmussen and Williams, Gaussian Processes for Machine Learning,
equations 2.23, 2.24 and 2.30.

    python examples/gaussian_process.py --compile
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_diabetes

import ferrograd as fg
import ferrograd.numpy as fnp
import support
from ferrograd.scipy.linalg import solve_triangular


def load_data(count: int, seed: int) -> list[np.ndarray]:
    """Body-mass index against disease progression, both standardised: train and test parts."""
    data = load_diabetes()
    x, y = data.data[:, 2], data.target
    order = np.random.default_rng(seed).permutation(len(x))
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    return [part[chosen] for chosen in (order[:count], order[count:]) for part in (x, y)]


def kernel(a, b, log_parameters):
    """Squared exponential covariance: σ² exp(−(a − b)² / 2ℓ²)."""
    scale, length, _ = log_parameters
    return fnp.exp(2 * scale) * fnp.exp(
        -0.5 * (a[:, None] - b[None, :]) ** 2 * fnp.exp(-2 * length)
    )


def factor_covariance(x, log_parameters):
    """Lower Cholesky factor of the covariance of the observations."""
    noise = fnp.exp(2 * log_parameters[2]) + 1e-8
    return fnp.linalg.cholesky(kernel(x, x, log_parameters) + noise * np.eye(len(x)))


def make_loss(x: np.ndarray, y: np.ndarray):
    """Negative log marginal likelihood for each observation, of (log σ, log ℓ, log noise)."""

    def loss(log_parameters):
        lower = factor_covariance(x, log_parameters)
        white = solve_triangular(lower, y, lower=True)
        log_det = fnp.sum(fnp.log(fnp.diagonal(lower)))
        return (0.5 * fnp.sum(white**2) + log_det) / len(x) + 0.5 * np.log(2 * np.pi)

    return loss


def predict(x, y, points, log_parameters) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean and standard deviation of an observation at `points`."""
    lower = factor_covariance(x, log_parameters)
    across = solve_triangular(lower, kernel(x, points, log_parameters), lower=True)
    mean = across.T @ solve_triangular(lower, y, lower=True)
    prior = np.exp(2 * log_parameters[0]) + np.exp(2 * log_parameters[2])
    return np.asarray(mean), np.sqrt(prior - np.asarray(fnp.sum(across**2, axis=0)))


def main() -> None:
    """Fits, compares with a straight line on unseen data, draws."""
    options = support.parse_options("Gaussian-process regression", compiles=True, count=220)
    x, y, test_x, test_y = load_data(options.count, options.seed)
    loss = make_loss(x, y)
    start = np.log([1.0, 1.0, 0.5])
    result = minimize(options.compiled(fg.value_and_grad(loss)), start, jac=True, method="L-BFGS-B")
    scale, length, noise = np.exp(result.x)
    print(f"negative log likelihood: {loss(start):.4f} before, {result.fun:.4f} after")
    print(f"σ = {scale:.3f}, ℓ = {length:.3f}, noise = {noise:.3f}, {result.nfev} evaluations")
    print(f"largest gradient at the optimum: {np.abs(fg.grad(loss)(result.x)).max():.1e}")
    mean, deviation = predict(x, y, test_x, result.x)
    inside = np.mean(np.abs(test_y - mean) < 1.96 * deviation)
    print(f"test error: {np.sqrt(np.mean((test_y - mean) ** 2)):.3f} (1 without a model)")
    print(f"inside the 95 % band: {100 * inside:.1f} %")

    grid = np.linspace(x.min() - 0.5, x.max() + 0.5, 200)
    mean, deviation = predict(x, y, grid, result.x)
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.plot(x, y, ".", alpha=0.4, label="patients")
    axes.plot(grid, mean, label="posterior mean")
    band = (mean - 1.96 * deviation, mean + 1.96 * deviation)
    axes.fill_between(grid, *band, alpha=0.2, label="95 % of observations")
    axes.set(xlabel="body-mass index (standardised)", ylabel="disease progression")
    axes.legend()
    support.save_figure(figure, options.out, "gaussian_process.png")


if __name__ == "__main__":
    main()
