"""Where elements are, in which order, and which are distinct.

Invariant: elements that were chosen have the history of those they were chosen from.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._dispatch.detach import detach_tensors
from ferrograd.errors import ArgumentError


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first largest element, along an axis or over all."""
    return _core.argmax(x, axis, keepdims=keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first smallest element, along an axis or over all."""
    return _core.argmin(x, axis, keepdims=keepdims)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that sort along an axis; equal elements always keep their order."""
    return _core.argsort(x, axis, descending)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis."""
    return _core.sort(x, axis, descending)


def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """The positions of elements that are not zero, a vector for each axis."""
    x = _core.asarray(x)
    if x.ndim == 0:
        raise ArgumentError("nonzero: the array has no dimensions; reshape it to (1,)")
    made: tuple[Tensor, ...] = _core.nonzero(x)
    return made


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Tensor:
    """Where to insert the values of `x2` in the ordered vector `x1`."""
    return _core.searchsorted(x1, x2, side, sorter)


def where(condition: Any, x1: Any, x2: Any, /) -> Tensor:
    """`x1` where the condition holds, `x2` elsewhere; all three broadcast."""
    made: Tensor = _core.where(condition, x1, x2)
    return made


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Tensor:
    """The elements at indices along an axis, which may be left out for a vector.

    >>> import ferrograd.array_api as xp
    >>> xp.take(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), xp.asarray([1]), axis=1).tolist()
    [[2.0], [4.0]]
    """
    x = _core.asarray(x)
    if axis is None:
        if x.ndim != 1:
            raise ArgumentError(
                f"take: axis is left out and the array has {x.ndim} dimensions; name the axis"
            )
        axis = 0
    return _core.take(x, indices, axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Tensor:
    """The elements at the indices along an axis, which broadcast with the other axes."""
    return _core.take_along_axis(x, indices, axis)


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Any, /) -> UniqueAll:
    """The distinct elements with first positions, inverse and counts; no NaN equals another.

    >>> import ferrograd.array_api as xp
    >>> xp.unique_all(xp.asarray([3.0, 1.0, 3.0])).counts.tolist()
    [1, 2]
    """
    x = _core.asarray(x)
    found = np.unique_all(detach_tensors(x))
    return UniqueAll(_core.take(x.reshape(-1), found.indices, 0), *map(_core.asarray, found[1:]))


def unique_counts(x: Any, /) -> UniqueCounts:
    """The distinct elements and how often each occurs."""
    every = unique_all(x)
    return UniqueCounts(every.values, every.counts)


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The distinct elements, and for each element the number of its own."""
    every = unique_all(x)
    return UniqueInverse(every.values, every.inverse_indices)


def unique_values(x: Any, /) -> Tensor:
    """The distinct elements, in rising order."""
    return unique_all(x).values
