"""What every rank of a job checks: `python mpi_checks.py CHECK`, started by mpiexec.

A check that fails ends the job with a status that is not 0.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import distributed, nn, optim
from ferrograd.errors import ArgumentError, ArgumentTypeError, ContractError, ShapeError
from ferrograd.utils import data

RANK, SIZE = distributed.get_rank(), distributed.get_world_size()


def rank_values(rank: int) -> np.ndarray:
    """What a rank begins with."""
    return np.random.default_rng(rank).normal(size=3)


Results = Callable[[list[Any]], list[Any]]


def neighbours(x: list[Any], step: int) -> list[Any]:
    return [x[(rank - step) % SIZE] for rank in range(SIZE)]


#: The call on a rank, and what it gives on all ranks, from the tensors of all.
CALLS: dict[str, tuple[Callable[[Any], Any], Results]] = {
    "allreduce": (distributed.allreduce, lambda x: [sum(x)] * SIZE),
    "mean": (lambda x: distributed.allreduce(x, "mean"), lambda x: [sum(x) / SIZE] * SIZE),
    "max": (
        lambda x: distributed.allreduce(x, "max"),
        lambda x: [fg.stack(x).max(axis=0)] * SIZE,
    ),
    "min": (
        lambda x: distributed.allreduce(x, "min"),
        lambda x: [fg.stack(x).min(axis=0)] * SIZE,
    ),
    "reduce": (
        lambda x: distributed.reduce(x, 1),
        lambda x: [sum(x) if rank == 1 else 0 * x[0] for rank in range(SIZE)],
    ),
    "bcast": (lambda x: distributed.bcast(x, 1), lambda x: [x[1]] * SIZE),
    "gather": (
        lambda x: distributed.gather(x, 1),
        lambda x: [fg.stack(x) * (rank == 1) for rank in range(SIZE)],
    ),
    "allgather": (distributed.allgather, lambda x: [fg.stack(x)] * SIZE),
    "scatter": (
        lambda x: distributed.scatter(fg.stack([x * (i + 1) for i in range(SIZE)]), 1),
        lambda x: [x[1] * (rank + 1) for rank in range(SIZE)],
    ),
    "alltoall": (
        lambda x: distributed.alltoall(fg.stack([x * (i + 1) for i in range(SIZE)])),
        lambda x: [fg.stack([each * (rank + 1) for each in x]) for rank in range(SIZE)],
    ),
    "ring": (
        lambda x: distributed.sendrecv(x, (RANK + 1) % SIZE, (RANK - 1) % SIZE),
        lambda x: neighbours(x, 1),
    ),
    "line": (
        lambda x: distributed.sendrecv(
            x, RANK + 1 if RANK + 1 < SIZE else None, RANK - 1 if RANK else None
        ),
        lambda x: [0 * x[0], *x[:-1]],
    ),
}


def derivatives(y: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
    """First and second derivatives of what the results add up to."""
    loss = sum((each**3 + each.sin()).sum() for each in y)
    g = fg.autograd.grad(loss, x, create_graph=True, allow_unused=True)
    g = [fg.zeros(3) if each is None else each for each in g]
    h = fg.autograd.grad(sum((each**2).sum() for each in g), x, allow_unused=True)
    return list(g), [fg.zeros(3) if each is None else each for each in h]


def collectives() -> None:
    """Values and two derivatives beside one program that has the tensors of all ranks."""
    for name, (call, whole) in CALLS.items():
        x = fg.tensor(rank_values(RANK), requires_grad=True)
        y = call(x)
        g, h = derivatives([y], [x])
        alone = [fg.tensor(rank_values(rank), requires_grad=True) for rank in range(SIZE)]
        expected = whole(alone)
        all_g, all_h = derivatives(expected, alone)
        for got, want in ((y, expected[RANK]), (g[0], all_g[RANK]), (h[0], all_h[RANK])):
            np.testing.assert_allclose(
                np.asarray(got.detach()), np.asarray(want.detach()), 1e-12, 1e-12, err_msg=name
            )


def messages() -> None:
    """A tensor that goes from rank to rank, and its gradient back."""
    x = fg.tensor(rank_values(RANK), requires_grad=True)
    y = x if RANK == 0 else distributed.recv(RANK - 1) * x
    loss = distributed.send(y, RANK + 1) if RANK + 1 < SIZE else y.sum()
    loss.backward()
    product = np.prod([rank_values(rank) for rank in range(SIZE) if rank != RANK], axis=0)
    np.testing.assert_allclose(x.grad.numpy(), product, 1e-12)
    with pytest.raises(ContractError, match=f"recv: rank {RANK} has sent itself nothing"):
        distributed.recv(RANK)
    distributed.send(x.detach(), RANK)
    assert np.all(distributed.recv(RANK).numpy() == x.detach().numpy())


def constants_and_dtypes() -> None:
    """No gradients, other dtypes; only some ranks track gradients."""
    for dtype in ("int8", "int64", "uint16", "float16", "float32", "complex64", "complex128"):
        y = distributed.allreduce(fg.ones(2, dtype=dtype))
        assert y.dtype == np.dtype(dtype)
        assert not y.requires_grad
        assert np.all(y.numpy() == SIZE)
    x = fg.tensor(1.0, requires_grad=RANK == 0)
    (3 * distributed.allreduce(x)).backward()
    assert (x.grad is None) if RANK else x.grad.item() == 3 * SIZE


def mismatches() -> None:
    """Calls that do not fit each other are an error on every rank, and the next call works."""
    optimizer = distributed.ZeroRedundancyOptimizer(nn.Linear(1, 1).parameters(), optim.SGD, lr=0.1)
    calls = [
        lambda: distributed.allreduce(fg.ones(2 + RANK)),
        lambda: distributed.allreduce(fg.ones(2, dtype=np.float32 if RANK else np.float64)),
        lambda: distributed.bcast(fg.ones(1), root=min(RANK, 1)),
        lambda: distributed.bcast(fg.ones(1)) if RANK else distributed.gather(fg.ones(1)),
        lambda: distributed.batch_weight(3) if RANK else distributed.barrier(),
        lambda: distributed.allreduce(fg.ones(1)) if RANK else distributed.batch_weight(3),
        lambda: distributed.barrier() if RANK else optimizer.step(),
        lambda: distributed.allreduce(fg.ones(1)) if RANK else optimizer.state_dict(),
    ]
    for call in calls:
        with pytest.raises(ContractError, match=r"rank 0 calls .* rank 1 calls"):
            call()
        assert distributed.allreduce(fg.tensor(1)).item() == SIZE
    with pytest.raises(ContractError, match=rf"rank {SIZE - 1} weight: float64 \(3, 3\)"):
        distributed.DataParallel(nn.Linear(3, 2 + (RANK == SIZE - 1)))
    with pytest.raises(ArgumentError, match="root is"):
        distributed.bcast(fg.ones(1), root=SIZE)
    with pytest.raises(ArgumentTypeError, match="complex, which has no order"):
        distributed.allreduce(fg.ones(1, dtype=np.complex64), "max")
    with pytest.raises(ArgumentTypeError, match="truth values, which have no sum"):
        distributed.allreduce(fg.ones(1, dtype=bool))
    assert distributed.allreduce(fg.tensor([RANK == 1, False]), "max").tolist() == [True, False]
    with pytest.raises(ArgumentTypeError, match="comm is a int"):
        distributed.allreduce(fg.ones(1), comm=3)


class Branching(nn.Module):
    """Uses one of two layers, by the rank, and never the third."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x: Any, first: bool) -> Any:
        return self.a(x) if first else self.b(x)


