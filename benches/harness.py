"""Times statements of several libraries in interleaved rounds and reports ratios.

Has the clock, the rounds, the check that the machine is quiet, and the table; knows no library and
no benchmark. In a round every library is timed once, close together in time, and a ratio compares
two times of the same round: a busy moment spoils a round, not the comparison.
"""

import gc
import statistics
import time
import timeit
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import spinners

OURS = "ferrograd"
TARGET_SECONDS = {False: 0.05, True: 0.01}
CLOCK: dict[str, Callable[[], float]] = {"timer": time.perf_counter}


def use_processor_time() -> None:
    """Counts the time that this process computes, which other processes disturb less."""
    CLOCK["timer"] = time.process_time


@dataclass(frozen=True)
class Case:
    """One thing to time.

    `setup(library)` returns the names that `statement` uses, or None where the library has nothing
    comparable. `per` is the number of operations in one statement; `goal` the ratio to reach.
    """

    name: str
    statement: str
    setup: Callable[[str], dict[str, Any] | None]
    per: int = 1
    unroll: int = 1
    threads: int = 1
    unit: str = "ns"
    goal: float | None = None
    peers: tuple[str, ...] = ("torch",)

    @property
    def parallel(self) -> bool:
        """Whether a second busy core would spoil it."""
        return self.threads > 1


@dataclass
class Result:
    """The times of a case: seconds per operation, one list per library, by round."""

    case: Case
    times: dict[str, list[float]] = field(default_factory=dict)
    discarded: int = 0

    def ratios(self, peer: str) -> list[float]:
        """The peer's time over ours, round by round."""
        return [p / o for p, o in zip(self.times[peer], self.times[OURS], strict=True)]


class Clock:
    """A statement of one library, with the number of repetitions that fills the target time."""

    def __init__(self, case: Case, library: str, names: dict[str, Any], quick: bool) -> None:
        self.per = case.per * case.unroll
        text = "\n".join([case.statement] * case.unroll)
        self.timer = timeit.Timer(text, timer=CLOCK["timer"], globals=names)
        self.set_threads = get_thread_setter(library)
        self.threads = case.threads
        self.set_threads(self.threads)
        self.timer.timeit(1)  # caches, pools and lazy imports
        once = max(self.timer.timeit(1), 1e-8)
        self.number = max(1, int(TARGET_SECONDS[quick] / once))
        if self.number > 1:
            once = self.timer.timeit(max(1, self.number // 10)) / max(1, self.number // 10)
            self.number = max(1, int(TARGET_SECONDS[quick] / once))

    def seconds(self) -> float:
        """Seconds per operation, the garbage collector off as `timeit` leaves it."""
        self.set_threads(self.threads)
        gc.collect()
        return self.timer.timeit(self.number) / (self.number * self.per)


def get_thread_setter(library: str) -> Callable[[int], None]:
    """How a library limits its threads; a no-op where it cannot."""
    if library == OURS:
        import ferrograd

        return ferrograd.set_num_threads
    if library == "torch":
        import torch

        return torch.set_num_threads
    return lambda _: None


def make_clocks(case: Case, libraries: Iterable[str], quick: bool) -> dict[str, Clock]:
    """A clock for every library that has something to time."""
    clocks = {}
    for library in (OURS, *(p for p in case.peers if p in set(libraries))):
        names = case.setup(library)
        if names is not None:
            clocks[library] = Clock(case, library, names, quick)
    return clocks


def measure(case: Case, libraries: Iterable[str], rounds: int, quick: bool) -> Result:
    """Times a case; a parallel one only in rounds in which two cores were really there."""
    clocks = make_clocks(case, libraries, quick)
    result = Result(case, {library: [] for library in clocks})
    while len(result.times[OURS]) < rounds and result.discarded < 4 * rounds:
        quiet = not case.parallel or spinners.has_two_cores()
        times = {library: clock.seconds() for library, clock in clocks.items()}
        if quiet and (not case.parallel or spinners.has_two_cores()):
            for library, seconds in times.items():
                result.times[library].append(seconds)
        else:
            result.discarded += 1
    return result


SCALE = {"ns": 1e9, "µs": 1e6, "ms": 1e3}


def format_heading(peers: Iterable[str]) -> str:
    """The first two lines of the table."""
    columns = ["case", "threads", "ferrograd"]
    for peer in peers:
        columns += [peer, f"{peer} ÷ ours"]
    return f"| {' | '.join([*columns, 'goal'])} |\n|{'---|' * (len(columns) + 1)}"


def format_line(result: Result, peers: Iterable[str]) -> str:
    """One line of the table: minima, and medians of the ratios."""
    case = result.case
    if not result.times[OURS]:
        return f"| {case.name} | {case.threads} | no quiet round of {result.discarded} |"

    def format_cell(library: str) -> str:
        return f"{min(result.times[library]) * SCALE[case.unit]:,.4g} {case.unit}"

    cells = [case.name, str(case.threads), format_cell(OURS)]
    for peer in peers:
        if peer in result.times:
            cells += [format_cell(peer), f"**{statistics.median(result.ratios(peer)):.2f}**"]
        else:
            cells += ["", ""]
    goal = "" if case.goal is None else f"≥ {case.goal:g}"
    return f"| {' | '.join([*cells, goal])} |"


def format_summary(results: Sequence[Result], peers: Iterable[str]) -> str:
    """For each peer the geometric mean of the ratios, and the cases in which ours is the slower."""
    lines = []
    for peer in peers:
        medians = {
            r.case.name: statistics.median(r.ratios(peer))
            for r in results
            if r.times[OURS] and peer in r.times
        }
        slower = sorted((ratio, name) for name, ratio in medians.items() if ratio < 1)
        mean = statistics.geometric_mean(medians.values())
        listed = ", ".join(f"{name} {ratio:.2f}" for ratio, name in slower) or "none"
        lines.append(
            f"{peer}: geometric mean {mean:.2f} over {len(medians)} cases; below 1: {listed}"
        )
    return "\n".join(lines)


def to_json(result: Result) -> dict[str, Any]:
    """Everything measured, for a file."""
    return {
        "case": result.case.name,
        "threads": result.case.threads,
        "goal": result.case.goal,
        "discarded_rounds": result.discarded,
        "seconds_per_operation": result.times,
        "median_ratio": {
            peer: statistics.median(result.ratios(peer))
            for peer in result.times
            if peer != OURS and result.times[OURS]
        },
    }
