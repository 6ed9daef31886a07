"""Communication of elements, without a graph.

Invariant: if ranks call different operations, or pass tensors that do not fit, all of them raise an
error that names two of these ranks, and none waits forever.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import (
    Tensor,
    _is_recording_program,
    _switch_multithreading,
    asarray,
    is_multithreading_enabled,
)
from ferrograd._tensor.generator import get_values
from ferrograd.distributed._process_group import get_communicator, get_mpi
from ferrograd.errors import ArgumentError, ArgumentTypeError, CompileError, ContractError

#: Numbers of the operations in the agreement.
OPERATIONS = (
    *("allreduce sum", "allreduce max", "allreduce min", "reduce", "bcast", "gather", "allgather"),
    *("scatter", "alltoall", "barrier", "batch_weight", "clip_grad_norm_", "SyncBatchNorm"),
    *("DataParallel", "DataParallel.backward"),
    *("ZeroRedundancyOptimizer.step", "ZeroRedundancyOptimizer.state_dict"),
)
_INTEGER_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*_INTEGER_DTYPES, "float16", "float32", "float64", "complex64", "complex128")
#: Kinds of dtypes that an operation does not support.
_UNSUPPORTED_KINDS = {
    "allreduce sum": "b",
    "reduce": "b",
    "allreduce max": "c",
    "allreduce min": "c",
}
#: The most axes in the message of an agreement.
MAX_AXES = 12


def force_program_order() -> None:
    """Makes backward passes of this thread run in program order.

    Ranks also communicate in the nodes of a pass and must reach them in the same order. A parallel
    walk runs nodes as they become ready.
    """
    if is_multithreading_enabled():
        _switch_multithreading(False)


def check_not_traced(op: str) -> None:
    """Raises while `fg.compile` traces: a program would leave out the communication."""
    if _is_recording_program():
        raise CompileError(
            f"{op}: ranks communicate in every call, and fg.compile is recording one; compile what"
            " computes between communications, such as the module that DataParallel takes"
        )


def check_array(op: str, x: Any) -> np.ndarray:
    """The elements as a contiguous array of a supported dtype."""
    check_not_traced(op)
    if not isinstance(x, Tensor | np.ndarray):
        raise ArgumentTypeError(f"{op}: x is a {type(x).__name__}; pass a tensor")
    array: np.ndarray = np.ascontiguousarray(get_values(x)).reshape(np.shape(x))
    if array.dtype.name not in DTYPES:
        raise ArgumentTypeError(f"{op}: x has dtype {array.dtype}; pass numbers")
    if (kind := array.dtype.kind) in _UNSUPPORTED_KINDS.get(op, ""):
        what = "truth values, which have no sum" if kind == "b" else "complex, which has no order"
        raise ArgumentTypeError(f"{op}: x is {what}; convert it, or take its parts")
    if array.ndim > MAX_AXES:
        raise ArgumentError(f"{op}: x has {array.ndim} axes; pass at most {MAX_AXES}")
    return array


def check_same_calls(
    op: str, x: np.ndarray | None, own_number: int, root: int, comm: Any
) -> np.ndarray:
    """Exchanges the descriptions of calls; raises on all ranks if they do not fit."""
    code, shape = (-1, ()) if x is None else (DTYPES.index(x.dtype.name), x.shape)
    row = [OPERATIONS.index(op), root, code, len(shape), *shape]
    own = np.array([*row, *[-1] * (MAX_AXES + 4 - len(row)), own_number], np.int64)
    everyone = np.empty((comm.Get_size(), own.size), np.int64)
    comm.Allgather(own, everyone)
    if not (everyone[:, :-1] == own[:-1]).all():
        differ = (everyone[:, :-1] != everyone[0, :-1]).any(axis=1)
        other = int(np.argmax(differ))
        raise ContractError(
            f"{op.split()[0]}: rank 0 calls {_format_call(everyone[0])}, rank {other} calls"
            f" {_format_call(everyone[other])}; all ranks must call the same, with tensors alike"
        )
    numbers: np.ndarray = everyone[:, -1]
    return numbers


def check_same_calls_without_tensor(op: str, comm: Any, own_number: int = 0) -> np.ndarray:
    """`check_same_calls` for a call without a tensor."""
    check_not_traced(op)
    return check_same_calls(op, None, own_number, -1, comm)


def _format_call(row: np.ndarray) -> str:
    number, root, code, ndim = row[:4].tolist()
    if code < 0:
        return OPERATIONS[number]
    at = f", root {root}" if root >= 0 else ""
    shape = tuple(row[4 : 4 + ndim].tolist())
    return f"{OPERATIONS[number]} of {DTYPES[code]} {shape}{at}"


def allreduce(x: np.ndarray, op: str, comm: Any) -> Tensor:
    """The sum, or the largest or smallest element, over all ranks."""
    if x.dtype == bool:
        return asarray(allreduce(x.view(np.uint8), op, comm).numpy().view(bool))
    made = np.empty_like(x)
    comm.Allreduce(x, made, {"sum": get_mpi().SUM, "max": get_mpi().MAX, "min": get_mpi().MIN}[op])
    return asarray(made)


def reduce(x: np.ndarray, root: int, comm: Any) -> Tensor:
    """The sum on the root, zeros elsewhere."""
    made = np.zeros_like(x)
    comm.Reduce(x, made if comm.Get_rank() == root else None, get_mpi().SUM, root)
    return asarray(made)


def bcast(x: np.ndarray, root: int, comm: Any) -> Tensor:
    """The root's elements on every rank."""
    made = x.copy()
    comm.Bcast(made, root)
    return asarray(made)


def gather(x: np.ndarray, root: int, comm: Any) -> Tensor:
    """All ranks' elements, along a new first axis, on the root; zeros elsewhere."""
    made = np.zeros((comm.Get_size(), *x.shape), x.dtype)
    comm.Gather(x, made if comm.Get_rank() == root else None, root)
    return asarray(made)


def allgather(x: np.ndarray, comm: Any) -> Tensor:
    """All ranks' elements, along a new first axis."""
    made = np.empty((comm.Get_size(), *x.shape), x.dtype)
    comm.Allgather(x, made)
    return asarray(made)


def scatter(x: np.ndarray, root: int, comm: Any) -> Tensor:
    """Row `rank` of the root's elements."""
    made = np.empty(x.shape[1:], x.dtype)
    comm.Scatter(x if comm.Get_rank() == root else None, made, root)
    return asarray(made)


def alltoall(x: np.ndarray, comm: Any) -> Tensor:
    """Row `rank` of every rank's elements."""
    made = np.empty_like(x)
    comm.Alltoall(x, made)
    return asarray(made)


def check_one_row_per_rank(op: str, x: np.ndarray, comm: Any) -> np.ndarray:
    """Raises unless the first axis of the array has one row for each rank."""
    size = get_communicator(comm).Get_size()
    if not x.ndim or x.shape[0] != size:
        raise ArgumentError(
            f"{op}: x has shape {x.shape}; its first axis must have the length {size}, one row for"
            " each rank"
        )
    return x