def data_parallel() -> None:
    """Gradients are those of the whole batch; accumulation, unused parameters, small buckets."""
    x = np.random.default_rng(0).normal(size=(13, 4))
    for cap in (1e-5, 1e-4, 25):
        fg.manual_seed(RANK)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        parallel = distributed.DataParallel(model, bucket_cap_mb=cap)
        alone = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        alone.load_state_dict(model.state_dict())
        part = x[13 * RANK // SIZE : 13 * (RANK + 1) // SIZE]
        weight = distributed.batch_weight(len(part))
        for rounds in range(2):
            if rounds:
                with parallel.no_sync():
                    ((parallel(fg.tensor(part)) ** 2).mean() * weight).backward()
                (alone(fg.tensor(x)) ** 2).mean().backward()
            else:
                model.zero_grad()
            ((parallel(fg.tensor(part)) ** 2).mean() * weight).backward()
            (alone(fg.tensor(x)) ** 2).mean().backward()
            for p, q in zip(model.parameters(), alone.parameters(), strict=True):
                np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), 1e-12, 1e-14)
                everyone = distributed.allgather(p.grad)
                assert np.array_equal(everyone, np.broadcast_to(everyone[0], everyone.shape))
            if not rounds:
                model.zero_grad()
                alone.zero_grad()
    branches = Branching()
    parallel = distributed.DataParallel(branches, bucket_cap_mb=1e-5)
    parallel(fg.ones(1, 2), RANK == 0).sum().backward()
    np.testing.assert_allclose(branches.a.bias.grad.numpy(), np.ones(2) / SIZE)
    np.testing.assert_allclose(branches.b.bias.grad.numpy(), np.ones(2) * (SIZE - 1) / SIZE)
    assert branches.c.bias.grad is None


def clipping() -> None:
    """The norm over parameters that are others on each rank, and over those that are the same."""
    own = nn.Parameter(fg.zeros(2))
    own.grad = fg.tensor([3.0, 4.0]) * (RANK + 1)
    norm = 5 * np.sqrt(sum((rank + 1) ** 2 for rank in range(SIZE)))
    for most, factor in ((2 * norm, 1.0), (norm / 2, 0.5)):
        assert distributed.clip_grad_norm_([own], most) == pytest.approx(norm, 1e-14)
        np.testing.assert_allclose(own.grad, np.array([3.0, 4.0]) * (RANK + 1) * factor, 1e-14)
    assert distributed.clip_grad_norm_([nn.Parameter(fg.ones(1))], 1.0) == 0.0


