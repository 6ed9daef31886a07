"""Messages under way while this process computes.

Invariant: requests are tested by one thread at a time, and the thread ends when all of them are
complete.
"""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from time import sleep
from typing import Any

from ferrograd.distributed._process_group import mpi

#: Seconds between two questions. A message of megabytes takes several steps of some milliseconds.
PAUSE = 0.001


class Progress:
    """Non-blocking calls in progress, with the functions to call when they are complete.

    MPI libraries process messages only inside MPI calls, and a kernel of a backward pass runs
    longer than a step of a message. So a thread calls MPI regularly. Without `MPI_THREAD_MULTIPLE`
    there is no thread, and messages progress when `poll` is called.
    """

    def __init__(self) -> None:
        self._requests: list[Any] = []
        self._then: list[Callable[[], None]] = []
        self._lock = allocate_lock()
        self._runs = False
        self._threads = mpi().Query_thread() == mpi().THREAD_MULTIPLE

    def add(self, request: Any, then: Callable[[], None]) -> None:
        """Adds a request, which is complete after `wait`; `then` is called afterwards."""
        with self._lock:
            self._requests.append(request)
            self._then.append(then)
            if self._threads and not self._runs:
                self._runs = True
                start_new_thread(self._run, ())

    def poll(self) -> None:
        """Lets MPI progress, unless the thread does it; a call may cost a time slice."""
        if self._requests and not self._runs and self._lock.acquire(False):
            try:
                self._done(mpi().Request.Testsome(self._requests))
            finally:
                self._lock.release()

    def wait(self) -> None:
        """Returns when all requests are complete."""
        with self._lock:
            while self._requests:
                self._done(mpi().Request.Waitsome(self._requests))

    def _done(self, numbers: list[int] | None) -> None:
        for number in sorted(numbers or (), reverse=True):
            del self._requests[number]
            self._then.pop(number)()

    def _run(self) -> None:
        while True:
            sleep(PAUSE)
            with self._lock:
                self._done(mpi().Request.Testsome(self._requests))
                if not self._requests:
                    self._runs = False
                    return
