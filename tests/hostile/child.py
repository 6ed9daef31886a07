"""Makes hostile calls one after the other, and says before each which it is.

Invariant: a call depends on seed and number only, so that any can be repeated alone: `python -m
hostile.child SEED NUMBER NUMBER+1`.
"""

import contextlib
import faulthandler
import gc
import io
import itertools
import os
import resource
import signal
import sys
import time
import warnings
from random import Random
from typing import Any

import numpy as np

import ferrograd as fg
from hostile import values
from hostile.names import MADE, entries, ordinary, parameters

#: Bytes that a process may map beyond what it has when it begins.
ROOM = 3 << 30
#: Functions that loop over the rows of an argument (NumPy does before it asks whose it is), or that
#: take several microseconds for an element.
WALKED = {
    *("airy", "block", "choose", "einsum", "einsum_path", "gradient", "histogram2d", "histogramdd"),
    *("multi_dot", "piecewise", "select", "trim_zeros", "ParameterList", "pack_sequence"),
    *("pad_sequence", "concat", "concatenate", "stack", "hstack", "vstack", "dstack"),
    *("column_stack", "vectorize"),
}
#: Rows that a loop over them reaches the end of.
LONG = 1 << 20


def arguments(value: Any, rng: Random) -> tuple[list[Any], dict[str, Any]]:
    """Ordinary arguments with some hostile ones among them, or hostile ones only."""
    wild = rng.randrange(4) == 0
    if wild:
        positional = [values.anything(rng) for _ in range(rng.randrange(5))]
        named = {} if rng.randrange(3) else {rng.choice(values.WORDS): values.anything(rng)}
        return positional, named
    known = [row for row in parameters(value) if row[0] not in {"self", "args", "kwargs"}]
    chosen = [row for row in known if row[1] or rng.randrange(3) == 0]
    given = [(name, ordinary(name, rng)) for name, _ in chosen] or [("x", values.tensor(rng))]
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        place = rng.randrange(len(given))
        given[place] = (given[place][0], values.anything(rng))
    required = sum(1 for row in chosen if row[1])
    return [v for _, v in given[: max(required, 1)]], dict(given[max(required, 1) :])


def walkable(positional: list[Any], named: dict[str, Any], rng: Random) -> tuple[Any, Any]:
    """Arguments without what has endless many rows, for functions of `WALKED`."""

    def short(x: Any) -> Any:
        rows = isinstance(x, fg.Tensor | np.ndarray) and x.ndim > 0 and x.shape[0] > LONG
        lazy = isinstance(x, range | itertools.count | itertools.repeat | values.Worse)
        return values.plain(rng) if rows or lazy else x

    return [short(x) for x in positional], {key: short(x) for key, x in named.items()}


def use(result: Any, rng: Random) -> None:
    """Does with a result what a program would do next."""
    if isinstance(result, fg.Tensor):
        repr(result)
        if result.size < 10_000 and result.requires_grad:
            result.sum().backward()
    elif callable(result) and rng.randrange(2):
        result(*[values.anything(rng) for _ in range(rng.randrange(3))])
    elif hasattr(type(result), "__enter__") and hasattr(type(result), "__exit__"):
        with result:
            fg.tensor([1.0], requires_grad=True).exp()
    elif isinstance(result, tuple | list):
        for part in result[:3]:
            use(part, rng)


def one(seed: int, number: int, log: Any) -> str:
    """Makes a call; what is wrong with how it ended, or nothing."""
    rng = Random(f"{seed}:{number}")
    name, value = rng.choice(entries())
    log(name)
    try:
        if isinstance(value, tuple):
            value = getattr(MADE[value[0]](rng), value[1])
        if not callable(value):
            return ""
        positional, named = arguments(value, rng)
        if name.startswith("numpy.") and not any(isinstance(x, fg.Tensor) for x in positional):
            positional[:1] = [values.tensor(rng)]
        if name.rpartition(".")[2] in WALKED:
            positional, named = walkable(positional, named, rng)
        use(value(*positional, **named), rng)
    except (Exception, GeneratorExit) as error:
        return judged(error)
    except BaseException as error:
        return f"raises {type(error).__name__}: {str(error)[:300]}"
    return ""


def judged(error: BaseException) -> str:
    """What is wrong with an exception: it is one that shows a fault of ours."""
    faulty = isinstance(error, fg.errors.InternalError) or (
        isinstance(error, SystemError) and "hostile" not in str(error)
    )
    return f"raises {type(error).__name__}: {str(error)[:300]}" if faulty else ""


def restore(threads: int) -> None:
    """Undoes what a call may have set for all that follow."""
    fg.set_grad_enabled(True)
    fg.set_default_dtype(np.float64)
    fg.set_detect_anomaly(False)
    if fg.get_num_threads() != threads:
        fg.set_num_threads(threads)


def limit_memory() -> None:
    """Makes an allocation beyond `ROOM` fail, as on a machine that has no more."""
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + ROOM, mapped + ROOM))


def fall(kind: str) -> None:
    """Does what no call may do."""
    if kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif kind == "hang":
        time.sleep(1000)


def main(seed: int, begin: int, end: int, trap: str = "") -> None:
    """Makes the calls of a range; each line says which call begins, or what was wrong with it."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    sys.stdout = sys.stderr = io.StringIO()
    faulthandler.enable(file=out)
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None
    fg.set_num_threads(2)
    values.deep(list), entries()
    limit_memory()
    kind, _, place = trap.partition(":")
    for number in range(begin, end):
        fault = one(seed, number, lambda name, n=number: out.write(f"call {n} {name}\n"))
        if place == str(number):
            fall(kind)
        if fault:
            out.write(f"fault {number} {fault!r}\n")
        with contextlib.suppress(Exception):
            restore(2)
        sys.stdout = sys.stderr = io.StringIO()
        if number % 500 == 0:
            gc.collect()
    out.write("done\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *sys.argv[4:])
