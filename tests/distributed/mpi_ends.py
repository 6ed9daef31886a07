"""How a job ends when a rank does not go on: `python mpi_ends.py CASE`, started by mpiexec."""

import builtins
import os
import signal
import sys
import threading
import time
from sys import exit as imported_exit

import pytest

import ferrograd as fg
from ferrograd import distributed, nn

RANK = distributed.get_rank()


def raises() -> None:
    """One rank fails; the others wait for it."""
    if RANK == 1:
        raise ZeroDivisionError("on purpose")
    distributed.barrier()


def exits() -> None:
    """One rank leaves with a status; what was caught before does not count."""
    with pytest.raises(SystemExit) as caught:
        sys.exit(5)
    assert caught.value.code == 5
    distributed.barrier()
    if RANK == 1:
        sys.exit(3)
    distributed.barrier()


def exits_by(how: str) -> None:
    """One rank ends its program in other ways; what is caught and asked for its status goes on."""
    for left in (SystemExit(6), SystemExit("words"), SystemExit(1, 2), SystemExit()):
        with pytest.raises(SystemExit) as caught:
            raise left
        assert caught.value.code == (left.args[0] if len(left.args) == 1 else left.args or None)
        left.code = 8
        assert caught.value.code == 8
    distributed.barrier()
    if RANK == 1:
        if how == "raise":
            raise SystemExit(3)
        if how == "words":
            raise SystemExit("on purpose")
        if how == "shell":
            builtins.exit(3)
        if how == "imported":
            imported_exit(3)
        if how == "thread":
            thread = threading.Thread(target=sys.exit, args=(5,))
            thread.start()
            thread.join()
            sys.exit(3)
    distributed.barrier()
    distributed.barrier()


def leaves() -> None:
    """Leaving without a status ends nobody else, nor does one that was caught."""
    with pytest.raises(SystemExit):
        sys.exit(7)
    if RANK == 1:
        sys.exit()
    sys.exit(0)


def only_one_logs() -> None:
    """One rank calls what the others do not, while they go on to the next pass."""
    model = nn.Linear(2, 2)
    parallel = distributed.DataParallel(model)
    parallel(fg.ones(1, 2)).sum().backward()
    if RANK == 0:
        distributed.allreduce(model.bias.grad.sum())
    parallel(fg.ones(1, 2)).sum().backward()


def killed() -> None:
    """One rank dies; the others wait for it."""
    if RANK == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    distributed.allreduce(fg.ones(1))
    time.sleep(60)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
