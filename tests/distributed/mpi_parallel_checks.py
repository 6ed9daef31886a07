"""What `DataParallel` makes of gradients: `python mpi_parallel_checks.py CHECK` on each rank.

Each rank computes the losses of all ranks by itself, with a copy of the model for each, and
compares the means of gradients with those of all ranks.
"""

import contextlib
import copy
import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import distributed, nn, optim
from ferrograd.errors import ArgumentError, CompileError, ContractError, GradientError
from ferrograd.utils.checkpoint import checkpoint

RANK, SIZE = distributed.get_rank(), distributed.get_world_size()
#: Messages of one parameter each, of several small and large ones, and a single one.
CAPS = (1e-6, 3e-4, 25)

#: What a rank does with a model: `net` is what it calls, `model` owns the parameters.
Step = Callable[[Any, Any, int], None]


class Net(nn.Module):
    """Two branches, a layer that is used twice, and one that is not used."""

    def __init__(self) -> None:
        super().__init__()
        fg.manual_seed(3)
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.twice, self.never = nn.Linear(3, 3), nn.Linear(3, 2)
        self.scale = nn.Parameter(fg.tensor(1.5))
        self.none = nn.Parameter(fg.zeros(0, 3))

    def forward(self, x: Any, branch: int = 0) -> Any:
        layer = self.second if branch else self.first
        return self.scale * self.twice(fg.tanh(self.twice(layer(x)))) ** 2


def own_data(rank: int) -> Any:
    return fg.tensor(np.random.default_rng(rank).normal(size=(2 + rank, 3)))


def gradients(model: Any) -> list[Any]:
    return [None if p.grad is None else p.grad.detach().numpy().copy() for p in model.parameters()]


def agree(step: Step, make: Callable[[], Any] = Net, tolerance: float = 1e-12) -> None:
    """The means that ranks make together are those of the losses of all ranks."""
    for cap in CAPS:
        model = make()
        copies = [copy.deepcopy(model) for _ in range(SIZE)]
        step(distributed.DataParallel(model, bucket_cap_mb=cap), model, RANK)
        for rank, alone in enumerate(copies):
            step(alone, alone, rank)
        found, parts = gradients(model), zip(*map(gradients, copies), strict=True)
        for mine, theirs in zip(found, parts, strict=True):
            there = [g for g in theirs if g is not None]
            if not there:
                assert mine is None
                continue
            np.testing.assert_allclose(mine, sum(there) / SIZE, tolerance, tolerance)
            everyone = np.asarray(distributed.allgather(mine))
            assert np.array_equal(everyone, np.broadcast_to(everyone[0], everyone.shape))


def no_sync(net: Any) -> Any:
    return net.no_sync() if isinstance(net, distributed.DataParallel) else contextlib.nullcontext()


def several_calls() -> None:
    """Two calls and one pass over both, two passes, and a pass in the other order."""

    def one_pass(net: Any, model: Any, rank: int) -> None:
        (net(own_data(rank)).sum() + (net(own_data(rank + 1), 1) ** 2).sum()).backward()

    def two_passes(net: Any, model: Any, rank: int) -> None:
        y, z = net(own_data(rank)), net(own_data(rank), 1)
        z.sum().backward()
        y.sum().backward()

    def nested(net: Any, model: Any, rank: int) -> None:
        net(net(own_data(rank)), 1).sum().backward()

    for step in (one_pass, two_passes, nested):
        agree(step)


