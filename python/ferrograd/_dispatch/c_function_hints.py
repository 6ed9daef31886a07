"""Finds the C function that a line of Python called, and what to write instead.

Invariant: without the source there is no hint.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import sys
from itertools import islice
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from ferrograd._dispatch import function_table
from ferrograd._dispatch.core_operations import OPERATIONS

_DETACH_REMEDY = "or use detach() or no_grad() to mean it"
_LOCATION_SCALE_REMEDY = "draw without it, as in loc + scale * {call}(size=shape)"
_SCALE_REMEDY = "draw without it, as in scale * {call}(size=shape)"
_INDEX_REMEDY = "draw places and index with them, as in t[np.random.permutation(len(t))]"

#: By the name of a function of NumPy's random numbers.
_RANDOM_REMEDIES = {
    **dict.fromkeys(("normal", "laplace", "logistic", "gumbel"), _LOCATION_SCALE_REMEDY),
    **dict.fromkeys(("exponential", "rayleigh"), _SCALE_REMEDY),
    **dict.fromkeys(("permutation", "permuted", "shuffle", "choice"), _INDEX_REMEDY),
    "uniform": "draw without it, as in low + (high - low) * {call}(size=shape)",
    "multivariate_normal": "draw mean + factor @ rng.normal(size=n), with np.linalg.cholesky",
}
_DISTRIBUTION_REMEDY = "take rvs of ferrograd.scipy.stats, whose draws move with their parameters"

#: What to write instead of an iterator whose elements are not recorded.
NDITER_REMEDY = (
    "iterate over t.reshape(-1), or over ferrograd.numpy.ndenumerate(t), which gives indices, too,"
    " and write t[index] = value"
)

#: By the name of another function of NumPy's.
_NUMPY_REMEDIES = {
    "numpy.ndarray.dot": "write A @ t or np.dot(A, t)",
    "numpy.arange": "write start + step * np.arange(count), whose count is a number",
    "numpy.nditer": NDITER_REMEDY,
}

#: Types whose attributes can be read without running code of the program.
_SAFE_TYPES = (np.ndarray, np.random.Generator, np.random.RandomState)

#: The longest piece of a line in an error.
_MAX_SOURCE_LENGTH = 60

#: Libraries with functions that are compiled.
COMPILED_LIBRARIES = {"numpy", "scipy", "matplotlib"}


def find_current_call(frame: FrameType) -> str:
    """The current call of the frame: the full name of a function, or the operation as written.

    "" if it is not known, or not a C function of a library.
    """
    text = _get_source(frame)
    try:
        parsed = ast.parse(text).body
    except SyntaxError:
        return ""
    if len(parsed) != 1:
        return ""
    node = parsed[0].value if isinstance(parsed[0], ast.Expr) else parsed[0]
    if isinstance(node, ast.BinOp | ast.Compare | ast.AugAssign):
        return _shorten_source(text)
    if not isinstance(node, ast.Call):
        return ""
    names = _get_dotted_names(node.func)
    value = _look_up_names(frame, names) if names else None
    if value is not None:
        return _get_public_name(value)
    # Of a result of an expression; other functions of this name take tensors or are named.
    is_dot = isinstance(node.func, ast.Attribute) and node.func.attr == "dot"
    return "numpy.ndarray.dot" if is_dot else _shorten_source(ast.unparse(node.func))


def get_remedy(called: str) -> str:
    """What to write instead of a NumPy function; "" if not known."""
    home, _, name = called.rpartition(".")
    found = _NUMPY_REMEDIES.get(called, "")
    if home in ("numpy.random", "numpy.random.Generator"):
        call = f"{'np.random' if home == 'numpy.random' else 'rng'}.{name}"
        found = _RANDOM_REMEDIES.get(name, _DISTRIBUTION_REMEDY).format(call=call)
    elif home == "numpy.ndarray" and not found and _has_operation(name):
        found = f"write np.{name}(A, …)"
    return f"{found}, {_DETACH_REMEDY}" if found else ""


def _has_operation(name: str) -> bool:
    function = getattr(np, name, None)
    return (
        OPERATIONS.get(function) is not None
        or function_table.find_composition(function) is not None
    )


def _get_source(frame: FrameType) -> str:
    """The source of the current expression of the frame; "" if there is none."""
    code = frame.f_code
    places = islice(code.co_positions(), frame.f_lasti // 2, None)
    line, last, start, end = next(places, (None, None, None, None))
    if line is None or last is None or start is None or end is None:
        return ""
    lines = linecache.getlines(code.co_filename, frame.f_globals)[line - 1 : last]
    if len(lines) != last - line + 1:
        return ""
    # Columns count bytes. The end is cut first: it may be in the line where the start is.
    rows = [row.encode() for row in lines]
    rows[-1] = rows[-1][:end]
    rows[0] = rows[0][start:]
    return b"".join(rows).decode(errors="replace")


def _shorten_source(text: str) -> str:
    whole = " ".join(text.split())
    return whole if len(whole) <= _MAX_SOURCE_LENGTH else ""


def _get_dotted_names(node: ast.expr) -> list[str]:
    """The names of `a.b.c` in order, none of another expression."""
    if isinstance(node, ast.Name):
        return [node.id]
    before = _get_dotted_names(node.value) if isinstance(node, ast.Attribute) else []
    return [*before, node.attr] if before and isinstance(node, ast.Attribute) else []


def _look_up_names(frame: FrameType, names: list[str]) -> Any:
    """The value of a dotted name; None if the lookup would run code of the program."""
    root, *rest = names
    homes = (frame.f_locals, frame.f_globals, vars(builtins))
    value = next((home[root] for home in homes if root in home), None)
    for name in rest:
        if isinstance(value, _SAFE_TYPES):
            value = getattr(value, name, None)
        elif isinstance(value, ModuleType) or not isinstance(value, type):
            value = getattr(value, "__dict__", {}).get(name)
        else:
            value = None
    return value


def _get_public_name(function: Any) -> str:
    """The public name of a compiled function of a library."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if isinstance(owner, np.ndarray):
        return f"numpy.ndarray.{name}"
    if isinstance(owner, np.random.Generator):
        return f"numpy.random.Generator.{name}"
    if isinstance(owner, np.random.RandomState):
        return f"numpy.random.{name}"
    home = str(getattr(function, "__module__", None))
    if home.split(".")[0] not in COMPILED_LIBRARIES:
        return ""
    paths = find_public_modules(home)
    path = next((p for p in paths if vars(sys.modules[p]).get(name) is function), "")
    return f"{path}.{name}" if path else ""


def find_public_modules(module: str) -> list[str]:
    """The public modules among a module and its parents, the outermost first."""
    parts = module.split(".")
    paths = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    return [path for path in paths if path in sys.modules and "._" not in path]
