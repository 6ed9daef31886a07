"""Sample points along an axis."""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.numpy._tensor_arguments import to_tensor
from ferrograd.scipy._conversions import as_floats, detach, to_float_array


def check_samples(name: str, x: Any, y: Any, axis: int, least: int = 2) -> tuple[Any, Any]:
    """The nodes as an increasing vector of floats, and the values with their axis first."""
    x, y = as_floats(x), as_floats(y)
    if np.ndim(x) != 1 or np.ndim(y) == 0 or np.shape(y)[axis] != np.shape(x)[0]:
        raise ShapeError(
            f"{name}: x has shape {np.shape(x)} and y {np.shape(y)} along axis {axis}; give a"
            " vector x and as many values of y along the axis"
        )
    if np.shape(x)[0] < least:
        raise ShapeError(f"{name}: there are {np.shape(x)[0]} points; give at least {least}")
    check_increasing(name, x)
    return x, np.moveaxis(y, axis, 0)


def check_increasing(name: str, x: Any) -> None:
    """Raises if nodes are not increasing."""
    known = to_float_array(x)
    if not numpy.all(numpy.diff(known) > 0):
        k = int(numpy.flatnonzero(~(numpy.diff(known) > 0))[0])
        raise ArgumentError(
            f"{name}: x[{k}] is {known[k]} and x[{k + 1}] is {known[k + 1]}; sort x, and give each"
            " place once"
        )


def interval(knots: Any, at: Any) -> Any:
    """For each point, the index of its interval: the last knot that is not above it."""
    found = np.searchsorted(detach(knots), detach(at), side="right") - 1
    return np.clip(found, 0, max(np.shape(knots)[0] - 2, 0))


def take_elements(values: Any, index: Any) -> Any:
    """The elements at indices; a tensor if the array or the indices are one."""
    parts = index if isinstance(index, tuple) else (index,)
    return to_tensor(values)[index] if any(isinstance(p, Tensor) for p in parts) else values[index]


def append_axes(value: Any, like: Any) -> Any:
    """A vector with additional axes of size 1, to broadcast against an array with more axes."""
    return np.reshape(value, (*np.shape(value), *(1,) * (np.ndim(like) - np.ndim(value))))
