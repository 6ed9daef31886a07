"""Nested containers: taken apart into leaves, and put together again from others.

Lists, tuples, dicts and their subclasses, named tuples and dataclasses are containers. None is a
tree without leaves; a dataclass field with `metadata={"static": True}` is no leaf, and belongs to
the structure. No walk goes deeper than `DEEPEST`, so that a container that contains itself is an
error. Invariant: what `unflatten` returns has the classes, keys and order of what `flatten` was
given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ferrograd._core import Tensor, _flatten as flatten, _PyTree as Tree
from ferrograd.errors import ShapeError

#: The most containers inside each other; the core reads nested sequences to the same depth.
DEEPEST = 64

#: The structure of one leaf.
LEAF = flatten(0.0)[1]


def check_depth(value: Any, depth: int) -> None:
    """Refuses a container that stands inside `depth` others."""
    if depth >= DEEPEST:
        raise ShapeError(
            f"containers: a {type(value).__name__} is nested more than {DEEPEST} levels deep, or"
            " contains itself; pass flatter containers"
        )


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors among the leaves of a nested value."""
    return [leaf for leaf in flatten(value)[0] if isinstance(leaf, Tensor)]


def items(value: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    """What a list or tuple holds, whatever a subclass says that it iterates over."""
    return list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)


def kept(value: Any) -> Any:
    """The value with copies of its arrays, whose owners may write to them later."""
    if not isinstance(value, np.ndarray | list | tuple | dict):
        return value
    leaves, tree = flatten(value)
    if not any(isinstance(leaf, np.ndarray) for leaf in leaves):
        return value
    return tree.unflatten(leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves)


def owned(value: Any) -> Any:
    """The value with copies of its tensors, which have their history, and of its arrays."""
    leaves, tree = flatten(value)
    return tree.unflatten(
        leaf.clone() if isinstance(leaf, Tensor) else kept(leaf) for leaf in leaves
    )


__all__ = [
    "DEEPEST",
    "LEAF",
    "Tree",
    "check_depth",
    "flatten",
    "items",
    "kept",
    "owned",
    "tensors_in",
]
