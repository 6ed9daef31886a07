"""Which compiled function a line of Python called, and what to write in its place.

Owns: the reading of a call from the positions in its code, and the remedies for functions of
NumPy's that make arrays. Never evaluates what a program wrote: names are looked up where no code of
the program runs. Invariant: without positions, or with an unknown name, nothing is said.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from ferrograd._dispatch import table
from ferrograd._dispatch.operations import OPERATIONS

_MEANT = "or use detach() or no_grad() to mean it"
_SHIFTED = "draw without it, as in loc + scale * {call}(size=shape)"
_SCALED = "draw without it, as in scale * {call}(size=shape)"
_PLACES = "draw places and index with them, as in t[np.random.permutation(len(t))]"

#: By the name of a function of NumPy's random numbers.
_RANDOM = {
    **dict.fromkeys(("normal", "laplace", "logistic", "gumbel"), _SHIFTED),
    **dict.fromkeys(("exponential", "rayleigh"), _SCALED),
    **dict.fromkeys(("permutation", "permuted", "shuffle", "choice"), _PLACES),
    "uniform": "draw without it, as in low + (high - low) * {call}(size=shape)",
    "multivariate_normal": "draw mean + factor @ rng.normal(size=n), with np.linalg.cholesky",
}
_DRAWN = "take rvs of ferrograd.scipy.stats, whose draws move with their parameters"

#: What to write in place of an iterator whose elements no graph sees.
NDITER = (
    "iterate over t.reshape(-1), or over ferrograd.numpy.ndenumerate(t), which gives indices, too,"
    " and write t[index] = value"
)

#: By the name of another function of NumPy's.
_OTHERS = {
    "numpy.ndarray.dot": "write A @ t or np.dot(A, t)",
    "numpy.arange": "write start + step * np.arange(count), whose count is a number",
    "numpy.nditer": NDITER,
}

#: Instructions that put the value of a name on the stack, and those that look up an attribute.
_ROOTS = ("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLASSDEREF")
_STEPS = ("LOAD_ATTR", "LOAD_METHOD")

#: Objects whose attributes are looked up without running code of a program.
_PLAIN = (np.ndarray, np.random.Generator, np.random.RandomState)


def called_here(frame: FrameType) -> str:
    """The full name of the function that the frame is calling, "" where it cannot be known."""
    steps = list(_steps(frame))
    if not steps:
        return ""
    value = _looked_up(frame, steps) if steps[0][0] else None
    if value is None:
        # Of a result of an expression; other functions of this name take tensors or are named.
        return "numpy.ndarray.dot" if steps[-1][1] == "dot" else ""
    return _named(value)


def remedy(called: str) -> str:
    """What to write in place of a function of NumPy's, "" where that is not known."""
    home, _, name = called.rpartition(".")
    found = _OTHERS.get(called, "")
    if home in ("numpy.random", "numpy.random.Generator"):
        call = f"{'np.random' if home == 'numpy.random' else 'rng'}.{name}"
        found = _RANDOM.get(name, _DRAWN).format(call=call)
    elif home == "numpy.ndarray" and not found and _takes_tensors(name):
        found = f"write np.{name}(A, …)"
    return f"{found}, {_MEANT}" if found else ""


def _takes_tensors(name: str) -> bool:
    function = getattr(np, name, None)
    return OPERATIONS.get(function) is not None or table.composition(function) is not None


def _steps(frame: FrameType) -> Iterator[tuple[bool, str]]:
    """The names of the called expression in order, each with whether it is a variable.

    `a.b.c(…)` is a call whose text begins where those of `a`, `a.b` and `a.b.c` do, and ends last
    of them; that of a call of its result, `a.b.c(…).d()`, ends later.
    """
    code = frame.f_code
    places = list(code.co_positions())
    call = places[frame.f_lasti // 2]
    if None in call or not dis.opname[code.co_code[frame.f_lasti]].startswith("CALL"):
        return
    found = []
    for step in dis.get_instructions(code):
        line, last_line, column, last_column = places[step.offset // 2]
        if (line, column) != (call[0], call[2]) or not isinstance(step.argval, str):
            continue
        if None in (last_line, last_column) or (last_line, last_column) > (call[1], call[3]):
            continue
        is_root = step.opname.startswith(_ROOTS)
        if is_root or step.opname.startswith(_STEPS):
            found.append(((last_line, last_column), is_root, step.argval))
    yield from ((is_root, name) for _, is_root, name in sorted(found, key=lambda each: each[0]))


def _looked_up(frame: FrameType, steps: list[tuple[bool, str]]) -> Any:
    """The value of the names, None where code would run to find it."""
    (_, root), *rest = steps
    homes = (frame.f_locals, frame.f_globals, vars(builtins))
    value = next((home[root] for home in homes if root in home), None)
    for _, name in rest:
        if isinstance(value, _PLAIN):
            value = getattr(value, name, None)
        elif isinstance(value, ModuleType) or not isinstance(value, type):
            value = getattr(value, "__dict__", {}).get(name)
        else:
            value = None
    return value


def _named(function: Any) -> str:
    """The public name of a compiled function of NumPy's."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if isinstance(owner, np.ndarray):
        return f"numpy.ndarray.{name}"
    if isinstance(owner, np.random.Generator):
        return f"numpy.random.Generator.{name}"
    if isinstance(owner, np.random.RandomState):
        return f"numpy.random.{name}"
    home = getattr(function, "__module__", None)
    return f"numpy.{name}" if home == "numpy" and name else ""
