"""Calls in processes that have next to no memory left: each ends as a result or as an error.

Run it: `python -m hostile.memory`. Invariant: a child that the system had to end is a fault, unless
it only took long.
"""

import argparse
import faulthandler
import gc
import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import ferrograd as fg

#: Bytes that a child may map beyond what its parent has.
ROOM = 40 << 20
#: Elements of an operand: as many bytes of int8, and in int64 or float64 more than there is room.
ELEMENTS = 12 << 20
DTYPES = ("int8", "bool", "float16", "float32", "complex64")
#: Operands in one row, in many rows, in few rows, in stacks of squares, and in more rows without
#: elements than there could be numbers for.
FORMS = ("row", "rows", "columns", "squares", "empty")
#: What a call gets besides the arguments that it must have: an axis, and every flag.
OPTIONS = ("", "axis=0", "axis=1", "axis=0 flags")
#: Seconds of its processor that a child gets.
PATIENCE = 2.0
#: Seconds after which a child that waits hangs.
HANGS = 60


class Call(NamedTuple):
    """A call that a child makes."""

    name: str
    dtype: str
    form: str
    backward: bool
    options: str = ""

    def __str__(self) -> str:
        words = (self.name, self.dtype, self.form, self.options, "backward" * self.backward)
        return " ".join(filter(None, words))


def shape(form: str, elements: int) -> tuple[int, ...]:
    """The shape of so many elements in this form."""
    return {
        "row": (elements,),
        "rows": (elements // 16, 16),
        "columns": (16, elements // 16),
        "squares": (elements // 64, 8, 8),
        "empty": (2**59, 0),
    }[form]


def operand(dtype: str, form: str, elements: int) -> np.ndarray:
    """An array that functions of every kind can do something with."""
    if form == "empty":
        return np.zeros(shape(form, 0), dtype)
    values = (np.arange(elements, dtype=np.int64) * 7919 % 13 + 1).astype(np.int8)
    return values.astype(dtype).reshape(shape(form, elements))


def argument(row: dict[str, Any], x: fg.Tensor) -> Any:
    """What stands for a parameter."""
    kind, name = row["kind"], row["name"]
    match kind:
        case "Tensor" | "Operand":
            return x
        case "Condition":
            return x.bool()
        case "Tensors" | "Variadic" | "Nested":
            return [x, x]
        case "Int":
            return 1 if name in {"n", "k", "axis2", "size", "chunks", "num_groups"} else 0
        case "Ints":
            return tuple(x.shape) if name == "shape" else 0 if "axis" in name else (1,)
        case "Index":
            return np.arange(len(x) - 1, -1, -1)
        case "DType":
            return "float64"
        case "Float":
            return 0.5
        case "Str":
            return "ij,ij->ij" if name == "equation" else "constant"
    return None


def rows(names: list[str] | None = None) -> dict[str, dict[str, Any]]:
    """The operations, by name."""
    return {row["name"]: row for row in fg._core._registry() if not names or row["name"] in names}


def calls(dtypes: tuple[str, ...], forms: tuple[str, ...], names: list[str]) -> Iterator[Call]:
    """Every call; where there is a derivative, once more with its backward."""
    for dtype in dtypes:
        for form in forms:
            for name, row in rows(names).items():
                for options in OPTIONS if form == "empty" else OPTIONS[:1]:
                    yield Call(name, dtype, form, False, options)
                    if row["differentiable"] and dtype in {"float16", "float32"}:
                        yield Call(name, dtype, form, True, options)


def named(row: dict[str, Any], options: str) -> dict[str, Any]:
    """The optional arguments of a call, as far as the operation has them."""
    found: dict[str, Any] = {}
    for param in row["params"]:
        if param["name"] in {"axis", "axes"} and "axis" in options:
            found[param["name"]] = int("axis=1" in options)
        elif param["kind"] == "Bool" and "flags" in options:
            found[param["name"]] = True
    return found


def make(call: Call, row: dict[str, Any], x: fg.Tensor) -> None:
    """Makes a call, whatever it raises: that no exception is one of memory is fine, too."""
    needed = [p for p in row["params"] if p["default"] is None and not p["optional"]]
    options = named(row, call.options)
    given = [argument(p, x) for p in needed if p["name"] not in options]
    function = getattr(fg._core, call.name, None) or getattr(fg, call.name)
    x.requires_grad = call.backward
    result = function(*given, **options)
    if call.backward:
        first = result[0] if isinstance(result, tuple | list) else result
        first.backward(first.detach())


def child(call: Call, row: dict[str, Any], x: fg.Tensor, room: int) -> None:
    """Makes a call with little memory and leaves."""
    faulthandler.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    signal.alarm(HANGS)
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + room, mapped + room))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    code = 0
    try:
        make(call, row, x)
    except MemoryError:
        code = 2
    except fg.errors.InternalError:
        code = 3
    except Exception:
        code = 1
    except BaseException:
        code = 3
    os._exit(code)


def end_of(call: Call, row: dict[str, Any], x: fg.Tensor, room: int) -> tuple[int, str]:
    """How a child ends: its wait status, and what it wrote on standard error."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(writing, 2)
        child(call, row, x, room)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    return os.waitpid(pid, 0)[1], said


def swept(
    dtypes: tuple[str, ...] = DTYPES,
    forms: tuple[str, ...] = FORMS,
    names: list[str] | None = None,
    *,
    elements: int = ELEMENTS,
    room: int = ROOM,
    counts: dict[str, int] | None = None,
) -> list[str]:
    """What was wrong, one line each; `counts` gets how the calls ended."""
    warnings.simplefilter("ignore")
    counts = {} if counts is None else counts
    faults, before, known = [], fg.get_num_threads(), rows(names)
    fg.set_num_threads(1)
    for dtype in dtypes:
        for form in forms:
            x = fg.from_numpy(operand(dtype, form, elements))
            gc.collect()
            for call in calls((dtype,), (form,), list(known)):
                status, said = end_of(call, known[call.name], x, room)
                end = {0: "results", 1: "errors", 2: "out of memory"}.get(status >> 8, "panics")
                if status & 127:
                    end = signal.Signals(status & 127).name
                counts[end] = counts.get(end, 0) + 1
                if end not in {"results", "errors", "out of memory", "SIGVTALRM"}:
                    faults.append(f"{call}: {end} {said.strip()[:300]}")
    fg.set_num_threads(before)
    return faults


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", type=int, default=ROOM)
    parser.add_argument("--elements", type=int, default=ELEMENTS)
    parser.add_argument("--dtypes", nargs="*", default=DTYPES)
    parser.add_argument("--forms", nargs="*", default=FORMS)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    start, count = time.monotonic(), 0
    for dtype in given.dtypes:
        for form in given.forms:
            counts: dict[str, int] = {}
            faults = swept(
                (dtype,),
                (form,),
                given.names,
                elements=given.elements,
                room=given.room,
                counts=counts,
            )
            print(*faults, sep="\n", end="\n" * bool(faults))
            count += len(faults)
            print(f"{dtype} {form}: {counts}, {time.monotonic() - start:.0f} s", flush=True)
    sys.exit(count != 0)


if __name__ == "__main__":
    main()