def uneven_use() -> None:
    """Parameters that some ranks use, in this pass, in one before it, or beside the module."""

    def by_rank(net: Any, model: Any, rank: int) -> None:
        net(own_data(rank), rank % 2).sum().backward()

    def accumulated(net: Any, model: Any, rank: int) -> None:
        with no_sync(net):
            net(own_data(rank), rank % 2).sum().backward()
            net(own_data(rank)).sum().backward()
        net(own_data(rank), 1).sum().backward()

    def beside(net: Any, model: Any, rank: int) -> None:
        penalty = (rank + 1) * (model.never.weight**2).sum()
        (net(own_data(rank)).sum() + penalty).backward()

    def empty(net: Any, model: Any, rank: int) -> None:
        net(own_data(rank)[: 2 * (rank % 2)]).sum().backward()

    def twice(net: Any, model: Any, rank: int) -> None:
        for _ in range(2):  # The second time gradients are there, equal on all ranks.
            net(own_data(rank), rank % 2).sum().backward()

    for step in (by_rank, accumulated, beside, empty, twice):
        agree(step)


def higher_orders() -> None:
    """Gradients of gradients: a penalty on the slope, and losses of `.grad` itself."""

    def penalty(net: Any, model: Any, rank: int) -> None:
        x = own_data(rank).requires_grad_()
        (slope,) = fg.autograd.grad(net(x).sum(), [x], create_graph=True)
        (slope**2).sum().backward()

    def mixed(net: Any, model: Any, rank: int) -> None:
        x = own_data(rank).requires_grad_()
        y = net(x)
        (slope,) = fg.autograd.grad(y.sum(), [x], create_graph=True)
        ((slope**2).sum() + net(x, 1).mean() + y.mean()).backward()

    for step in (penalty, mixed):
        agree(step)
    for cap in CAPS:
        model, whole = Net(), Net()
        parallel = distributed.DataParallel(model, bucket_cap_mb=cap)
        parallel(own_data(RANK), RANK % 2).sum().backward(create_graph=True)
        sum(whole(own_data(r), r % 2).sum() / SIZE for r in range(SIZE)).backward(create_graph=True)
        norms = []
        for each in (model, whole):
            used = [p for p in each.parameters() if p.grad is not None]
            norm = sum((p.grad**2).sum() for p in used)
            each.zero_grad()
            norm.backward()
            norms.append(norm.item())
        assert len(set(distributed.allgather(fg.tensor(norms[0])).tolist())) == 1
        np.testing.assert_allclose(*norms, 1e-12)
        for mine, theirs in zip(gradients(model), gradients(whole), strict=True):
            assert (mine is None) == (theirs is None)
            if mine is not None:
                # What every rank's loss says of the mean, and each rank's loss is the same.
                np.testing.assert_allclose(mine, theirs, 1e-11, 1e-12)


