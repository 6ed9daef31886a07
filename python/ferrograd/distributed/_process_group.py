"""The processes of a job, and ending all of them when one fails.

Invariant: an uncaught exception on one rank prints its traceback and ends every process of the job
with a nonzero status.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from gc import get_referents
from importlib import import_module, util
from time import sleep
from typing import Any, NoReturn

from ferrograd.errors import ArgumentError, ArgumentTypeError, FerrogradError


class MissingMPIError(FerrogradError, ImportError):
    """mpi4py is not installed."""


_LOADED: list[Any] = []

#: Settings of Open MPI, read when it starts; the environment has priority. By default, non-blocking
#: in-place sums use a tree, which takes two to three times as long for megabytes as a ring (1). A
#: waiting rank spins; if others compute on its core, it must yield, or a small message takes a time
#: slice of the system, which is milliseconds.
SETTINGS = {
    "OMPI_MCA_coll_libnbc_iallreduce_algorithm": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


#: Seconds to wait so that a traceback is printed before the report of MPI.
FIRST = 0.3


def mpi() -> Any:
    """The module `mpi4py.MPI`."""
    if not _LOADED:
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
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
        if _is_alone():
            before(kind, error, traceback)
            return
        print(f"{_shown()} failed:", file=sys.stderr)
        before(kind, error, traceback)
        _abort(1)

    sys.excepthook = ends
    _watch_exits()


def _watch_exits() -> None:
    """Ends the job if `SystemExit` with a status ends this process.

    No hook is called for this exception, but the interpreter reads its `code` when no Python code
    runs any more. If a program catches the exception and reads `code`, there is a calling frame. So
    `code` becomes a property of the class, set in the dictionary of its `__dict__`; its values do
    not change.
    """
    names = get_referents(SystemExit.__dict__)[0]
    member = names["code"]

    def code(error: SystemExit) -> Any:
        status = member.__get__(error)
        ends = status not in (None, 0) and get_ident() == main and not _has_caller()
        if ends and not _is_alone():
            print(f"{_shown()} left by SystemExit({status!r})", file=sys.stderr)
            _abort(status if isinstance(status, int) else 1)
        return status

    main = get_ident()
    names["code"] = property(code, member.__set__, doc="The status.")
    ctypes = import_module("ctypes")
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(SystemExit))
    _replace_exit()


def _replace_exit() -> None:
    """Has `sys.exit` make its exception: before Python 3.12 it only notes a class and a status."""
    before = sys.exit

    def exit(status: Any = None, /) -> NoReturn:
        raise SystemExit(status)

    for module in list(sys.modules.values()):  # Programs write `from sys import exit`, too.
        names = getattr(module, "__dict__", {})
        for name in [name for name, value in list(names.items()) if value is before]:
            names[name] = exit


def _has_caller() -> bool:
    """Whether Python code called the calling function."""
    try:
        sys._getframe(2)
    except ValueError:
        return False
    return True


def _is_alone() -> bool:
    """Whether this is the only process."""
    return bool(_LOADED[0].Is_finalized() or _LOADED[0].COMM_WORLD.Get_size() == 1)


def _shown() -> str:
    everyone = _LOADED[0].COMM_WORLD
    return f"rank {everyone.Get_rank()} of {everyone.Get_size()}"


def _abort(status: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    sleep(FIRST)  # Printed text is still in transit through mpiexec, which reports the end itself.
    _LOADED[0].COMM_WORLD.Abort(status)
    os._exit(status)


def world(comm: Any = None) -> Any:
    """The communicator that is meant: all processes of the job for None."""
    if comm is None:
        return mpi().COMM_WORLD
    if not isinstance(comm, mpi().Comm):
        raise ArgumentTypeError(
            f"distributed: comm is a {type(comm).__name__}; pass a communicator of mpi4py, or None"
        )
    return comm


def is_available() -> bool:
    """Whether mpi4py is installed."""
    return util.find_spec("mpi4py") is not None


def get_rank(comm: Any = None) -> int:
    """The number of this process among those of a communicator, from 0."""
    rank: int = world(comm).Get_rank()
    return rank


def get_world_size(comm: Any = None) -> int:
    """The number of processes."""
    size: int = world(comm).Get_size()
    return size


def checked_rank(op: str, name: str, rank: Any, comm: Any) -> int:
    """A rank of a communicator; raises for any other number."""
    size = comm.Get_size()
    if not hasattr(rank, "__index__") or not 0 <= rank < size:
        raise ArgumentError(f"{op}: {name} is {rank!r}; give 0 to {size - 1}")
    return int(rank)
