"""Nested values as vectors: `vspace`.

Its sums and products are composed of differentiable operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ferrograd._tensor.pytree import flatten
from ferrograd.errors import ArgumentTypeError


class VSpace:
    """The vector space of a nested value: shapes, a basis, sums and products.

    Two spaces are equal when their vectors have the same containers and shapes. Floats and arrays
    are vectors, and so are tuples, lists, dicts, named tuples and dataclasses of vectors.
    """

    def __init__(self, value: Any) -> None:
        leaves, self._tree = flatten(value)
        for leaf in leaves:
            kind = getattr(leaf, "dtype", np.dtype(type(leaf)) if _is_number(leaf) else None)
            if kind is None or kind.kind not in "fc":
                raise ArgumentTypeError(
                    f"vspace: a {type(leaf).__name__} is in no vector space of floats; pass floats,"
                    " float arrays and containers of them"
                )
        self._shapes = [np.shape(leaf) for leaf in leaves]
        self._dtypes = [getattr(leaf, "dtype", None) for leaf in leaves]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VSpace)
            and self._tree == other._tree
            and self._shapes == other._shapes
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VSpace({self._tree}, shapes {self._shapes})"

    @property
    def iscomplex(self) -> bool:
        """Whether any number is complex."""
        return any(np.dtype(dtype or float).kind == "c" for dtype in self._dtypes)

    @property
    def size(self) -> int:
        """The dimension."""
        return int(sum(np.prod(shape, dtype=int) for shape in self._shapes))

    @property
    def shape(self) -> Any:
        """The shape of an array; for a container, the same structure of shapes."""
        return self._tree.unflatten(self._shapes)

    @property
    def ndim(self) -> int:
        """The number of axes of an array."""
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        """The dtype of an array or a float."""
        return np.dtype(float) if self._dtypes[0] is None else self._dtypes[0]

    def _make_vector(self, fill: Callable[[Any], Any]) -> Any:
        made = []
        for shape, dtype in zip(self._shapes, self._dtypes, strict=True):
            value = np.asarray(fill(shape), dtype)
            made.append(float(value) if dtype is None else value)
        return self._tree.unflatten(made)

    def zeros(self) -> Any:
        """The zero vector."""
        return self._make_vector(np.zeros)

    def ones(self) -> Any:
        """The sum of the standard basis."""
        return self._make_vector(np.ones)

    def randn(self) -> Any:
        """A vector of standard normal numbers, from NumPy's global generator."""
        return self._make_vector(lambda shape: np.random.standard_normal(shape))

    def standard_basis(self) -> Iterator[Any]:
        """The unit vectors."""
        for k, shape in enumerate(self._shapes):
            for index in np.ndindex(*shape):
                leaves, _ = flatten(self.zeros())
                leaves[k] = np.array(leaves[k])
                leaves[k][index] = 1.0
                if self._dtypes[k] is None:
                    leaves[k] = float(leaves[k])
                yield self._tree.unflatten(leaves)

    def _map_leaves(self, function: Callable[..., Any], *values: Any) -> list[Any]:
        columns = (flatten(value)[0] for value in values)
        return [function(*row) for row in zip(*columns, strict=True)]

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two vectors; differentiable."""
        return self._tree.unflatten(self._map_leaves(add, x, y))

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """A vector times a number; differentiable."""
        return self._tree.unflatten(self._map_leaves(lambda leaf: leaf * a, x))

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The sum of the products of corresponding elements; differentiable."""
        return reduce(add, self._map_leaves(lambda a, b: np.sum(a * b), x, y), 0.0)

    def covector(self, x: Any) -> Any:
        """The conjugate: a real vector is its own."""
        return self._tree.unflatten(self._map_leaves(np.conj, x)) if self.iscomplex else x


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int | complex | np.generic)


def vspace(value: Any) -> VSpace:
    """The vector space of a value."""
    return VSpace(value)
