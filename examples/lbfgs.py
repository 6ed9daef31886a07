"""A map of wines: points in the plane whose distances are those of 13 measurements.

What it shows: `optim.LBFGS` with a strong Wolfe search, its closure compiled, beside Adam on the
same loss for the same number of gradients.
Method: Sammon, A Nonlinear Mapping for Data Structure Analysis, 1969; Nocedal and Wright,
Numerical Optimization, chapters 3 and 7.

    python examples/lbfgs.py --compile
"""

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import ferrograd as fg
import support
from ferrograd import optim


def load_data() -> tuple[np.ndarray, np.ndarray]:
    """The measurements in units of their deviations, and the growers."""
    wine = load_wine()
    return (wine.data - wine.data.mean(0)) / wine.data.std(0), wine.target


def make_stress(x: np.ndarray) -> Callable[[fg.Tensor], fg.Tensor]:
    """Sammon's stress of points in the plane: relative errors of all distances."""
    first, second = np.triu_indices(len(x), 1)
    wanted = np.linalg.norm(x[first] - x[second], axis=1)

    def stress(points: fg.Tensor) -> fg.Tensor:
        found = fg.sqrt(((points[first] - points[second]) ** 2).sum(1) + 1e-12)
        return ((found - wanted) ** 2 / wanted).sum() / wanted.sum()

    return stress


def minimise(
    make: Callable[[list[fg.Tensor]], optim.Optimizer],
    start: np.ndarray,
    gradient: Callable[[fg.Tensor], tuple[fg.Tensor, fg.Tensor]],
    calls: int,
) -> tuple[np.ndarray, list[float]]:
    """Steps until so many gradients were asked for; the points and the loss of each gradient."""
    points = fg.tensor(start, requires_grad=True)
    optimizer, losses = make([points]), []

    def closure() -> fg.Tensor:
        value, points.grad = gradient(points.detach())
        losses.append(value.item())
        return value

    while len(losses) < calls:
        optimizer.step(closure)
    return points.detach().numpy(), losses


def plot_results(
    losses: dict[str, list[float]], points: np.ndarray, grower: np.ndarray, folder
) -> None:
    """The stress after each gradient, and the map."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for name, values in losses.items():
        left.plot(np.minimum.accumulate(values), label=name)
    left.set(xlabel="gradients", ylabel="best stress", yscale="log")
    left.legend()
    right.scatter(*points.T, c=grower, cmap="viridis", s=12)
    right.set(title="178 wines of three growers", aspect="equal")
    support.save_figure(figure, folder, "lbfgs.png")


def main() -> None:
    """Maps the wines with both optimisers."""
    given = support.parse_options("a map of wines by L-BFGS", compiles=True, gradients=150)
    x, grower = load_data()
    start = np.random.default_rng(given.seed).normal(size=(len(x), 2))
    gradient = given.compiled(fg.value_and_grad(make_stress(x)))
    makers: dict[str, Callable[[list[fg.Tensor]], optim.Optimizer]] = {
        "L-BFGS": lambda p: optim.LBFGS(p, max_iter=10, line_search_fn="strong_wolfe"),
        "Adam": lambda p: optim.Adam(p, lr=0.1),
    }
    found = {
        name: minimise(make, start, gradient, given.gradients) for name, make in makers.items()
    }
    for name, (_, losses) in found.items():
        print(f"{name} stress: {min(losses):.6f} after {len(losses)} gradients")
    losses = {name: values for name, (_, values) in found.items()}
    plot_results(losses, found["L-BFGS"][0], grower, given.out)


if __name__ == "__main__":
    main()
