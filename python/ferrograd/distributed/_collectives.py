"""Collective communication of tensors, differentiable to any order.

Invariant: when all ranks call `backward`, each rank gets the gradients of the sum of the losses of
all ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd._core import Function, Tensor, asarray, is_grad_enabled, where
from ferrograd._tensor.creation import zeros_like
from ferrograd.distributed import _array_collectives
from ferrograd.distributed._process_group import check_rank, get_communicator
from ferrograd.errors import ArgumentError

#: The adjoint, as a function of the gradient.
Adjoint = Callable[[Tensor], Tensor]


class _CommunicationFunction(Function):
    """The result of a collective; its backward runs the adjoint collective."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, anchor: Any, made: Tensor, adjoint: Adjoint) -> Tensor:
        ctx.adjoint = adjoint
        return made

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return ctx.adjoint(g), None, None, None


def attach_to_graph(x: Tensor, made: Tensor, tracked: bool, adjoint: Adjoint) -> Tensor:
    """Records the result in the graph on every rank if any rank records it."""
    if not tracked:
        return made
    _array_collectives.force_program_order()
    anchor = None if x.requires_grad else zeros_like(made[()].sum()).requires_grad_()
    linked: Tensor = _CommunicationFunction.apply(x, anchor, made, adjoint)
    return linked


def is_recorded(x: Any) -> bool:
    """Whether a call with this operand is recorded here."""
    return is_grad_enabled() and isinstance(x, Tensor) and x.requires_grad


def _run_collective(
    op: str, x: Any, root: int, comm: Any, run: Callable[[np.ndarray], Tensor], adjoint: Adjoint
) -> Tensor:
    array = _array_collectives.check_array(op, x)
    tracked = bool(
        np.any(_array_collectives.check_same_calls(op, array, is_recorded(x), root, comm))
    )
    given = x if isinstance(x, Tensor) else asarray(array)
    return attach_to_graph(given, run(array), tracked and is_grad_enabled(), adjoint)


def barrier(comm: Any = None) -> None:
    """Waits until every process is here."""
    _array_collectives.check_same_calls_without_tensor("barrier", get_communicator(comm))


def allreduce(x: Any, op: str = "sum", comm: Any = None) -> Tensor:
    """Combines the tensors of all ranks; every rank gets the result, with the same bits.

    `op` is "sum", "mean", "max" or "min". Derivative: the sum of all ranks' gradients; of "max" and
    "min" to the ranks that have the extreme, in equal shares. Shapes and dtypes are equal on all
    ranks; `ContractError` on all of them if not.
    """
    comm = get_communicator(comm)
    if op == "mean":
        mean: Tensor = allreduce(x, "sum", comm) / comm.Get_size()
        return mean
    if op == "sum":
        return _run_collective(
            "allreduce sum",
            x,
            -1,
            comm,
            lambda array: _array_collectives.allreduce(array, "sum", comm),
            lambda g: allreduce(g, "sum", comm),
        )
    if op not in ("max", "min"):
        raise ArgumentError(f'allreduce: op is {op!r}; use "sum", "mean", "max" or "min"')
    found: list[Tensor] = []

    def reduce_extreme(array: np.ndarray) -> Tensor:
        found.append(_array_collectives.allreduce(array, op, comm))
        return found[0]

    def share_gradient(g: Tensor) -> Tensor:
        here = given == found[0].detach()
        count = allreduce(here.astype(g.dtype), "sum", comm)
        share: Tensor = where(here, allreduce(g, "sum", comm) / count, 0.0)
        return share

    given = x.detach() if isinstance(x, Tensor) else x
    return _run_collective(f"allreduce {op}", x, -1, comm, reduce_extreme, share_gradient)


def reduce(x: Any, root: int = 0, comm: Any = None) -> Tensor:
    """The sum over all ranks on `root`; zeros elsewhere. Derivative: the root's gradient."""
    comm = get_communicator(comm)
    root = check_rank("reduce", "root", root, comm)
    return _run_collective(
        "reduce",
        x,
        root,
        comm,
        lambda array: _array_collectives.reduce(array, root, comm),
        lambda g: bcast(g, root, comm),
    )


def bcast(x: Any, root: int = 0, comm: Any = None) -> Tensor:
    """The tensor of `root` on every rank; others pass one alike. Derivative: the sum, on `root`."""
    comm = get_communicator(comm)
    root = check_rank("bcast", "root", root, comm)
    return _run_collective(
        "bcast",
        x,
        root,
        comm,
        lambda array: _array_collectives.bcast(array, root, comm),
        lambda g: reduce(g, root, comm),
    )


def gather(x: Any, root: int = 0, comm: Any = None) -> Tensor:
    """The tensors of all ranks along a new first axis, on `root`; zeros elsewhere.

    Derivative: the rows of the root's gradient, `scatter`.
    """
    comm = get_communicator(comm)
    root = check_rank("gather", "root", root, comm)
    return _run_collective(
        "gather",
        x,
        root,
        comm,
        lambda array: _array_collectives.gather(array, root, comm),
        lambda g: scatter(g, root, comm),
    )


def allgather(x: Any, comm: Any = None) -> Tensor:
    """The tensors of all ranks along a new first axis, on every rank.

    Derivative: the sum of the rows that are this rank's in all ranks' gradients.
    """
    comm = get_communicator(comm)
    return _run_collective(
        "allgather",
        x,
        -1,
        comm,
        lambda array: _array_collectives.allgather(array, comm),
        lambda g: alltoall(g, comm).sum(0),
    )


def scatter(x: Any, root: int = 0, comm: Any = None) -> Tensor:
    """Row `rank` of the tensor of `root`; others pass one alike. Derivative: `gather`."""
    comm = get_communicator(comm)
    root = check_rank("scatter", "root", root, comm)
    return _run_collective(
        "scatter",
        x,
        root,
        comm,
        lambda array: _array_collectives.scatter(
            _array_collectives.check_one_row_per_rank("scatter", array, comm), root, comm
        ),
        lambda g: gather(g, root, comm),
    )


def alltoall(x: Any, comm: Any = None) -> Tensor:
    """Sends row `i` to rank `i`; row `i` of the result is from rank `i`. Derivative: the same."""
    comm = get_communicator(comm)
    return _run_collective(
        "alltoall",
        x,
        -1,
        comm,
        lambda array: _array_collectives.alltoall(
            _array_collectives.check_one_row_per_rank("alltoall", array, comm), comm
        ),
        lambda g: alltoall(g, comm),
    )
