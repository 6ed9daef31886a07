"""Hamiltonian Monte Carlo for Bayesian linear regression on scikit-learn's diabetes data.

What it shows: a sampler that needs thousands of gradients of a plain NumPy function, checked
against the posterior, which is known in closed form here.
Method: Neal, MCMC using Hamiltonian dynamics, 2011.

    python examples/hmc.py --samples 2000 --compile
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from tqdm import tqdm

import ferrograd as fg
import support

NOISE, PRIOR, STEPS, STEP = 0.7, 1.0, 12, 0.025


def load_data() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Standardised features and targets, and the features' names."""
    data = load_diabetes()
    features = data.data / data.data.std(axis=0)
    return features, (data.target - data.target.mean()) / data.target.std(), data.feature_names


def make_energy(features: np.ndarray, targets: np.ndarray):
    """Minus the log posterior, without its constant: Gaussian noise, Gaussian prior."""

    def energy(weights):
        misfit = targets - features @ weights
        return 0.5 * np.sum(misfit**2) / NOISE**2 + 0.5 * np.sum(weights**2) / PRIOR**2

    return energy


def leapfrog(slope, place: np.ndarray, momentum: np.ndarray, step: float):
    """STEPS steps of Hamilton's equations with unit mass."""
    momentum = momentum - 0.5 * step * slope(place)
    for i in range(STEPS):
        place = place + step * momentum
        momentum = momentum - (0.5 if i == STEPS - 1 else 1.0) * step * slope(place)
    return place, momentum


def sample(energy, slope, place: np.ndarray, count: int, rng) -> tuple[np.ndarray, float]:
    """`count` states of the chain, and the share of accepted proposals."""
    chain, accepted = [], 0
    now = energy(place)
    for _ in tqdm(range(count), desc="sampling", unit="sample"):
        kick = rng.normal(size=place.shape)
        proposal, momentum = leapfrog(slope, place, kick, STEP * rng.uniform(0.8, 1.2))
        then = energy(proposal)
        if np.log(rng.uniform()) < now - then + 0.5 * (kick @ kick - momentum @ momentum):
            place, now, accepted = proposal, then, accepted + 1
        chain.append(place)
    return np.array(chain), accepted / count


def main() -> None:
    """Samples, compares with the closed form, draws."""
    options = support.parse_options("Hamiltonian Monte Carlo", compiles=True, samples=2000)
    rng = np.random.default_rng(options.seed)
    features, targets, names = load_data()
    precision = features.T @ features / NOISE**2 + np.eye(len(names)) / PRIOR**2
    mean = np.linalg.solve(precision, features.T @ targets / NOISE**2)
    deviation = np.sqrt(np.diag(np.linalg.inv(precision)))

    energy = make_energy(features, targets)
    slope = options.compiled(fg.grad(energy))
    chain, accepted = sample(energy, slope, np.zeros(len(names)), options.samples, rng)
    chain = chain[len(chain) // 10 :]
    print(f"accepted: {100 * accepted:.1f} %")
    for name, exact, error, got in zip(names, mean, deviation, chain.mean(axis=0), strict=True):
        print(f"  {name:>4}: {got:+.3f} sampled, {exact:+.3f} ± {error:.3f} exact")
    distance = np.abs(chain.mean(axis=0) - mean) / deviation
    print(f"largest error of a mean: {distance.max():.3f} posterior deviations")

    figure, axes = plt.subplots(figsize=(7, 4))
    axes.violinplot(chain, showextrema=False)
    places = np.arange(1, len(names) + 1)
    axes.errorbar(places, mean, 2 * deviation, fmt="k.", capsize=3, label="exact, ±2 deviations")
    axes.set(xticks=places, xticklabels=names, ylabel="weight", title="Posterior of the weights")
    axes.legend()
    support.save_figure(figure, options.out, "hmc.png")


if __name__ == "__main__":
    main()
