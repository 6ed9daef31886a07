"""Messages between two ranks, differentiable to any order.

Invariant: a gradient is sent back to the sender of the elements, and only if that tracks gradients.
So every message of a backward pass has a receiver.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray
from ferrograd._tensor.creation import zeros, zeros_like
from ferrograd.distributed import _array_collectives
from ferrograd.distributed._collectives import attach_to_graph, is_recorded
from ferrograd.distributed._process_group import check_rank, get_communicator, get_mpi
from ferrograd.errors import ContractError


def _make_header(array: np.ndarray, tracked: bool) -> np.ndarray:
    made = np.zeros(_array_collectives.MAX_AXES + 3, np.int64)
    made[:3] = _array_collectives.DTYPES.index(array.dtype.name), tracked, array.ndim
    made[3 : 3 + array.ndim] = array.shape
    return made


def _allocate_from_header(header: np.ndarray) -> tuple[np.ndarray, bool]:
    code, tracked, ndim = header[:3].tolist()
    return np.empty(header[3 : 3 + ndim].tolist(), _array_collectives.DTYPES[code]), bool(tracked)


def send(x: Any, dest: int, tag: int = 0, comm: Any = None) -> Tensor:
    """Sends a tensor to rank `dest`, which calls `recv`. Returns a zero without axes.

    If gradients are tracked, add the zero to the loss, so that the backward pass receives the
    gradient from `dest`.
    """
    comm = get_communicator(comm)
    dest = check_rank("send", "dest", dest, comm)
    array = _array_collectives.check_array("send", x)
    tracked = is_recorded(x)
    comm.Send(_make_header(array, tracked), dest, tag)
    comm.Send(array, dest, tag)
    if not tracked:
        return zeros((), dtype=array.dtype)
    return attach_to_graph(x, zeros((), dtype=array.dtype), True, lambda g: recv(dest, tag, comm))


def recv(source: int, tag: int = 0, comm: Any = None) -> Tensor:
    """The tensor that rank `source` sends here. Derivative: the gradient is sent to `source`."""
    _array_collectives.check_not_traced("recv")
    comm = get_communicator(comm)
    source = check_rank("recv", "source", source, comm)
    # A message to the own rank is complete when `send` returns, if not at the first test.
    if source == comm.Get_rank() and not any(comm.Iprobe(source, tag) for _ in range(100)):
        raise ContractError(
            f"recv: rank {source} has sent itself nothing with tag {tag}, and would wait for ever;"
            " call send first, or name another rank"
        )
    header = np.empty(_array_collectives.MAX_AXES + 3, np.int64)
    comm.Recv(header, source, tag)
    made, tracked = _allocate_from_header(header)
    comm.Recv(made, source, tag)

    def send_gradient(g: Tensor) -> Tensor:
        # The zero that `send` returns connects the graph for higher derivatives.
        sent: Tensor = zeros_like(g) + send(g, source, tag, comm)
        return sent

    result = asarray(made)
    return attach_to_graph(zeros_like(result), result, tracked, send_gradient)


def sendrecv(
    x: Any, dest: int | None, source: int | None, tag: int = 0, comm: Any = None
) -> Tensor:
    """Sends a tensor to `dest` and returns the tensor of the same shape and dtype from `source`.

    None means that there is no neighbour: nothing is sent, and zeros are received. Derivative: the
    gradient is sent to `source`, and the gradient of `dest` is received.
    """
    comm = get_communicator(comm)
    nobody = get_mpi().PROC_NULL
    to = nobody if dest is None else check_rank("sendrecv", "dest", dest, comm)
    of = nobody if source is None else check_rank("sendrecv", "source", source, comm)
    array = _array_collectives.check_array("sendrecv", x)
    own = is_recorded(x)
    sent = _make_header(array, own)
    came = sent.copy()
    came[1] = 0
    comm.Sendrecv(sent, to, tag, came, of, tag)
    found, theirs = _allocate_from_header(came)
    if (found.shape, found.dtype) != (array.shape, array.dtype):
        raise ContractError(
            f"sendrecv: rank {comm.Get_rank()} sends {array.dtype} {array.shape}, and rank"
            f" {source} sends it {found.dtype} {found.shape}; all must be alike"
        )
    found[...] = 0
    comm.Sendrecv(array, to, tag, found, of, tag)
    given = x if isinstance(x, Tensor) else asarray(array)

    def exchange_gradients(g: Tensor) -> Tensor:
        return sendrecv(g, source if theirs else None, dest if own else None, tag, comm)

    return attach_to_graph(given, asarray(found), own or theirs, exchange_gradients)
