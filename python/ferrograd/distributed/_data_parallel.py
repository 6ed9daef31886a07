"""`DataParallel`: the same model on every rank, each with its part of the data.

Owns: the equal beginning of all ranks, and the mean of their gradients. Never changes what a module
computes. Invariant: buckets are summed in one order, that of the parameters from last to first, on
every rank, so that all ranks get the same bits, and the same from run to run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ferrograd._core import Function, Tensor, _depends_on, asarray, is_grad_enabled, tensor
from ferrograd._tensor.tree import flatten
from ferrograd.distributed._progress import Progress
from ferrograd.distributed._raw import in_order
from ferrograd.distributed._world import mpi, world
from ferrograd.errors import ArgumentError, ArgumentTypeError, ContractError, GradientError
from ferrograd.nn._module import Module


class _Begin(Function):
    """The results of a forward call: the first node of theirs that a backward pass meets."""

    @staticmethod
    def forward(ctx: Any, begin: Any, *outputs: Tensor) -> Any:
        ctx.begin = begin
        ctx.set_materialize_grads(False)
        return tuple(x.view_as(x) for x in outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.begin([g is not None for g in gradients])
        return None, *gradients


class _Bucket:
    """Parameters whose gradients are summed in one message."""

    def __init__(self, parameters: list[tuple[int, Tensor]]) -> None:
        self.parameters = parameters
        sizes = [p.numel() for _, p in parameters]
        self.ends = np.cumsum(sizes).tolist()
        self.flat = np.zeros(sum(sizes), parameters[0][1].dtype)
        self.waiting: set[int] = set()

    def parts(self) -> Iterator[tuple[int, Tensor, np.ndarray]]:
        """Number, parameter, and where its gradient lies in the message."""
        begin = 0
        for (number, p), end in zip(self.parameters, self.ends, strict=True):
            yield number, p, self.flat[begin:end].reshape(p.shape)
            begin = end


class DataParallel(Module):
    """Runs a module on every rank and gives its parameters the mean of all ranks' gradients.

    At the start every rank gets the parameters and buffers of rank 0; a rank whose parameters have
    other names, shapes or dtypes is an error on all. In a backward pass gradients are summed in
    buckets of about `bucket_cap_mb` megabytes, each while the pass goes on, and are complete when
    `backward` returns. Parameters that a pass does not reach count as zeros; those that it reaches
    on no rank keep what they had. All ranks call forward and backward alike.

    `no_sync()` leaves gradients to their rank, for accumulation. `module` is the module itself:
    save `model.module.state_dict()` on rank 0.
    """

    def __init__(self, module: Module, comm: Any = None, bucket_cap_mb: float = 25) -> None:
        super().__init__()
        if not isinstance(module, Module):
            raise ArgumentTypeError(
                f"DataParallel: the module is a {type(module).__name__}; pass a Module"
            )
        if not bucket_cap_mb > 0:
            raise ArgumentError(f"DataParallel: bucket_cap_mb is {bucket_cap_mb}; give above 0")
        self.module = module
        vars(self)["_comm"] = world(comm)
        parameters = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        self._check(module)
        self._begin_alike(module)
        buckets = _buckets([p for _, p in parameters], bucket_cap_mb * 2**20)
        vars(self).update(
            _tracked=[p for _, p in parameters],
            _buckets_in_order=buckets,
            _bucket_of={number: b for b in buckets for number, _ in b.parameters},
            _progress=Progress(),
            _next=0,
            _sync=True,
            _running=False,
            _used=np.zeros(len(parameters), np.uint8),
            bytes_sent=0,
        )
        for number, (_, p) in enumerate(parameters):
            p.register_post_accumulate_grad_hook(self._hook(number))

    def _check(self, module: Module) -> None:
        own = [
            (name, tuple(t.shape), str(t.dtype), bool(getattr(t, "requires_grad", False)))
            for part in (module.named_parameters(), module.named_buffers())
            for name, t in part
        ]
        everyone = self._comm.allgather(own)
        for rank, theirs in enumerate(everyone):
            for mine, other in zip(everyone[0], theirs, strict=False):
                if mine != other:
                    raise ContractError(
                        f"DataParallel: rank 0 has {_shown(mine)}, rank {rank} {_shown(other)};"
                        " make the same module on all ranks"
                    )
            if len(theirs) != len(everyone[0]):
                raise ContractError(
                    f"DataParallel: rank 0 has {len(everyone[0])} parameters and buffers, rank"
                    f" {rank} {len(theirs)}; make the same module on all ranks"
                )

    def _begin_alike(self, module: Module) -> None:
        for part in (module.parameters(), module.buffers()):
            for t in part:
                elements = t.detach().numpy().copy()
                self._comm.Bcast(elements, 0)
                t.data = asarray(elements)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives, on the way to which gradients will be summed."""
        made = self.module(*args, **kwargs)
        if not (is_grad_enabled() and self._sync):
            return made
        if self._running:
            vars(self)["_running"] = False
            raise GradientError(
                "DataParallel: the backward pass before this call did not come to the end of its"
                " gradients, so ranks have different ones; use all of what a loss depends on"
            )
        in_order()
        leaves: list[Any] = []
        tree = flatten(made, leaves)
        places = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and x.requires_grad]
        reached = [[_depends_on(leaves[i], p) for p in self._tracked] for i in places]

        def begin(used: list[bool]) -> None:
            masks = [mask for mask, is_used in zip(reached, used, strict=True) if is_used]
            self._begin_pass(np.any(np.array(masks, bool), axis=0))

        if places:
            linked = _Begin.apply(begin, *(leaves[i] for i in places))
            for i, x in zip(places, linked, strict=True):
                leaves[i] = x
        return tree.build(iter(leaves))

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Leaves the gradients of forward calls inside the block to their rank.

        The next pass outside sums what has been accumulated.
        """
        before, vars(self)["_sync"] = self._sync, False
        try:
            yield
        finally:
            vars(self)["_sync"] = before

    def _begin_pass(self, reached: np.ndarray) -> None:
        """A pass has come to the results of a synchronised call: what is it going to reach?"""
        if not self._running:
            vars(self).update(_running=True, _next=0)
            self._used[...] = 0
            for bucket in self._buckets_in_order:
                bucket.waiting = set()
        for bucket in self._buckets_in_order[self._next :]:
            bucket.waiting |= {n for n, _ in bucket.parameters if reached[n]}
        self._used[reached] = 1
        if not reached.any():
            self._advance()

    def _hook(self, number: int) -> Any:
        def ready(p: Tensor) -> None:
            if self._running:
                bucket = self._bucket_of[number]
                bucket.waiting.discard(number)
                self._advance()

        return ready

    def _advance(self) -> None:
        """Sends every bucket whose turn it is and whose gradients are all there."""
        buckets = self._buckets_in_order
        while self._next < len(buckets) and not buckets[self._next].waiting:
            self._send(buckets[self._next])
            vars(self)["_next"] = self._next + 1
        if self._next == len(buckets):
            self._complete()
        else:
            self._progress.poll()

    def _send(self, bucket: _Bucket) -> None:
        for _, p, part in bucket.parts():
            np.copyto(part, 0 if p.grad is None else p.grad.detach().numpy())
        self._progress.add(self._comm.Iallreduce(mpi().IN_PLACE, bucket.flat))
        vars(self)["bytes_sent"] = self.bytes_sent + bucket.flat.nbytes

    def _complete(self) -> None:
        used = self._used.copy()
        self._comm.Allreduce(mpi().IN_PLACE, used, mpi().MAX)
        size = self._comm.Get_size()
        self._progress.wait()
        for bucket in self._buckets_in_order:
            for number, p, part in bucket.parts():
                if not used[number]:
                    continue
                if p.grad is None:
                    p.grad = tensor(part)
                # One pass over memory: the mean goes where the gradient is.
                np.divide(part, size, out=p.grad.detach().numpy(writable=True))
        vars(self)["_running"] = False


def _buckets(parameters: list[Tensor], limit: float) -> list[_Bucket]:
    """Parameters from last to first, as their gradients come, in messages of one dtype."""
    made: list[_Bucket] = []
    group: list[tuple[int, Tensor]] = []
    size = 0
    for number in reversed(range(len(parameters))):
        p = parameters[number]
        if group and (size + p.nbytes > limit or group[0][1].dtype != p.dtype):
            made.append(_Bucket(group))
            group, size = [], 0
        group.append((number, p))
        size += p.nbytes
    return [*made, _Bucket(group)] if group else made


def _shown(entry: tuple[Any, ...]) -> str:
    name, shape, dtype, trained = entry
    return f"{name}: {dtype} {shape}{'' if trained else ', not trained'}"
