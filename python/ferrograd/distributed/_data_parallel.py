"""`DataParallel`: the same model on every rank, each with its part of the data.

Invariant: every rank sums messages in the same order, from the last parameter to the first, so that
all ranks get the same bits in every run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import ref

import numpy as np

from ferrograd._core import Tensor, _watch_passes, asarray, is_grad_enabled
from ferrograd._tensor.creation import zeros_like
from ferrograd._tensor.pytree import flatten
from ferrograd.distributed._array_collectives import (
    check_not_traced,
    check_same_calls,
    check_same_calls_without_tensor,
    force_program_order,
)
from ferrograd.distributed._buckets import Bucket, make_buckets
from ferrograd.distributed._collectives import allreduce
from ferrograd.distributed._overlap import RequestProgress
from ferrograd.distributed._process_group import get_communicator, get_mpi
from ferrograd.errors import ArgumentError, ArgumentTypeError, ContractError, GradientError
from ferrograd.nn._compiled_members import unwrap_module
from ferrograd.nn._module import Module


class DataParallel(Module):
    """Runs a module on every rank; gradients of parameters are means over all ranks.

    The constructor copies the parameters and buffers of rank 0 to every rank; if names, shapes or
    dtypes differ, all ranks raise. In a backward pass gradients are summed in messages of at most
    about `bucket_cap_mb` megabytes while the pass continues; large gradients are summed in place.
    When `backward` returns, gradients are means. A parameter that a pass does not reach on a rank
    counts as zero there; if no rank reaches it, its gradient does not change. With `create_graph`
    the mean is part of the graph, so that derivatives of gradients come from all ranks, too. All
    ranks must make the same calls of forward and backward. `no_sync()` accumulates gradients
    without communication. `module` is the wrapped module: save `model.module.state_dict()` on rank
    0. Only parameters that require grad when the module is wrapped take part: freeze and convert
    them before.
    """

    def __init__(self, module: Module, comm: Any = None, bucket_cap_mb: float = 25) -> None:
        super().__init__()
        if not isinstance(unwrap_module(module), Module):
            raise ArgumentTypeError(
                f"DataParallel: the module is a {type(module).__name__}; pass a Module"
            )
        inner = [n for n, m in module.named_modules() if isinstance(unwrap_module(m), DataParallel)]
        if inner:
            raise ArgumentError(
                f"DataParallel: {inner[0] or 'the module'} is wrapped already, so gradients would"
                " be summed twice; wrap the whole once"
            )
        if not bucket_cap_mb > 0:
            raise ArgumentError(f"DataParallel: bucket_cap_mb is {bucket_cap_mb}; give above 0")
        self.module = module
        vars(self)["_comm"] = get_communicator(comm)
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        tracked = [p for _, p in named]
        self._check_same_modules(module)
        self._broadcast_state(module)
        vars(self).update(
            _tracked=tracked,
            _tracked_names=[name for name, _ in named],
            _known={id(p) for p in tracked},
            _buckets_in_order=(made := make_buckets(tracked, bucket_cap_mb * 2**20)),
            _bucket_of={number: b for b in made for number, _ in b.parameters},
            _progress=RequestProgress(),
            _next=0,
            _sync=True,
            _armed=False,
            _running=False,
            _records=False,
            _used=np.zeros(len(tracked), np.uint8),
            bytes_sent=0,
        )
        for number, p in enumerate(tracked):
            p.register_post_accumulate_grad_hook(self._make_grad_hook(number))
        self._register_pass_callback(tracked, outputs=False)

    def _check_same_modules(self, module: Module) -> None:
        own = [
            (name, tuple(t.shape), str(t.dtype), bool(getattr(t, "requires_grad", False)))
            for part in (module.named_parameters(), module.named_buffers())
            for name, t in part
        ]
        check_same_calls_without_tensor("DataParallel", self._comm)
        everyone = self._comm.allgather(own)
        for rank, theirs in enumerate(everyone):
            for mine, other in zip(everyone[0], theirs, strict=False):
                if mine != other:
                    raise ContractError(
                        f"DataParallel: rank 0 has {_format_entry(mine)}, rank {rank}"
                        f" {_format_entry(other)}; make the same module on all ranks"
                    )
            if len(theirs) != len(everyone[0]):
                raise ContractError(
                    f"DataParallel: rank 0 has {len(everyone[0])} parameters and buffers, rank"
                    f" {rank} {len(theirs)}; make the same module on all ranks"
                )

    def _broadcast_state(self, module: Module) -> None:
        for part in (module.parameters(), module.buffers()):
            for t in part:
                elements = t.detach().numpy().copy()
                self._comm.Bcast(elements, 0)
                t.data = asarray(elements)

    def _register_pass_callback(self, tensors: Sequence[Tensor], outputs: bool) -> None:
        """Makes every backward pass that reaches one of these call `_start_pass_if_needed`."""
        numbers = [n for n, p in enumerate(self._tracked) if p.requires_grad]
        # The hooks of the parameters keep this object alive. The shared hook is hidden from the
        # garbage collector, so it must not refer to it strongly.
        owner = ref(self) if not outputs else lambda: self

        def on_pass_start(reached: list[bool]) -> Callable[[], None] | None:
            found: DataParallel | None = owner()
            return None if found is None else found._start_pass_if_needed(numbers, reached, outputs)

        _watch_passes(tensors, [self._tracked[n] for n in numbers], on_pass_start)

    def _start_pass_if_needed(
        self, numbers: list[int], reached: list[bool], outputs: bool
    ) -> Callable[[], None] | None:
        """The function to call at the end of a pass; None if it is not summed, or is running."""
        if self._running or not (outputs or self._armed):
            return None
        self._start_pass({n for n, is_reached in zip(numbers, reached, strict=True) if is_reached})
        return self._finish_pass

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The results of the module; their backward pass sums gradients over ranks."""
        made = self.module(*args, **kwargs)
        if not is_grad_enabled() or self._comm.Get_size() == 1:
            return made
        vars(self)["_armed"] = self._sync
        if not self._sync:
            return made
        self._check_ready()
        force_program_order()
        leaves, tree = flatten(made)
        linked = []
        for i, x in enumerate(leaves):
            if isinstance(x, Tensor) and x.requires_grad:
                leaves[i] = x.view_as(x)
                linked.append(leaves[i])
        if linked:
            self._register_pass_callback(linked, outputs=True)
        return tree.unflatten(leaves)

    def _check_ready(self) -> None:
        if self._running:
            vars(self)["_running"] = False
            raise GradientError(
                "DataParallel: the backward pass before this call failed, so ranks may have"
                " different gradients; call zero_grad() on all ranks before you go on"
            )
        for name, p in self.module.named_parameters():
            if p.requires_grad and id(p) not in self._known:
                raise ContractError(
                    f"DataParallel: {name} is no parameter that was trained when the module was"
                    " wrapped; wrap it after parameters are added, converted or unfrozen"
                )

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Raises: a copy would have to be made on all ranks together."""
        raise ArgumentTypeError(
            "DataParallel: a wrapper is neither copied nor pickled; copy its module, and wrap that"
        )

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Does not synchronise the gradients of forward calls inside the block.

        The next pass outside sums the accumulated gradients.
        """
        before, vars(self)["_sync"] = self._sync, False
        try:
            yield
        finally:
            vars(self)["_sync"] = before

    def _start_pass(self, reached: set[int]) -> None:
        """Starts a pass that accumulates into the gradients of these parameters."""
        check_not_traced("DataParallel")
        self._progress.wait()  # The rest of a pass that failed.
        vars(self).update(_running=True, _next=0, _records=is_grad_enabled())
        for bucket in self._buckets_in_order:
            bucket.start_pass(reached)

    def _make_grad_hook(self, number: int) -> Any:
        def on_gradient_ready(p: Tensor) -> None:
            self._used[number] = 1
            if not self._running:
                return
            bucket = self._bucket_of[number]
            if bucket.is_sent:
                name = self._tracked_names[number]
                raise GradientError(
                    f"DataParallel: {name} got a gradient after its message had been sent, by a"
                    " backward pass inside of this one; make one pass after the other"
                )
            bucket.pending.discard(number)
            self._send_ready_buckets()

        return on_gradient_ready

    def _send_ready_buckets(self) -> None:
        """Sends the next messages, in order, as long as their gradients are complete."""
        made = self._buckets_in_order
        while not self._records and self._next < len(made) and not made[self._next].pending:
            self._send_bucket(made[self._next])
            vars(self)["_next"] = self._next + 1
        self._progress.poll()

    def _send_bucket(self, bucket: Bucket) -> None:
        message, size = bucket.pack(self._used), self._comm.Get_size()
        if first := message.dtype == np.float16:  # Its largest number is too near for sums.
            bucket.divide(size)
        request = self._comm.Iallreduce(get_mpi().IN_PLACE, message)
        self._progress.add(request, lambda: None if first else bucket.divide(size))
        vars(self)["bytes_sent"] = self.bytes_sent + message.nbytes

    def _finish_pass(self) -> None:
        """Ends a pass: sends the remaining buckets and writes the means to the gradients."""
        if not self._records:
            for bucket in self._buckets_in_order:
                bucket.pending.clear()
            self._send_ready_buckets()
        used = self._used.copy()
        # This finds a rank that is in another call.
        if not check_same_calls(
            "DataParallel.backward", used, bool(used.all()), -1, self._comm
        ).all():
            self._comm.Allreduce(get_mpi().IN_PLACE, used, get_mpi().MAX)
        if self._records:
            self._record_means(used)
        else:
            self._progress.wait()
            for bucket in self._buckets_in_order:
                bucket.unpack(used)
        self._used[...] = 0
        # Gradients with a history lead back to the parameters.
        vars(self).update(_running=False, _armed=self._records)

    def _record_means(self, used: np.ndarray) -> None:
        """Computes the means by the differentiable `allreduce`, as part of the graph."""
        for number, p in enumerate(self._tracked):
            if used[number]:
                own = zeros_like(p) if p.grad is None else p.grad
                p.grad = allreduce(own, "mean", self._comm)


def _format_entry(entry: tuple[Any, ...]) -> str:
    name, shape, dtype, trained = entry
    return f"{name}: {dtype} {shape}{'' if trained else ', not trained'}"
