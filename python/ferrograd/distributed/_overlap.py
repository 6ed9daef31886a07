"""Messages under way while this process computes.

Invariant: requests are tested by one thread at a time, and the thread ends when all of them are
complete.
"""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from time import sleep
from typing import Any

from ferrograd.distributed._process_group import get_mpi

#: Seconds between two questions. A message of megabytes takes several steps of some milliseconds.
POLL_INTERVAL = 0.001


class RequestProgress:
    """Non-blocking calls in progress, with the functions to call when they are complete.

    MPI libraries process messages only inside MPI calls, and a kernel of a backward pass runs
    longer than a step of a message. So a thread calls MPI regularly. Without `MPI_THREAD_MULTIPLE`
    there is no thread, and messages progress when `poll` is called.
    """

    def __init__(self) -> None:
        self._requests: list[Any] = []
        self._callbacks: list[Callable[[], None]] = []
        self._lock = allocate_lock()
        self._is_polling = False
        self._can_poll_in_thread = get_mpi().Query_thread() == get_mpi().THREAD_MULTIPLE

    def add(self, request: Any, then: Callable[[], None]) -> None:
        """Adds a request, which is complete after `wait`; `then` is called afterwards."""
        with self._lock:
            self._requests.append(request)
            self._callbacks.append(then)
            if self._can_poll_in_thread and not self._is_polling:
                self._is_polling = True
                start_new_thread(self._poll_in_thread, ())

    def poll(self) -> None:
        """Lets MPI progress, unless the thread does it; a call may cost a time slice."""
        if self._requests and not self._is_polling and self._lock.acquire(False):
            try:
                self._complete_requests(get_mpi().Request.Testsome(self._requests))
            finally:
                self._lock.release()

    def wait(self) -> None:
        """Returns when all requests are complete."""
        with self._lock:
            while self._requests:
                self._complete_requests(get_mpi().Request.Waitsome(self._requests))

    def _complete_requests(self, numbers: list[int] | None) -> None:
        for number in sorted(numbers or (), reverse=True):
            del self._requests[number]
            self._callbacks.pop(number)()

    def _poll_in_thread(self) -> None:
        while True:
            sleep(POLL_INTERVAL)
            with self._lock:
                self._complete_requests(get_mpi().Request.Testsome(self._requests))
                if not self._requests:
                    self._is_polling = False
                    return
