"""Functions that convert to arrays: `array`, `asarray`, `require`, `fromiter`.

Invariant: without a tensor among the arguments the call is NumPy's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from ferrograd._core import Tensor, _is_recording_program, tensor
from ferrograd._dispatch.ufuncs import check_ignored_keywords
from ferrograd._tensor import creation
from ferrograd._tensor.array import copy_with_layout, sequence_to_list
from ferrograd.errors import ArgumentError
from ferrograd.numpy._tensor_arguments import holds_tensor, to_tensor

#: For NumPy's functions: their memory order and the minimum number of axes of the result.
_LAYOUTS: dict[str, tuple[str | None, int]] = {
    "asarray": (None, 0),
    "asanyarray": (None, 0),
    "asarray_chkfinite": (None, 0),
    "ascontiguousarray": ("C", 1),
    "asfortranarray": ("F", 1),
}


def get_array_functions() -> dict[str, Callable[..., Any]]:
    """The functions of this module by name."""
    own = (array, copy, full, require, fromiter, isscalar)
    names = {f.__name__: functools.wraps(getattr(np, f.__name__))(f) for f in own}
    return names | {
        name: _make_asarray_function(getattr(np, name), *how) for name, how in _LAYOUTS.items()
    }


def array(object: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """An array; from tensors, also deep in lists, a tensor that keeps their gradients."""
    given = sequence_to_list(object)
    if not holds_tensor(given):
        return np.array(object, dtype=dtype, **kwargs)
    how = kwargs.pop("copy", True), kwargs.pop("order", "K"), kwargs.pop("ndmin", 0)
    return _make_tensor("array", given, dtype, *how, kwargs)


def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """A new array, also of a value."""
    if not holds_tensor(a):
        return np.copy(a, order, subok)  # type: ignore[call-overload]
    return _make_tensor("copy", a, None, True, order, 0, {})


def _make_asarray_function(
    theirs: Callable[..., Any], order: str | None, ndmin: int
) -> Callable[..., Any]:
    op, takes_order = theirs.__name__, order is None
    finite = op == "asarray_chkfinite"

    def as_array(a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        given = sequence_to_list(a)
        if not holds_tensor(given):
            return theirs(a, dtype, *args, **kwargs)
        asked = args[0] if args and takes_order else kwargs.pop("order", None)
        how = kwargs.pop("copy", None), asked if takes_order else order, ndmin
        made = _make_tensor(op, given, dtype, *how, kwargs)
        if finite and not _is_recording_program() and not np.isfinite(made.detach()).all():
            raise ValueError("asarray_chkfinite: the array holds infs or NaNs; fill them first")
        return made

    return functools.wraps(theirs)(as_array)


def _make_tensor(
    op: str, given: Any, dtype: Any, copy: Any, order: Any, ndmin: int, rest: dict[str, Any]
) -> Tensor:
    check_ignored_keywords(op, rest)
    fresh = not isinstance(given, Tensor)
    made = tensor(given) if fresh else given
    return copy_with_layout(f"numpy.{op}", made, dtype, copy, order, ndmin, fresh=fresh)


def require(a: Any, dtype: Any = None, requirements: Any = None, **kwargs: Any) -> Any:
    """An array that meets the requirements; a tensor is always writable and aligned."""
    if not holds_tensor(a):
        return np.require(a, dtype, requirements, **kwargs)
    words = [str(word).upper() for word in (requirements or ())]
    orders = {"C" if word[0] == "C" else "F" for word in words if word[0] in "CF"}
    if len(orders) > 1:
        raise ArgumentError(f"numpy.require: requirements={requirements!r}; ask for one order")
    order = orders.pop() if orders else None
    owned = any(word[0] == "O" for word in words)
    copies = owned and isinstance(a, Tensor) and a._is_view()
    return _make_tensor("require", a, dtype, copies or None, order, 0, kwargs)


def fromiter(iter: Any, dtype: Any, count: int = -1, **kwargs: Any) -> Any:
    """An array of the elements of an iterable, which may be tensors without axes."""
    items = list(iter if count < 0 else islice(iter, count))
    if not holds_tensor(items):
        return np.fromiter(items, dtype, count, **kwargs)
    if len(items) < count:
        raise ArgumentError(
            f"numpy.fromiter: {len(items)} elements and count={count}; give an iterable of more"
        )
    return _make_tensor("fromiter", items, dtype, None, None, 0, kwargs)


def isscalar(element: Any) -> bool:
    """Whether it is a number, as elements of arrays and sums are."""
    return element._is_value() if isinstance(element, Tensor) else np.isscalar(element)


def full(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """One value, or values that are broadcast, in an array."""
    if not holds_tensor([shape, fill_value]):
        return np.full(shape, fill_value, dtype, **kwargs)
    return creation.full(shape, to_tensor(fill_value), dtype=dtype)