def sync_batch_norm() -> None:
    """Forward, backward, second derivatives and averages are those of one rank; uneven parts."""
    rng = np.random.default_rng(0)
    whole = rng.normal(3.0, 2.0, size=(3 * SIZE, 4, 5))
    scale = rng.normal(size=whole.shape)
    # Rank 1 has no samples at all, the last one those of two.
    ends = [3 * (rank + 1) if rank != 1 else 3 for rank in range(SIZE)]
    ends[-1] = 3 * SIZE
    begins = [0, *ends[:-1]]
    own = slice(begins[RANK], ends[RANK])
    for momentum in (0.1, None):
        alone = nn.BatchNorm1d(4, momentum=momentum)
        with fg.no_grad():
            alone.weight.copy_(fg.tensor(rng.normal(size=4)))
            alone.bias.copy_(fg.tensor(rng.normal(size=4)))
        shared = nn.SyncBatchNorm(4, momentum=momentum)
        shared.load_state_dict(alone.state_dict())
        for _ in range(2):
            seconds = []
            for layer, part in ((alone, slice(None)), (shared, own)):
                x = fg.tensor(whole[part], requires_grad=True)
                y = layer(x)
                loss = ((y + y**2) * fg.tensor(scale[part])).sum()
                leaves = [x, layer.weight, layer.bias]
                first = fg.autograd.grad(loss, leaves, create_graph=True)
                # What rank-wise gradients of shared parameters add up to is linear in them.
                again = fg.autograd.grad((first[0] ** 3).sum(), [x, layer.weight])
                seconds.append([y, *first, *again])
            want, got = seconds
            for place, (mine, theirs) in enumerate(zip(got, want, strict=True)):
                if place in (2, 3, 5):
                    mine = distributed.allreduce(mine.detach())
                else:
                    theirs = theirs[own]
                np.testing.assert_allclose(mine.detach(), theirs.detach(), 1e-12, 1e-12)
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            np.testing.assert_allclose(getattr(shared, name), getattr(alone, name), 1e-12)
        y = shared.eval()(fg.tensor(whole[own]))
        np.testing.assert_allclose(y.detach(), alone.eval()(fg.tensor(whole)).detach()[own], 1e-12)
    converted_model(whole)
    with pytest.raises(ShapeError, match="1 values per channel on all ranks"):
        nn.SyncBatchNorm(4)(fg.ones(int(RANK == 0), 4))


def converted_model(whole: np.ndarray) -> None:
    """A converted network has the gradients of the whole batch under `DataParallel`."""

    def made() -> Any:
        fg.manual_seed(0)
        return nn.Sequential(nn.Conv1d(4, 3, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Flatten())

    alone, model = made(), nn.SyncBatchNorm.convert_sync_batchnorm(made())
    assert type(model[1]) is nn.SyncBatchNorm
    parallel = distributed.DataParallel(model)
    part = whole[RANK::SIZE]
    (parallel(fg.tensor(part)) ** 2).mean().backward()
    (alone(fg.tensor(whole)) ** 2).mean().backward()
    for p, q in zip(model.parameters(), alone.parameters(), strict=True):
        np.testing.assert_allclose(p.grad, q.grad, 1e-10, 1e-13)
    assert model.state_dict().keys() == alone.state_dict().keys()


def training() -> None:
    """A training run; prints its losses, so that numbers of ranks are compared."""
    fg.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(50, 4))
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
    parallel = distributed.DataParallel(model)
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    sampler = data.RandomSampler(x, generator=fg.Generator(3))
    whole = data.BatchSampler(sampler, 8, drop_last=False)
    loader = data.DataLoader(
        data.TensorDataset(x), batch_sampler=distributed.DistributedBatchSampler(whole)
    )
    path, stop = (sys.argv[2], int(sys.argv[3])) if len(sys.argv) > 2 else ("", -1)
    parts = {"model": model, "optimizer": optimizer, "loader": loader}
    losses = []
    if path and stop < 0:
        losses = fg.load_state(path, **parts)["losses"]
    for _ in range(loader.epoch, 3):
        for (batch,) in loader:
            weight = distributed.batch_weight(len(batch))
            optimizer.zero_grad()
            loss = ((parallel(batch) - batch) ** 2).mean() * weight if len(batch) else None
            if loss is None:
                loss = 0.0 * parallel(batch).sum()
            loss.backward()
            optimizer.step()
            losses.append(distributed.allreduce(loss.detach(), "mean").item())
            if len(losses) == stop:
                if RANK == 0:
                    fg.save_state(path, losses=losses, **parts)
                distributed.barrier()
                return
    if RANK == 0:
        print("losses", *map(repr, losses))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
