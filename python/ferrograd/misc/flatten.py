"""Nested values as one vector and back.

Owns: `flatten` and `flatten_func`. Differentiable, because it is made of differentiable functions.
Invariant: `unflatten(flatten(x)[0])` has the structure, shapes and dtypes of `x`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ShapeError
from ferrograd.transforms._tree import flatten as _flatten


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All elements of a nested value as a vector, and the function that makes such a value of one.

    >>> from ferrograd.misc.flatten import flatten
    >>> vector, unflatten = flatten({"w": [1.0, 2.0], "b": 3.0})
    >>> unflatten(2 * vector)
    {'w': [2.0, 4.0], 'b': 6.0}
    """
    leaves: list[Any] = []
    tree = _flatten(value, leaves)
    shapes = [np.shape(leaf) for leaf in leaves]
    dtypes = [getattr(leaf, "dtype", None) for leaf in leaves]
    sizes = [int(numpy.prod(shape, dtype=int)) for shape in shapes]
    ends = numpy.cumsum([0, *sizes])

    def unflatten(vector: Any) -> Any:
        if np.shape(vector) != (int(ends[-1]),):
            raise ShapeError(
                f"unflatten: the vector has shape {np.shape(vector)}, but the value has"
                f" {int(ends[-1])} elements; pass a vector of that length"
            )
        parts = []
        for k, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
            part = np.reshape(vector[ends[k] : ends[k + 1]], shape)
            if dtype is not None and part.dtype != dtype and dtype.kind == "f":
                part = part.astype(dtype)
            parts.append(part[()] if dtype is not None or shape else _number(part))
        return tree.build(iter(parts))

    if not leaves:
        return numpy.zeros(0), unflatten
    return np.concatenate([np.ravel(np.asarray(leaf)) for leaf in leaves]), unflatten


def _number(part: Any) -> Any:
    """A Python number from an array of one element; a tensor stays what it is."""
    return part.item() if isinstance(part, numpy.ndarray | numpy.number) else part


def flatten_func(
    func: Callable[..., Any], example: Any
) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """A function of nested values as one of vectors, `unflatten`, and the example as a vector."""
    vector, unflatten = flatten(example)

    def of_vector(x: Any, *args: Any) -> Any:
        return flatten(func(unflatten(x), *args))[0]

    return of_vector, unflatten, vector
