"""Times two builds of ferrograd in interleaved rounds: `python benches/compare_builds.py OLD NEW`.

OLD and NEW are interpreters, each with one build installed. Every case of `cases` runs in one
process per build; a round times it once in each, close together in time. The memory placement of a
process shifts its times by several percent for its lifetime, so the rounds are spread over
`--pairs` pairs of processes. The table gives the median of OLD ÷ NEW over the rounds: below 1 the
new build is slower. `--only` and `--quick` are those of `run.py`.
"""

import argparse
import json
import statistics
import subprocess
import sys
from typing import Any

import run
from run import harness


def run_worker(only: str, quick: bool) -> None:
    """Times one round of a case for each line of the input that names it; says what failed."""
    cases = {case.name: case for case in run.select_cases(only)}
    answer = sys.stdout
    sys.stdout = sys.stderr
    clock, current = None, None
    for line in sys.stdin:
        name = line.rstrip("\n")
        try:
            if name != current:
                case, current = cases[name], name
                clock = None  # The arrays of the last case go first.
                clock = harness.Clock(case, harness.OURS, case.setup(harness.OURS) or {}, quick)
            said: Any = clock.seconds()
        except Exception as error:
            said = f"{type(error).__name__}: {error}".splitlines()[0]
        print(json.dumps(said), file=answer, flush=True)


class Build:
    """A process that times cases with the build of an interpreter."""

    def __init__(self, python: str, options: argparse.Namespace) -> None:
        flags = ["--quick"] * options.quick + ["--only", options.only or ""]
        command = [python, "-W", "ignore", __file__, "--work", *flags]
        self.python = python
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def end(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def seconds(self, name: str) -> float | str:
        """Seconds of an operation of the case, or why there are none."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(name, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.python}: the process ended in case {name!r}")
        return json.loads(line)


Times = list[tuple[float, float]]


def compare(name: str, builds: tuple[Build, Build], rounds: int) -> Times | str:
    """Seconds of both builds, round by round; the text of an error where one cannot run it."""
    times = []
    for i in range(rounds):
        found = [build.seconds(name) for build in (builds if i % 2 else builds[::-1])]
        old, new = found if i % 2 else found[::-1]
        if isinstance(old, str) or isinstance(new, str):
            return f"old: {old}; new: {new}"
        times.append((old, new))
    return times


def collect(options: argparse.Namespace, rounds: int) -> dict[str, Times | str]:
    """The times of every case, or why there are none, from all pairs of processes."""
    found: dict[str, Times | str] = {}
    for pair in range(options.pairs):
        builds = (Build(options.builds[0], options), Build(options.builds[1], options))
        for case in run.select_cases(options.only):
            before = found.setdefault(case.name, [])
            times = compare(case.name, builds, -(-rounds // options.pairs))
            found[case.name] = times if isinstance(times, str) else [*before, *times]
        for build in builds:
            build.end()
        print(f"pair {pair + 1} of {options.pairs} measured", file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Reads the options, measures, prints."""
    parser = run.make_parser("time two builds of ferrograd beside each other")
    parser.add_argument("builds", nargs="*", help="interpreters: the old build's, the new build's")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of processes (default: 5)")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        run_worker(options.only or "", options.quick)
        return
    if len(options.builds) != 2:
        parser.error("give two interpreters: the old build's and the new build's")
    found = collect(options, run.get_rounds(options))
    print("| case | threads | old, min | new, min | old ÷ new |\n|---|---|---|---|---|")
    slower = []
    for case in run.select_cases(options.only):
        times = found[case.name]
        if isinstance(times, str):
            print(f"| {case.name} | {case.threads} | {times} | | |", flush=True)
            continue
        ratio = statistics.median(old / new for old, new in times)
        scale = harness.SCALE[case.unit]
        cells = [f"{min(t) * scale:,.4g} {case.unit}" for t in zip(*times, strict=True)]
        print(f"| {case.name} | {case.threads} | {' | '.join(cells)} | {ratio:.3f} |", flush=True)
        if ratio < 0.95:
            slower.append(f"{case.name} {ratio:.2f}")
    print(f"below 0.95: {', '.join(slower) or 'none'}")


if __name__ == "__main__":
    main()
