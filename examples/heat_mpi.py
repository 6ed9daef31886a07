"""The heat equation on a grid whose rows are shared out over ranks, and its gradient.

What it shows: neighbours exchange the rows at their borders with `sendrecv`, which is part of the
graph, so that the gradient of what all ranks' losses add up to comes back to every rank's part of
the initial state. Every rank compares its part with the gradient of the same program on the whole
grid, and rank 0 draws what `gather` brings together: the states and the gradient.

    mpiexec -n 4 python examples/heat_mpi.py
"""

import matplotlib.pyplot as plt
import numpy as np

import ferrograd as fg
import support
from ferrograd import distributed

RATE = 0.2


def exchange_borders(part: fg.Tensor) -> fg.Tensor:
    """The rows of a rank, between the last row above them and the first below; zeros outside."""
    rank, size = distributed.get_rank(), distributed.get_world_size()
    above = rank - 1 if rank else None
    below = rank + 1 if rank + 1 < size else None
    from_above = distributed.sendrecv(part[-1:], dest=below, source=above)
    from_below = distributed.sendrecv(part[:1], dest=above, source=below)
    return fg.concatenate([from_above, part, from_below])


def pad_with_zeros(grid: fg.Tensor) -> fg.Tensor:
    """The same for a grid that is whole."""
    edge = fg.zeros(1, grid.shape[1])
    return fg.concatenate([edge, grid, edge])


def simulate(grid: fg.Tensor, steps: int, bordered) -> fg.Tensor:
    """The state after so many explicit steps; the temperature outside of the grid is zero."""
    for _ in range(steps):
        rows = bordered(grid)
        wide = fg.pad(grid, ((0, 0), (1, 1)))
        around = rows[:-2] + rows[2:] + wide[:, :-2] + wide[:, 2:]
        grid = grid + RATE * (around - 4 * grid)
    return grid


def plot_grids(given, parts: dict) -> None:
    """Grids of all ranks, brought together and drawn by rank 0."""
    rank, size = distributed.get_rank(), distributed.get_world_size()
    # Ranks may have one row more or less, and what is gathered is alike: filled up to the most.
    counts = [given.rows * (r + 1) // size - given.rows * r // size for r in range(size)]
    figure, places = plt.subplots(1, len(parts), figsize=(9, 4))
    for place, (title, part) in zip(places, parts.items(), strict=True):
        filled = np.zeros((max(counts), part.shape[1]))
        filled[: counts[rank]] = np.asarray(fg.asarray(part).detach())
        rows = distributed.gather(filled).numpy()
        place.imshow(np.concatenate([r[:n] for r, n in zip(rows, counts, strict=True)]))
        place.set_title(title)
    if rank == 0:
        support.save_figure(figure, given.out, "heat_mpi.png")


def main() -> None:
    """Simulates, differentiates, compares."""
    given = support.parse_options("the heat equation on MPI", rows=64, steps=20)
    rank, size = distributed.get_rank(), distributed.get_world_size()
    initial = np.random.default_rng(given.seed).normal(size=(given.rows, 48))
    wanted = np.random.default_rng(given.seed + 1).normal(size=(given.rows, 48))
    mine = slice(given.rows * rank // size, given.rows * (rank + 1) // size)

    part = fg.tensor(initial[mine], requires_grad=True)
    final = simulate(part, given.steps, exchange_borders)
    ((final - wanted[mine]) ** 2).sum().backward()

    whole = fg.tensor(initial, requires_grad=True)
    ((simulate(whole, given.steps, pad_with_zeros) - wanted) ** 2).sum().backward()

    error = np.abs(part.grad.numpy() - whole.grad.numpy()[mine]).max()
    worst = distributed.allreduce(fg.tensor(error), "max").item()
    assert worst < 1e-12, worst
    if rank == 0:
        print(f"ranks: {size}")
        print(f"largest difference of the gradient from one rank's: {worst:.1e}")
    plot_grids(given, {"initial state": initial[mine], "final state": final, "gradient": part.grad})


if __name__ == "__main__":
    main()
