"""The processes of a job: who is there, and how one that fails ends all.

Owns: the way to mpi4py, which is loaded when it is first needed, ranks, and the end of the job by
an exception. Never sends elements. Invariant: an exception that nobody catches on one rank prints
its traceback and ends every process of the job with a status that is not 0.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module, util
from typing import Any

from ferrograd.errors import ArgumentError, FerrogradError


class MissingMPIError(FerrogradError, ImportError):
    """mpi4py is not installed."""


_LOADED: list[Any] = []


def mpi() -> Any:
    """The module `mpi4py.MPI`."""
    if not _LOADED:
        try:
            _LOADED.append(import_module("mpi4py.MPI"))
        except ImportError as error:
            raise MissingMPIError(
                f"distributed: mpi4py could not be loaded ({error}); install it and a library of"
                ' MPI by pip install "ferrograd[mpi]"'
            ) from None
        _end_together()
    return _LOADED[0]


def _end_together() -> None:
    before = sys.excepthook

    def ends(kind: Any, error: Any, traceback: Any) -> None:
        world = _LOADED[0].COMM_WORLD
        if world.Get_size() == 1 or _LOADED[0].Is_finalized():
            before(kind, error, traceback)
            return
        print(f"rank {world.Get_rank()} of {world.Get_size()} failed:", file=sys.stderr)
        before(kind, error, traceback)
        sys.stdout.flush()
        sys.stderr.flush()
        world.Abort(1)
        os._exit(1)

    sys.excepthook = ends


def world(comm: Any = None) -> Any:
    """The communicator that is meant: all processes of the job for None."""
    return mpi().COMM_WORLD if comm is None else comm


def is_available() -> bool:
    """Whether mpi4py is installed."""
    return util.find_spec("mpi4py") is not None


def get_rank(comm: Any = None) -> int:
    """The number of this process among those of a communicator, from 0."""
    rank: int = world(comm).Get_rank()
    return rank


def get_world_size(comm: Any = None) -> int:
    """How many processes there are."""
    size: int = world(comm).Get_size()
    return size


def barrier(comm: Any = None) -> None:
    """Waits until every process is here."""
    world(comm).Barrier()


def checked_rank(op: str, name: str, rank: Any, comm: Any) -> int:
    """A rank of a communicator; raises for any other number."""
    size = comm.Get_size()
    if not hasattr(rank, "__index__") or not 0 <= rank < size:
        raise ArgumentError(f"{op}: {name} is {rank!r}; give 0 to {size - 1}")
    return int(rank)
