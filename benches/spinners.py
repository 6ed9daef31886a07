"""Tells whether two cores are available at this moment.

Two child processes count for a few milliseconds on request. On a shared machine a second core comes
and goes, and a comparison of parallel code without it is meaningless. The children end with the
parent.
"""

import atexit
import multiprocessing
import time
from multiprocessing.connection import Connection

SPIN_SECONDS = 0.02
MIN_CORES = 1.8

_children: list[tuple[multiprocessing.Process, Connection]] = []
_single_count = 0.0


def _spin() -> int:
    count, end = 0, time.perf_counter() + SPIN_SECONDS
    while time.perf_counter() < end:
        count += 1
    return count


def _serve_requests(pipe: Connection) -> None:
    while pipe.recv():
        pipe.send(_spin())


def _start_children() -> None:
    context = multiprocessing.get_context("spawn")
    for _ in range(2):
        ours, theirs = context.Pipe()
        child = context.Process(target=_serve_requests, args=(theirs,), daemon=True)
        child.start()
        _children.append((child, ours))
    atexit.register(_stop_children)


def _stop_children() -> None:
    for child, pipe in _children:
        pipe.send(False)
        child.join(1)
    _children.clear()


def _count_together(which: list[int]) -> int:
    """The sum of what these children count at the same time."""
    for i in which:
        _children[i][1].send(True)
    return sum(_children[i][1].recv() for i in which)


def measure_cores() -> float:
    """How many cores two spinners get, as multiples of the best that one has ever had alone."""
    global _single_count
    if not _children:
        _start_children()
        _count_together([0, 1])
        _single_count = max(_count_together([0]) for _ in range(5))
    _single_count = max(_single_count, _count_together([0]))
    return _count_together([0, 1]) / _single_count


def has_two_cores() -> bool:
    """Whether two independent spinners get at least 1.8 cores between them."""
    return measure_cores() >= MIN_CORES
