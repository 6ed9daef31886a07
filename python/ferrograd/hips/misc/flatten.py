"""Nested values as one vector and back.

Differentiable, because it is composed of differentiable functions. Invariant:
`unflatten(flatten(x)[0])` has the structure, shapes and dtypes of `x`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from operator import itemgetter
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._tensor.pytree import Tree, flatten as _flatten
from ferrograd.errors import ShapeError


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All elements of a nested value as a vector, and the function that makes such a value of one.

    Dicts go in the order of their keys, where these can be compared.

    >>> from ferrograd.misc.flatten import flatten
    >>> vector, unflatten = flatten({"w": [1.0, 2.0], "b": 3.0})
    >>> unflatten(2 * vector)
    {'w': [2.0, 4.0], 'b': 6.0}
    """
    found, tree = _flatten(value)
    places = list(_iter_sorted_positions(tree, 0))
    leaves = [found[k] for k in places]
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
        parts: list[Any] = [None] * len(leaves)
        for k, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
            part = np.reshape(vector[ends[k] : ends[k + 1]], shape)
            if dtype is not None and part.dtype != dtype and dtype.kind == "f":
                part = part.astype(dtype)
            parts[places[k]] = part[()] if dtype is not None or shape else _to_python_number(part)
        return tree.unflatten(parts)

    if not leaves:
        return numpy.zeros(0), unflatten
    return np.concatenate([np.ravel(np.asarray(leaf)) for leaf in leaves]), unflatten


def _iter_sorted_positions(tree: Tree, first: int) -> Iterator[int]:
    """The positions of the leaves from `first`; those of a dict in the order of its sorted keys."""
    if tree.is_leaf:
        yield first
        return
    items = []
    for key, child in zip(tree.keys, tree.children, strict=True):
        items.append((key, child, first))
        first += child.num_leaves
    if tree.kind is not None and issubclass(tree.kind, dict):
        with suppress(TypeError):
            items.sort(key=itemgetter(0))
    for _, child, start in items:
        yield from _iter_sorted_positions(child, start)


def _to_python_number(part: Any) -> Any:
    """A Python number from an array of one element; a tensor is returned unchanged."""
    return part.item() if isinstance(part, numpy.ndarray | numpy.number) else part


def flatten_func(
    func: Callable[..., Any], example: Any
) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """A function of nested values as one of vectors, `unflatten`, and the example as a vector."""
    vector, unflatten = flatten(example)

    def of_vector(x: Any, *args: Any) -> Any:
        return flatten(func(unflatten(x), *args))[0]

    return of_vector, unflatten, vector
