"""Nested containers: `flatten` gives their leaves, `unflatten` rebuilds them from other leaves.

Lists, tuples, dicts and their subclasses, named tuples and dataclasses are containers. None is a
tree without leaves; a dataclass field with `metadata={"static": True}` is no leaf, and belongs to
the structure. No walk goes deeper than `MAX_DEPTH`, so that a container that contains itself is an
error; `check_depth(value, depth)` refuses a value that stands inside `depth` others. Invariant:
what `unflatten` returns has the classes, keys and order of what `flatten` was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ferrograd._core import (
    Tensor,
    _check_depth as check_depth,
    _flatten as flatten,
    _PyTree as Tree,
)

#: The most levels of nested containers.
MAX_DEPTH = Tree.MAX_DEPTH

#: The structure of one leaf.
LEAF = flatten(0.0)[1]


def find_tensors(value: Any) -> list[Tensor]:
    """The tensors among the leaves of a nested value."""
    return [leaf for leaf in flatten(value)[0] if isinstance(leaf, Tensor)]


def sequence_items(value: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    """The items of a list or tuple, without calling `__iter__` of a subclass."""
    return list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)


def copy_arrays(value: Any) -> Any:
    """The value with copies of its arrays, whose owners may write to them later."""
    if not isinstance(value, np.ndarray | list | tuple | dict):
        return value
    leaves, tree = flatten(value)
    if not any(isinstance(leaf, np.ndarray) for leaf in leaves):
        return value
    return tree.unflatten(leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves)


def clone_leaves(value: Any) -> Any:
    """The value with clones of its tensors, which keep their history, and copies of its arrays."""
    leaves, tree = flatten(value)
    return tree.unflatten(
        leaf.clone() if isinstance(leaf, Tensor) else copy_arrays(leaf) for leaf in leaves
    )


__all__ = [
    "LEAF",
    "MAX_DEPTH",
    "Tree",
    "check_depth",
    "clone_leaves",
    "copy_arrays",
    "find_tensors",
    "flatten",
    "sequence_items",
]
