"""Every parameter of every public name with what has no end: each call ends at once all the same.

Run it: `python -m hostile.endless`. Invariant: a call that its child had to leave is a fault, and
those after it are made by another child.
"""

import argparse
import faulthandler
import io
import itertools
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np

import ferrograd as fg
from hostile import values
from hostile.child import WALKED, judged, limit_memory, restore, use
from hostile.names import MADE, entries, ordinary, parameters

#: Seconds that a call may take.
PATIENCE = 20
ENDLESS: dict[str, Callable[[], Any]] = {
    "count": itertools.count,
    "repeat": lambda: itertools.repeat(1),
    "range": lambda: range(2**62),
    "list that lies": lambda: values.Worse([1.0]),
    "rows of nothing": lambda: np.broadcast_to(1.0, (2**59, 0)),
    "tensor of such rows": lambda: fg.asarray(np.broadcast_to(1.0, (2**59, 0))),
    "tuple of such rows": lambda: (np.broadcast_to(1, (2**59, 0)),),
    "expanded": lambda: fg.tensor(1.5).expand(2**59),
    "expanded integer": lambda: fg.tensor(1).expand(2**59),
}


class Call(NamedTuple):
    """A call: the name, its parameters, and which of them gets what has no end."""

    name: str
    target: Any
    given: list[tuple[str, bool]]
    place: int
    kind: str

    def __str__(self) -> str:
        return f"{self.name}: {self.given[self.place][0]} is {self.kind}"


def resolved(value: Any, rng: Random) -> Any:
    """What an entry of `names` stands for; a method is one of a fresh object."""
    return getattr(MADE[value[0]](rng), value[1]) if isinstance(value, tuple) else value


def calls_of(name: str, value: Any) -> list[Call]:
    """All calls of one name."""
    try:
        target = resolved(value, Random(name))
    except Exception:
        return []
    if not callable(target):
        return []
    given = [row for row in parameters(target) if row[0] not in {"self", "args", "kwargs"}]
    return [Call(name, value, given, k, kind) for k in range(len(given)) for kind in ENDLESS]


def make(call: Call, seed: int) -> None:
    """Makes a call: the parameters that it must have, and the one in question."""
    rng = Random(f"{seed}:{call}")
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for k, (name, required) in enumerate(call.given):
        if k == call.place or required:
            value = ENDLESS[call.kind]() if k == call.place else ordinary(name, rng)
            if required and not named:
                positional.append(value)
            else:
                named[name] = value
    use(resolved(call.target, rng)(*positional, **named), rng)


def child(calls: list[Call], begin: int, seed: int, pipe: int) -> None:
    """Makes the calls from one on, says which begins, and leaves."""
    out = os.fdopen(pipe, "w", buffering=1)
    sys.stdout = sys.stderr = io.StringIO()
    sys.unraisablehook = lambda _: None
    faulthandler.enable(file=out)
    limit_memory()
    for k in range(begin, len(calls)):
        out.write(f"call {k}\n")
        faulthandler.dump_traceback_later(PATIENCE, exit=True, file=out)
        try:
            make(calls[k], seed)
        except BaseException as error:
            if fault := judged(error):
                out.write(f"fault {calls[k]}: {fault}\n")
        restore(1)
    os._exit(0)


def swept(calls: list[Call], seed: int = 1) -> Iterator[str]:
    """What was wrong with the calls of a name, one line each."""
    begin = 0
    while begin < len(calls):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            child(calls, begin, seed, writing)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            lines = pipe.read().splitlines()
        status = os.waitpid(pid, 0)[1]
        yield from (line for line in lines if line.startswith("fault "))
        if status == 0:
            return
        begin, where = begin + 1, ""
        for line in lines:
            if line.startswith("call "):
                begin, where = int(line[5:]) + 1, ""
            elif line.startswith("  File") and not where:
                where = line.strip()
        yield f"{calls[begin - 1]}: the process ends with status {status}, {where}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*", help="beginnings of names; all by default")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    fg.set_num_threads(1)
    values.deep(list)
    start, count, made = time.monotonic(), 0, 0
    known: set[int] = set()
    for name, value in entries():
        # NumPy's functions walk an argument before they ask whose it is.
        left_out = name.startswith("numpy.") or name.rpartition(".")[2] in WALKED
        if left_out or id(value) in known or not name.startswith(tuple(given.names) or ""):
            continue
        known.add(id(value))
        calls = calls_of(name, value)
        made += len(calls)
        for fault in swept(calls, given.seed):
            count += 1
            print(fault, flush=True)
    print(f"{made} calls, {count} faults, {time.monotonic() - start:.0f} s")
    sys.exit(count != 0)


if __name__ == "__main__":
    main()
