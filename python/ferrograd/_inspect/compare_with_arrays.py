"""Compares a function on plain arrays with the same function on tensors.

Invariant: the function gets copies, and the states of the package's generators are restored. A
function that does not accept arrays, or that returns other values each time, is not compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd._core import Tensor
from ferrograd._tensor.generator import SavedGeneratorStates
from ferrograd._tensor.pytree import Tree, flatten

#: The relative tolerance of values, by the size of the float.
_RELATIVE_TOLERANCES = {2: 0.05, 4: 1e-3, 8: 1e-6}

#: Advice on possible causes.
CAUSES = (
    "the function computes something else on tensors: look where it changes what is still used,"
    " asks for a type, or converts with float() or np.asarray"
)

Result = tuple[list[Any], Tree]


def describe_difference(
    on_tensors: Callable[[], Any], function: Callable[..., Any], args: Any
) -> str | None:
    """A description of the difference between the values on arrays and on tensors, or None.

    `args` are nested values with tensors or arrays in them; tensors become arrays.
    """
    states = SavedGeneratorStates()

    def call_with_states(call: Callable[[], Any]) -> tuple[list[Any], Tree]:
        states.restore()
        leaves, tree = flatten(call())
        return [_to_array(leaf) for leaf in leaves], tree

    try:
        expected = call_with_states(on_tensors)
        found = _run_on_arrays(call_with_states, function, args)
        said = None if found is None else _describe_first_difference(expected, found)
        if said is None or found is None:
            return None
        repeated = _run_on_arrays(call_with_states, function, args)
        steady = repeated is not None and _are_equal(found, repeated)
        return said if steady and _are_equal(expected, call_with_states(on_tensors)) else None
    finally:
        states.restore()


def _run_on_arrays(
    call_with_states: Callable[[Callable[[], Any]], Result], function: Callable[..., Any], args: Any
) -> Result | None:
    """The result on copies; None where the function does not take arrays."""
    leaves, tree = flatten(args)
    given = tree.unflatten([_copy_argument(leaf) for leaf in leaves])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call_with_states(lambda: function(*given))
        except Exception:
            return None


def _copy_argument(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        scalar, leaf = leaf._is_value(), leaf.detach().numpy(writable=False)
        leaf = leaf[()] if scalar else leaf
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def _to_array(leaf: Any) -> Any:
    """The values of a numeric result as an array; None for other results."""
    if isinstance(leaf, Tensor):
        return leaf.detach().numpy(writable=False).copy()
    if isinstance(leaf, np.ndarray | np.generic | bool | int | float | complex):
        made = np.array(leaf)
        return made if made.dtype.kind in "biufc" else None
    return None


def _are_equal(one: Result, other: Result) -> bool:
    return len(one[0]) == len(other[0]) and all(
        (a is None and b is None)
        or (a is not None and b is not None and np.array_equal(a, b, equal_nan=True))
        for a, b in zip(one[0], other[0], strict=True)
    )


def _describe_first_difference(expected: Result, found: Result) -> str | None:
    """Both values where they are not the same up to rounding."""
    if len(expected[0]) != len(found[0]):
        return f"it returns {expected[1]} on tensors and {found[1]} on arrays"
    for path, t, a in zip(expected[1].paths(), expected[0], found[0], strict=True):
        if t is None or a is None:
            continue
        if t.shape != a.shape:
            return f"{_format_path(path)} has shape {t.shape} on tensors and {a.shape} on arrays"
        apart = np.argwhere(~_is_close(t, a))
        if len(apart):
            at = tuple(map(int, apart[0]))
            where = _format_path(path + (f"[{', '.join(map(str, at))}]" if at else ""))
            return f"{where} is {t[at].item()!r} on tensors and {a[at].item()!r} on arrays"
    return None


def _format_path(path: str) -> str:
    return f"result{path}" if path else "the result"


def _is_close(one: Any, other: Any) -> Any:
    """A mask of equality up to rounding of the less precise dtype."""
    with np.errstate(all="ignore"):
        same = (one == other) | ((one != one) & (other != other))
        floats = [x.real.dtype for x in (one, other) if x.dtype.kind in "fc"]
        if not floats or not one.size:
            return same
        coarser = min(floats, key=lambda dtype: dtype.itemsize)
        one, other = one.astype(complex), other.astype(complex)
        size = np.maximum(abs(one), abs(other))
        largest = np.max(size, initial=0.0, where=np.isfinite(size))
        # If large elements cancel, the rest is only their rounding error.
        lost = 4096 * np.finfo(coarser).eps * largest
        return same | (
            abs(one - other) <= _RELATIVE_TOLERANCES.get(coarser.itemsize, 1e-6) * size + lost
        )
