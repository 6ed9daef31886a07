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


_loaded_mpi: list[Any] = []

#: Settings of Open MPI, read when it starts; the environment has priority. By default, non-blocking
#: in-place sums use a tree, which takes two to three times as long for megabytes as a ring (1). A
#: waiting rank spins; if others compute on its core, it must yield, or a small message takes a time
#: slice of the system, which is milliseconds.
MPI_ENVIRONMENT = {
    "OMPI_MCA_coll_libnbc_iallreduce_algorithm": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


#: Seconds to wait so that a traceback is printed before the report of MPI.
FLUSH_SECONDS = 0.3


def get_mpi() -> Any:
    """The module `mpi4py.MPI`."""
    if not _loaded_mpi:
        for name, value in MPI_ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        try:
            _loaded_mpi.append(import_module("mpi4py.MPI"))
        except ImportError as error:
            raise MissingMPIError(
                f"distributed: mpi4py could not be loaded ({error}); install it and a library of"
                ' MPI by pip install "ferrograd[mpi]"'
            ) from None
        _install_abort_hooks()
    return _loaded_mpi[0]


def _install_abort_hooks() -> None:
    before = sys.excepthook

    def abort_on_exception(kind: Any, error: Any, traceback: Any) -> None:
        if _is_single_process():
            before(kind, error, traceback)
            return
        print(f"{_format_rank()} failed:", file=sys.stderr)
        before(kind, error, traceback)
        _abort(1)

    sys.excepthook = abort_on_exception
    _abort_on_system_exit()


def _abort_on_system_exit() -> None:
    """Ends the job if `SystemExit` with a status ends this process.

    No hook is called for this exception, but the interpreter reads its `code` when no Python code
    runs any more. If a program catches the exception and reads `code`, there is a calling frame. So
    `code` becomes a property of the class, set in the dictionary of its `__dict__`; its values do
    not change.
    """
    names = get_referents(SystemExit.__dict__)[0]
    member = names["code"]

    def get_code(error: SystemExit) -> Any:
        status = member.__get__(error)
        ends = status not in (None, 0) and get_ident() == main and not _has_caller()
        if ends and not _is_single_process():
            print(f"{_format_rank()} left by SystemExit({status!r})", file=sys.stderr)
            _abort(status if isinstance(status, int) else 1)
        return status

    main = get_ident()
    names["code"] = property(get_code, member.__set__, doc="The status.")
    ctypes = import_module("ctypes")
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(SystemExit))
    _replace_sys_exit()


def _replace_sys_exit() -> None:
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


def _is_single_process() -> bool:
    """Whether this is the only process."""
    return bool(_loaded_mpi[0].Is_finalized() or _loaded_mpi[0].COMM_WORLD.Get_size() == 1)


def _format_rank() -> str:
    everyone = _loaded_mpi[0].COMM_WORLD
    return f"rank {everyone.Get_rank()} of {everyone.Get_size()}"


def _abort(status: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    # Printed text is still in transit through mpiexec, which reports the end itself.
    sleep(FLUSH_SECONDS)
    _loaded_mpi[0].COMM_WORLD.Abort(status)
    os._exit(status)


def get_communicator(comm: Any = None) -> Any:
    """The communicator; for None, `COMM_WORLD`, which is all processes of the job."""
    if comm is None:
        return get_mpi().COMM_WORLD
    if not isinstance(comm, get_mpi().Comm):
        raise ArgumentTypeError(
            f"distributed: comm is a {type(comm).__name__}; pass a communicator of mpi4py, or None"
        )
    return comm


def is_available() -> bool:
    """Whether mpi4py is installed."""
    return util.find_spec("mpi4py") is not None


def get_rank(comm: Any = None) -> int:
    """The number of this process among those of a communicator, from 0."""
    rank: int = get_communicator(comm).Get_rank()
    return rank


def get_world_size(comm: Any = None) -> int:
    """The number of processes."""
    size: int = get_communicator(comm).Get_size()
    return size


def check_rank(op: str, name: str, rank: Any, comm: Any) -> int:
    """A rank of a communicator; raises for any other number."""
    size = comm.Get_size()
    if not hasattr(rank, "__index__") or not 0 <= rank < size:
        raise ArgumentError(f"{op}: {name} is {rank!r}; give 0 to {size - 1}")
    return int(rank)
