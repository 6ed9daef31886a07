"""Methods of NumPy arrays that write to the array or iterate over it, for tensors.

Invariant: methods that write are recorded and return None, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError, ArgumentTypeError, ShapeError


def sort(self: Tensor, axis: Any = -1, kind: Any = None, order: Any = None, **options: Any) -> None:
    """Sorts along an axis, in place; `fg.sort(x)` is a sorted copy.

    >>> import ferrograd as fg
    >>> y = fg.tensor([3.0, 1.0, 2.0])
    >>> y.sort()
    >>> y.tolist()
    [1.0, 2.0, 3.0]
    """
    _check_sort_arguments("sort", axis, kind, order)
    self[...] = _core.sort(self, axis, **options)


def partition(self: Tensor, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> None:
    """Moves elements so that those at `kth` are in sorted position; `fg.partition` copies.

    >>> import ferrograd as fg
    >>> y = fg.tensor([3.0, 1.0, 2.0])
    >>> y.partition(1)
    >>> y.tolist()
    [1.0, 2.0, 3.0]
    """
    _check_sort_arguments("partition", axis, kind, order)
    self[...] = _core.partition(self, kth, axis)


def _check_sort_arguments(name: str, axis: Any, kind: Any, order: Any) -> None:
    """Refuses unsupported sort options, and axes that sorting would drop."""
    if order is not None:
        raise ArgumentError(
            f"{name}: order={order!r} names fields, which tensors lack; leave it out"
        )
    if not (kind is None or isinstance(kind, str)):
        raise ArgumentTypeError(
            f"{name}: kind is {kind!r:.80}; give the name of an algorithm, or descending= by name"
        )
    if axis is None:
        raise ArgumentTypeError(
            f"{name}: axis=None flattens, and the method keeps the shape of its tensor; write"
            f" fg.{name}(x, …, axis=None)"
        )


def fill(self: Tensor, value: Any) -> None:
    """Sets every element to one value.

    >>> import ferrograd as fg
    >>> y = fg.zeros(2)
    >>> y.fill(1.5)
    >>> y.tolist()
    [1.5, 1.5]
    """
    if np.ndim(value):
        raise ShapeError(
            f"fill: the value has shape {tuple(np.shape(value))}; give one number, or write"
            " x[...] = values"
        )
    self[...] = value


def put(self: Tensor, indices: Any, values: Any, mode: Any = "raise") -> None:
    """Writes values, one after the other, to positions of the flattened tensor.

    >>> import ferrograd as fg
    >>> y = fg.zeros(3)
    >>> y.put([0, -1], [1.0, 2.0])
    >>> y.tolist()
    [1.0, 0.0, 2.0]
    """
    np.put(cast(Any, self), indices, values, mode)


def __reversed__(self: Tensor) -> Iterator[Tensor]:  # noqa: N807
    """Iterates over elements, or rows, from the last to the first."""
    return (self[i] for i in range(len(self) - 1, -1, -1))
