"""Runs hostile calls in a process of their own and reports what kills, stops or shames it.

Run it: `python -m hostile.sweep --calls 100000`. Invariant: every call of the range is made,
whatever became of those before it.
"""

import argparse
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

#: Seconds that one call may take on a machine that does other things as well.
PATIENCE = 60.0
TESTS = Path(__file__).resolve().parents[1]


def environment() -> dict[str, str]:
    """The environment of the calls: this library and the tests, wherever they are."""
    paths = [str(TESTS), *filter(None, sys.path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def swept(seed: int, begin: int, end: int, patience: float = PATIENCE, trap: str = "") -> list[str]:
    """What was wrong with the calls of a range, one line each; `trap` shows that it is seen."""
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        while begin < end:
            begin = stretch([seed, begin, end, trap], patience, folder, faults)
    return faults


def stretch(what: list[Any], patience: float, folder: str, faults: list[str]) -> int:
    """Makes calls until the process ends; the number of the call after the last."""
    with subprocess.Popen(
        [sys.executable, "-m", "hostile.child", *map(str, what)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment(),
    ) as child:
        return watched(child, what, patience, faults)


def watched(child: Any, what: list[Any], patience: float, faults: list[str]) -> int:
    """Reads what the process says until it ends or falls silent."""
    _, at, end, _ = what
    name, rest, after = "?", b"", []
    while ready := select.select([child.stdout], [], [], patience)[0]:
        block = os.read(ready[0].fileno(), 1 << 16)
        if not block:
            break
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            kind, _, text = line.decode(errors="replace").partition(" ")
            if kind == "call":
                number, _, name = text.partition(" ")
                at, after = int(number), []
            elif kind == "fault":
                faults.append(f"{name}: {text}")
            elif kind == "done":
                return int(end)
            else:
                after.append(line.decode(errors="replace"))
    else:
        child.kill()
        faults.append(f"{name}: {at} takes more than {patience:.0f} s")
        return at + 1
    code = child.wait()
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    faults.append(f"{name}: {at} ends the process with {how} {' | '.join(after[:12])}")
    return at + 1


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--begin", type=int, default=0)
    given = parser.parse_args()
    start, count = time.monotonic(), 0
    for begin in range(given.begin, given.begin + given.calls, 5000):
        end = min(begin + 5000, given.begin + given.calls)
        for fault in swept(given.seed, begin, end):
            count += 1
            print(fault, flush=True)
        print(f"{end} calls, {count} faults, {time.monotonic() - start:.0f} s", flush=True)
    sys.exit(count != 0)


if __name__ == "__main__":
    main()
