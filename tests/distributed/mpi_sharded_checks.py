"""What `ZeroRedundancyOptimizer` does: `python mpi_sharded_checks.py CHECK` on each rank.

Parameters are compared with those that the optimiser alone makes.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import distributed, nn, optim
from ferrograd.errors import ContractError
from ferrograd.nn.functional import mse_loss

RANK, SIZE = distributed.get_rank(), distributed.get_world_size()


def sharded() -> None:
    """Steps and states of a sharded optimiser are those of the whole one; also of other sizes."""

    def model() -> Any:
        fg.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))

    x = fg.tensor(np.random.default_rng(0).normal(size=(6, 4)))

    def steps(made: Any, optimizer: Any, count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            mse_loss(made(x), fg.ones(6, 1)).backward()
            optimizer.step()

    whole, parts = model(), model()
    alone = optim.Adam(whole.parameters(), lr=0.1)
    shared = distributed.ZeroRedundancyOptimizer(parts.parameters(), optim.Adam, lr=0.1)
    steps(whole, alone, 3)
    steps(parts, shared, 3)
    assert len(shared.optimizer.state) < 4
    total = sum(p.nbytes for p in parts.parameters())
    assert distributed.allreduce(fg.tensor(shared.bytes_sent)).item() == 3 * total
    assert shared.messages_sent == 3  # One in each step, for all parameters.
    again = distributed.ZeroRedundancyOptimizer(parts.parameters(), optim.Adam, lr=0.5)
    again.load_state_dict(alone.state_dict())
    alone.load_state_dict(shared.state_dict())
    steps(whole, alone, 2)
    steps(parts, again, 2)
    for p, q in zip(whole.parameters(), parts.parameters(), strict=True):
        assert np.array_equal(p.detach(), q.detach())
    shared_groups(whole, parts, steps)


def sharded_kinds() -> None:
    """Parameters of all dtypes and shapes are gathered, in a message for each dtype or 25 MB."""
    shapes = {"float64": [(3, 4), (), (0, 3)], "float32": [(5,), (2, 1, 2)], "complex64": [(3,)]}
    shapes |= {"complex128": [(2, 2), (5,)], "float16": [(7,)]}

    def make() -> list[Any]:
        return [
            nn.Parameter(fg.ones(*shape, dtype=dtype) * (i + 1))
            for dtype, several in shapes.items()
            for i, shape in enumerate(several)
        ]

    def step(params: list[Any], optimizer: Any) -> None:
        for i, p in enumerate(params):
            p.grad = fg.ones_like(p) * (i + 0.5)
        optimizer.step()

    whole, parts = make(), make()
    shared = distributed.ZeroRedundancyOptimizer(parts, optim.SGD, lr=0.25, momentum=0.5)
    alone = optim.SGD(whole, lr=0.25, momentum=0.5)
    for _ in range(2):
        step(whole, alone)
        step(parts, shared)
    for p, q in zip(whole, parts, strict=True):
        assert np.array_equal(p.detach(), q.detach())
    assert shared.messages_sent == 2 * len(shapes)
    large = [nn.Parameter(fg.zeros(1_000_000)) for _ in range(4 * SIZE)]
    shared = distributed.ZeroRedundancyOptimizer(large, optim.SGD, lr=1.0)
    step(large, shared)
    assert (shared.bytes_sent, shared.messages_sent) == (32_000_000, 2)
    assert all(p[-1].item() == -(i + 0.5) for i, p in enumerate(large))


def shared_groups(whole: Any, parts: Any, steps: Callable[..., None]) -> None:
    """Groups with options, a scheduler, hooks; one rank saves, all load."""
    made = []
    for each in (whole, parts):
        groups = [
            {"params": list(each[0].parameters()), "lr": 0.3},
            {"params": list(each[2].parameters())},
        ]
        kind = optim.AdamW if each is whole else distributed.ZeroRedundancyOptimizer
        given = () if each is whole else (optim.AdamW,)
        optimizer = kind(groups, *given, lr=0.1, weight_decay=0.2)
        made.append((optimizer, optim.lr_scheduler.StepLR(optimizer, 2, 0.5)))
    for each, (optimizer, schedule) in zip((whole, parts), made, strict=True):
        for _ in range(3):
            steps(each, optimizer, 1)
            schedule.step()
    for p, q in zip(whole.parameters(), parts.parameters(), strict=True):
        assert np.array_equal(p.detach(), q.detach())
    alone, shared = made[0][0], made[1][0]
    shared.consolidate_state_dict(1)
    if RANK == 1:  # Nobody else takes part.
        want, got = alone.state_dict(), shared.state_dict()
        assert got["state"].keys() == want["state"].keys()
        assert [g["lr"] for g in got["param_groups"]] == [g["lr"] for g in want["param_groups"]]
        assert np.array_equal(got["state"][3]["exp_avg"], want["state"][3]["exp_avg"])
    distributed.barrier()
    again = distributed.ZeroRedundancyOptimizer(
        [{"params": list(parts[0].parameters())}, {"params": list(parts[2].parameters())}],
        optim.AdamW,
    )
    again.load_state_dict(alone.state_dict())
    assert again.param_groups[0]["lr"] == 0.15
    steps(whole, alone, 1)
    steps(parts, again, 1)
    for p, q in zip(whole.parameters(), parts.parameters(), strict=True):
        assert np.array_equal(p.detach(), q.detach())
    with pytest.raises(ContractError, match="pass all groups then"):
        again.add_param_group({"params": [nn.Parameter(fg.ones(1))]})


if __name__ == "__main__":
    globals()[sys.argv[1]]()
