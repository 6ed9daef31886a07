"""The heat equation on a grid whose rows are shared out over ranks, and its gradient.

What it shows: neighbours exchange the rows at their borders with `sendrecv`, which is part of the
graph, so that the gradient of what all ranks' losses add up to comes back to every rank's part of
the initial state. Every rank compares its part with the gradient of the same program on the whole
grid.

    mpiexec -n 4 python examples/heat_mpi.py
"""

import argparse

import numpy as np

import ferrograd as fg
from ferrograd import distributed

RATE = 0.2


def with_borders(part: fg.Tensor) -> fg.Tensor:
    """The rows of a rank, between the last row above them and the first below; zeros outside."""
    rank, size = distributed.get_rank(), distributed.get_world_size()
    above = rank - 1 if rank else None
    below = rank + 1 if rank + 1 < size else None
    from_above = distributed.sendrecv(part[-1:], dest=below, source=above)
    from_below = distributed.sendrecv(part[:1], dest=above, source=below)
    return fg.concatenate([from_above, part, from_below])


def alone(grid: fg.Tensor) -> fg.Tensor:
    """The same for a grid that is whole."""
    edge = fg.zeros(1, grid.shape[1])
    return fg.concatenate([edge, grid, edge])


def simulated(grid: fg.Tensor, steps: int, bordered) -> fg.Tensor:
    """The state after so many explicit steps; the temperature outside of the grid is zero."""
    for _ in range(steps):
        rows = bordered(grid)
        wide = fg.pad(grid, ((0, 0), (1, 1)))
        around = rows[:-2] + rows[2:] + wide[:, :-2] + wide[:, 2:]
        grid = grid + RATE * (around - 4 * grid)
    return grid


def main() -> None:
    """Simulates, differentiates, compares."""
    parser = argparse.ArgumentParser(description="the heat equation on MPI")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args()
    rank, size = distributed.get_rank(), distributed.get_world_size()
    initial = np.random.default_rng(0).normal(size=(given.rows, 48))
    wanted = np.random.default_rng(1).normal(size=(given.rows, 48))
    mine = slice(given.rows * rank // size, given.rows * (rank + 1) // size)

    part = fg.tensor(initial[mine], requires_grad=True)
    ((simulated(part, given.steps, with_borders) - wanted[mine]) ** 2).sum().backward()

    whole = fg.tensor(initial, requires_grad=True)
    ((simulated(whole, given.steps, alone) - wanted) ** 2).sum().backward()

    error = np.abs(part.grad.numpy() - whole.grad.numpy()[mine]).max()
    worst = distributed.allreduce(fg.tensor(error), "max").item()
    assert worst < 1e-12, worst
    if rank == 0:
        print(f"ranks: {size}")
        print(f"largest difference of the gradient from one rank's: {worst:.1e}")


if __name__ == "__main__":
    main()
