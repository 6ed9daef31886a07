"""Runs many programs and reports what tensors get wrong and what they refuse.

Run it: `python -m idioms.sweep --programs 100000 --seed 7`.
"""

import argparse
import faulthandler
import sys
import time
from collections import Counter, defaultdict
from random import Random

from idioms.generate import PREAMBLE, Program, write
from idioms.run import Outcome, chosen_ways, outcome, tried
from idioms.shorten import headline, shortened

#: One of so many programs writes to its argument.
HOSTILE = 60
#: Seconds that one program may take, with the search for a shorter one.
PATIENCE = 120


def chosen(seed: int) -> tuple[Program, list[str]]:
    """The program of a seed, and the ways to run it."""
    rng = Random(seed)
    if rng.randrange(HOSTILE) == 0:
        return write(seed, writes_argument=True), ["gradient"]
    names = chosen_ways(rng)
    static = {"compiled", "node", "loop", "compiled_loop", "compiled_forward"} & set(names)
    return write(seed, dynamic=not static), names


class Report:
    """Counts, and the programs that failed."""

    def __init__(self, shown: int) -> None:
        #: How many programs of each kind and message are shortened and kept.
        self.shown = shown
        self.counts: Counter[str] = Counter()
        self.messages: dict[str, Counter[str]] = defaultdict(Counter)
        self.examples: dict[str, list[str]] = defaultdict(list)
        self.seen: set[str] = set()

    def add(self, program: Program, result: Outcome) -> None:
        """Counts an outcome, and keeps the text of the first programs of each kind."""
        self.counts[result.kind] += 1
        if result.kind in ("right", "unreliable"):
            return
        line = f"{result.way}: {headline(result.message)}"
        self.messages[result.kind][line] += 1
        if self.messages[result.kind][line] <= (self.shown if result.kind == "wrong" else 1):
            short = shortened(program, result)
            if (text := headline(short.text.replace("\n", ";"))) not in self.seen:
                self.seen.add(text)
                values = ", ".join(map(repr, short.arguments))
                detail = f"# seed {short.seed}, {result.way}: {tried(short, result.way).message}"
                self.examples[line].append(f"{detail}\n# f({values})\n{short.text}")

    def line(self, seconds: float) -> str:
        """The counts so far."""
        c, answered = self.counts, self.counts.total() - self.counts["unreliable"]
        parts = [f"{c[k]} {k}" for k in ("right", "wrong", "refused", "unreliable")]
        share = 100 * c["refused"] / max(1, answered)
        return f"{c.total()} programs: {', '.join(parts)} ({share:.2f} % refused), {seconds:.0f} s"

    def text(self) -> str:
        """All of it."""
        parts = []
        for kind, messages in self.messages.items():
            parts.append(f"\n--- {kind} ---")
            for line, count in messages.most_common():
                parts.append(f"\n{count} × {line}")
                parts += self.examples[line]
        return "\n".join(parts)


def swept(seed: int, programs: int, shown: int = 3, every: int = 0) -> Report:
    """The report of a range of programs; says how it goes after so many, if asked."""
    report, start = Report(shown), time.monotonic()
    for number in range(seed * 1_000_000, seed * 1_000_000 + programs):
        if every:  # what stops or kills the process shows its stack, with the program's seed
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
        program, names = chosen(number)
        report.add(program, outcome(program, names))
        if every and (number + 1) % every == 0:
            print(report.line(time.monotonic() - start), flush=True)
    return report


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shown", type=int, default=20, help="programs shortened of each failure")
    given = parser.parse_args()
    start = time.monotonic()
    faulthandler.enable()
    report = swept(given.seed, given.programs, given.shown, every=5000)
    faulthandler.cancel_dump_traceback_later()
    print(f"{PREAMBLE if report.examples else ''}{report.text()}")
    print(report.line(time.monotonic() - start))
    sys.exit(report.counts["wrong"] != 0)


if __name__ == "__main__":
    main()
