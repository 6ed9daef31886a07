"""`ufunc.at` on tensors: `np.add.at(A, index, t)`, in which an element may occur several times.

Invariant: an element that occurs several times is changed once for each of them, in their order,
and results are converted as NumPy does it: floats that go into integers are truncated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._dispatch.detach import detach_tensors
from ferrograd.errors import GraphCutError

_BASIC_INDEX_TYPES = (int, np.integer, slice, type(None), type(...))


def at(ufunc: np.ufunc, ours: Callable[..., Any], target: Any, index: Any, *values: Any) -> None:
    """Writes `ufunc(target[index], *values)` for each occurrence of an element in `index`."""
    name = f"numpy.{ufunc.__name__}.at"
    if not isinstance(target, Tensor):
        if any(_is_differentiated(value) for value in values):
            raise GraphCutError(
                f"{name}: an array of NumPy's cannot hold a tensor that requires grad; make the"
                " array with ferrograd.numpy (import ferrograd.numpy as np), or pass t.detach();"
                " see docs/when_it_goes_wrong.md"
            )
        ufunc.at(target, *detach_tensors((index, *values)))
        return
    index = detach_tensors(index)
    if all(
        isinstance(part, _BASIC_INDEX_TYPES)
        for part in (index if type(index) is tuple else (index,))
    ):
        target[index] = ours(target[index], *values)
        return
    places = _get_flat_indices(index, tuple(target.shape))
    flat = places.reshape(-1)
    rows = [_core.broadcast_to(_core.asarray(v), places.shape).reshape(-1) for v in values]
    if ufunc in (np.add, np.subtract) and _can_cast_sum(target, rows[0]):
        _add_all_occurrences(target, flat, rows[0] if ufunc is np.add else -rows[0])
        return
    for chosen in _group_by_occurrence(flat):
        where = np.unravel_index(flat[chosen], tuple(target.shape))
        target[where] = ours(target[where], *(row[chosen] for row in rows))


def _get_flat_indices(index: Any, shape: tuple[int, ...]) -> Any:
    """The positions in C order of the elements of an array of this shape that an index chooses."""
    parts = [np.asarray(part) for part in (index if type(index) is tuple else (index,))]
    if len(parts) == len(shape) and all(part.dtype.kind in "iu" for part in parts):
        # Without an array of all positions: the time does not depend on the size of the target.
        sizes = zip(parts, shape, strict=True)
        inside = [np.where(part < 0, part + size, part) for part, size in sizes]
        if all(((part >= 0) & (part < n)).all() for part, n in zip(inside, shape, strict=True)):
            return np.ravel_multi_index(tuple(np.broadcast_arrays(*inside)), shape)
    return np.arange(math.prod(shape)).reshape(shape)[index]


def _is_differentiated(value: Any) -> bool:
    """Whether a value is being differentiated, or computed by a compiled function."""
    if not isinstance(value, Tensor):
        return False
    return (is_grad_enabled() and value.requires_grad) or _core._is_computed_anew(value)


def _can_cast_sum(target: Tensor, values: Tensor) -> bool:
    """Whether a sum may be converted at its end: integers truncate after each addition."""
    return np.can_cast(np.result_type(target.dtype, values.dtype), target.dtype, "same_kind")


def _add_all_occurrences(target: Tensor, places: Any, values: Tensor) -> None:
    """Adds each value at its index, all occurrences at once."""
    own, number = np.unique(places, return_inverse=True)
    where = np.unravel_index(own, tuple(target.shape))
    before = target[where]
    dtype = np.result_type(before.dtype, values.dtype)
    target[where] = before.astype(dtype).index_add(0, _core.asarray(number), values.astype(dtype))


def _group_by_occurrence(places: Any) -> list[Any]:
    """The positions of the first occurrences of all indices, then of the second ones, and so on."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    lengths = np.diff(np.append(first, len(ordered)))
    occurrence = np.arange(len(ordered)) - np.repeat(first, lengths)
    return [order[occurrence == k] for k in range(int(lengths.max(initial=0)))]
