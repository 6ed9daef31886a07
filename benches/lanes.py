"""Compares schedules of backward: one thread, threads inside operations, parallel branches.

Run with `python benches/lanes.py [rounds] [words]`; the graphs are those of `cases/branches.py`.
Each schedule runs in its own process, because `FERROGRAD_LANES` is read once; in a round every
process times the same graph in turn.
"""

import json
import os
import statistics
import subprocess
import sys
import timeit
from pathlib import Path
from typing import Any

import spinners
from cases import branches

THREADS = 2
SCHEDULES = {
    "one thread": {"FERROGRAD_NUM_THREADS": "1"},
    "inside operations": {"FERROGRAD_NUM_THREADS": str(THREADS), "FERROGRAD_LANES": "1"},
    "side by side": {"FERROGRAD_NUM_THREADS": str(THREADS)},
}
SECONDS = 0.03
GRAPHS = {case.name: case.setup for case in branches.CASES if case.threads == 1}
GRAPHS |= branches.SMALL_GRAPHS


def run_server() -> None:
    """Times the graphs whose names arrive, one per line."""
    timers: dict[str, timeit.Timer] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in timers:
            names = GRAPHS[name]("ferrograd")
            timers[name] = timeit.Timer(branches.BACKWARD, globals=names)
            timers[name].timeit(2)
        count = max(1, int(SECONDS / timers[name].timeit(1)))
        print(json.dumps(timers[name].timeit(count) / count), flush=True)


def start_server(setting: dict[str, str]) -> Any:
    """A process that serves under one schedule."""
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve()), "--serve"],
        env=os.environ | setting,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def measure_remotely(process: Any, name: str) -> float:
    """Seconds of one pass over a graph."""
    process.stdin.write(f"{name}\n")
    process.stdin.flush()
    return float(json.loads(process.stdout.readline()))


def main() -> None:
    """Reads the options, measures, prints."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    words = sys.argv[2].split(",") if len(sys.argv) > 2 else [""]
    processes = {schedule: start_server(setting) for schedule, setting in SCHEDULES.items()}
    print(f"{THREADS} threads; minima, and medians of one thread's time over the schedule's\n")
    print("| graph | one thread | inside operations | side by side |\n|---|---|---|---|")
    for name in (n for n in GRAPHS if any(word in n for word in words)):
        times: dict[str, list[float]] = {schedule: [] for schedule in SCHEDULES}
        tries = 0
        while len(times["one thread"]) < rounds and tries < 4 * rounds:
            tries += 1
            measured = {
                schedule: measure_remotely(process, name) for schedule, process in processes.items()
            }
            if spinners.has_two_cores():
                for schedule, seconds in measured.items():
                    times[schedule].append(seconds)
        cells = [f"{name.removeprefix('backward: ')}"]
        for found in times.values():
            pairs = zip(times["one thread"], found, strict=True)
            ratio = statistics.median([one / other for one, other in pairs] or [float("nan")])
            best = min(found, default=float("nan")) * 1e3
            cells.append(f"{best:.4g} ms, **{ratio:.2f}**")
        print(f"| {' | '.join(cells)} |", flush=True)
    for process in processes.values():
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    run_server() if "--serve" in sys.argv else main()