class Stops(fg.Function):
    """A derivative that gives nothing to its second argument."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


def odd_graphs() -> None:
    """Derivatives that give nothing, checkpoints, given gradients, gradients that are kept."""

    def stopped(net: Any, model: Any, rank: int) -> None:
        x = own_data(rank)
        (Stops.apply(net(x), model.second(x)) + net(x)).sum().backward()

    def recomputed(net: Any, model: Any, rank: int) -> None:
        checkpoint(net, own_data(rank)).sum().backward()

    def inner(net: Any, model: Any, rank: int) -> None:
        before, model.twice.forward = model.twice.forward, lambda x: checkpoint(before, x)
        net(own_data(rank)).sum().backward()

    def to_some(net: Any, model: Any, rank: int) -> None:
        net(own_data(rank)).sum().backward(inputs=[model.first.weight, model.scale])

    def asked(net: Any, model: Any, rank: int) -> None:
        fg.autograd.grad(net(own_data(rank)).sum(), [model.first.weight])
        net(own_data(rank)).sum().backward()

    def kept(net: Any, model: Any, rank: int) -> None:
        for p in model.parameters():
            p.grad = fg.ones(p.shape).T.copy().T
        model.zero_grad(set_to_none=False)
        net(own_data(rank)).sum().backward()

    def strided(net: Any, model: Any, rank: int) -> None:
        model.first.weight.grad = fg.tensor(np.asfortranarray(np.ones((3, 3)) * rank))
        model.second.weight.grad = fg.tensor(np.ones((3, 3)))
        net(own_data(rank)).sum().backward()

    for step in (stopped, recomputed, inner, to_some, asked, strided):
        agree(step)
    model = Net()
    parallel = distributed.DataParallel(model, bucket_cap_mb=CAPS[0])

    def inside(grad: Any) -> None:
        with fg.enable_grad():
            (model.never.weight**2).sum().backward()

    x = own_data(RANK).requires_grad_()
    x.register_hook(inside)
    with pytest.raises(GradientError, match="a backward pass inside of this one"):
        parallel(x).sum().backward()
    model = Net()
    kept(distributed.DataParallel(model), model, RANK)
    assert np.all(model.never.weight.grad.numpy() == 0)


def dtypes() -> None:
    """Parameters of several dtypes in one model, frozen ones, and one that is shared."""

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            rng = np.random.default_rng(0)
            for name in ("float16", "float32", "float64", "complex64", "complex128"):
                setattr(self, name, nn.Parameter(fg.tensor(rng.normal(size=4).astype(name))))
            self.frozen = nn.Parameter(fg.ones(4), requires_grad=False)
            self.again = self.float64

        def forward(self, x: Any) -> Any:
            total = (self.again * self.frozen * x).sum()
            for name in ("float16", "float32", "float64", "complex64", "complex128"):
                total = total + (abs(getattr(self, name) * x) ** 2).sum().astype(np.float64)
            return total

    def step(net: Any, model: Any, rank: int) -> None:
        net(fg.tensor(np.arange(4.0) + rank)).backward()

    agree(step, Mixed, 1e-2)
    for cap in CAPS:
        half = nn.Linear(2, 1, bias=False).to(np.float16)
        x = fg.tensor([[60000.0, -60000.0]], dtype=np.float16)
        distributed.DataParallel(half, bucket_cap_mb=cap)(x).sum().backward()
        np.testing.assert_allclose(half.weight.grad.flatten(), [60000, -60000], 1e-3)


def changes() -> None:
    """What has changed since the module was wrapped is an error, and so is a pass that failed."""
    for change in (
        lambda m: setattr(m, "more", nn.Parameter(fg.ones(1))),
        lambda m: m.to(np.float32),
        lambda m: m.first.weight.requires_grad_(True),
    ):
        model = Net()
        model.first.weight.requires_grad_(False)
        parallel = distributed.DataParallel(model)
        change(model)
        with pytest.raises(ContractError, match="no parameter that was trained when"):
            parallel(own_data(RANK).astype(model.first.weight.dtype))
    model = Net()
    parallel = distributed.DataParallel(model)
    model.first.weight.requires_grad_(False)
    parallel(own_data(RANK)).sum().backward()
    assert model.first.weight.grad is None

    def fails(grad: Any) -> None:
        raise ZeroDivisionError

    model.zero_grad()
    handle = model.first.bias.register_hook(fails)
    with pytest.raises(ZeroDivisionError):
        parallel(own_data(RANK)).sum().backward()
    handle.remove()
    with pytest.raises(GradientError, match="the backward pass before this call failed"):
        parallel(own_data(RANK))
    model.zero_grad()
    alone = [copy.deepcopy(model) for _ in range(SIZE)]
    parallel(own_data(RANK)).sum().backward()
    for rank, each in enumerate(alone):
        each(own_data(rank)).sum().backward()
    want = sum(each.twice.weight.grad for each in alone) / SIZE
    np.testing.assert_allclose(model.twice.weight.grad, want, 1e-12)


class Several(nn.Module):
    """Results in containers: results of operations, a parameter, a constant, one changed later."""

    def __init__(self) -> None:
        super().__init__()
        fg.manual_seed(0)
        self.a, self.b = nn.Linear(3, 3), nn.Parameter(fg.ones(3))

    def forward(self, x: Any) -> Any:
        y = self.a(x)
        return {"y": y, "more": (self.b, [y * 2, "text"]), "none": None, "x": x}


def outputs() -> None:
    """Gradients come by all results of a module, also by those that are changed in place."""

    def tree(net: Any, model: Any, rank: int) -> None:
        made = net(own_data(rank))
        (made["more"][0].sum() + (made["more"][1][0] ** 2).sum() * (rank + 1)).backward()

    def in_place(net: Any, model: Any, rank: int) -> None:
        y = net(own_data(rank))["y"]
        y *= 2
        y[0] = 1.0
        (y**2).sum().backward()

    def nothing(net: Any, model: Any, rank: int) -> None:
        made = net(own_data(rank).requires_grad_())
        made["x"].sum().backward()

    def temporary(net: Any, model: Any, rank: int) -> None:
        wrapped = distributed.DataParallel(Several()) if net is not model else Several()
        own = list(wrapped.parameters())
        y = wrapped(own_data(rank))["y"]
        del wrapped
        (y**2).sum().backward()
        model.a.weight.grad = own[0].grad if own[0].shape == (3, 3) else own[1].grad

    for step in (tree, in_place, nothing, temporary):
        agree(step, Several)
    with pytest.raises(ArgumentError, match="wrapped already"):
        distributed.DataParallel(nn.Sequential(distributed.DataParallel(Several())))
    with pytest.raises(TypeError, match="copy its module"):
        copy.deepcopy(distributed.DataParallel(Several()))
    model = Several()
    parallel = distributed.DataParallel(model)
    parallel(own_data(RANK))["y"].sum().backward()
    gone = weakref.ref(model)
    del model, parallel
    gc.collect()
    assert gone() is None


def compiled() -> None:
    """A compiled module, loss or wrapper trains as the plain one; a whole step is refused."""
    results = []
    for kind in ("plain", "module", "wrapper", "loss"):
        model = Net()
        inner = fg.compile(model) if kind == "module" else model
        parallel = distributed.DataParallel(inner)
        net = fg.compile(parallel) if kind == "wrapper" else parallel

        def loss(x: Any, net: Any = net) -> Any:
            return (net(x) ** 2).mean()

        called = fg.compile(loss) if kind == "loss" else loss
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        for turn in range(6):
            with no_sync(parallel) if turn % 2 else contextlib.nullcontext():
                called(own_data(RANK + turn)).backward()
            if turn % 2 == 0:
                optimizer.step()
                optimizer.zero_grad()
        results.append([p.detach().numpy().copy() for p in model.parameters()])
    for each in results[1:]:
        for mine, plain in zip(each, results[0], strict=True):
            np.testing.assert_allclose(mine, plain, 1e-13)

    def step(x: Any) -> Any:
        loss = parallel(x).sum()
        loss.backward()
        return loss

    for call in (step, distributed.allreduce, lambda x: x * distributed.batch_weight(len(x))):
        with pytest.raises(CompileError, match="ranks communicate in every call"):
            fg.compile(call)(own_data(RANK)[:2])


def accumulation() -> None:
    """Accumulated passes, clipped and stepped, are one step of the whole batch."""
    model, whole = Net(), Net()
    parallel = distributed.DataParallel(model)
    for net, each in ((parallel, model), (whole, whole)):
        optimizer = optim.Adam(each.parameters(), lr=0.1)
        for turn in range(3):
            optimizer.zero_grad()
            ranks = [RANK] if each is model else list(range(SIZE))
            with no_sync(net):
                for rank in ranks:
                    (net(own_data(rank + turn)).sum() / len(ranks)).backward()
            for rank in ranks:
                (net(own_data(rank + 9)).sum() / len(ranks)).backward()
            nn.utils.clip_grad_norm_(each.parameters(), 0.5)
            optimizer.step()
    for p, q in zip(model.parameters(), whole.parameters(), strict=True):
        np.testing.assert_allclose(p.detach(), q.detach(), 1e-9, 1e-11)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
