"""Nested containers: taken apart into leaves, and put together again from others.

Invariant: what `build` returns has the classes, keys and order of what `flatten` was given. None is
a tree without leaves; a dataclass field with `metadata={"static": True}` is kept as it is. No walk
goes deeper than `DEEPEST`, so that a container that contains itself is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor
from ferrograd.errors import ShapeError

#: The most containers inside each other; the core reads nested sequences to the same depth.
DEEPEST = 64

#: Keys of short sequences.
_NUMBERED = [tuple(f"[{i}]" for i in range(count)) for count in range(5)]

_LEAVES = frozenset({np.ndarray, Tensor, float, int, bool, str, np.float64, np.float32})


class Tree:
    """The shape of a nested value: what its nodes are, and how to make them again."""

    __slots__ = ("children", "keys", "kind", "rebuild")

    def __init__(
        self,
        kind: type | None,
        keys: tuple[Any, ...],
        children: list[Tree],
        rebuild: Callable[[list[Any]], Any],
    ) -> None:
        self.kind = kind
        self.keys = keys
        self.children = children
        self.rebuild = rebuild

    def build(self, leaves: Iterator[Any]) -> Any:
        """The value with these leaves in place of its own."""
        if self is LEAF:
            return next(leaves)
        return self.rebuild([child.build(leaves) for child in self.children])

    def forget(self) -> None:
        """Lets go of the value that it was made from, of which some containers are copies."""
        if isinstance(self.rebuild, _Copies):
            self.rebuild.forget()
        for child in self.children:
            child.forget()

    def same(self, other: Tree) -> bool:
        """Whether both have the same containers, lengths and keys."""
        if self is LEAF or other is LEAF:
            return self is other
        return (
            self.kind is other.kind
            and self.keys == other.keys
            and len(self.children) == len(other.children)
            and all(map(Tree.same, self.children, other.children))
        )

    def count(self) -> int:
        """The number of leaves."""
        return 1 if self is LEAF else sum(child.count() for child in self.children)

    def paths(self, start: str = "") -> Iterator[str]:
        """Where each leaf is: `['w'][0]`."""
        if self is LEAF:
            yield start
            return
        for key, child in zip(self.keys, self.children, strict=True):
            yield from child.paths(f"{start}{key}")

    def __str__(self) -> str:
        if self is LEAF:
            return "*"
        if self.kind is None:
            return "None"
        inner = ", ".join(
            f"{key}: {child}" for key, child in zip(self.keys, self.children, strict=True)
        )
        return f"{self.kind.__name__}({inner})"


LEAF = Tree(None, ("",), [], lambda leaves: leaves[0])
_NOTHING = Tree(None, (), [], lambda leaves: None)


def check_depth(value: Any, depth: int) -> None:
    """Refuses a container that stands inside `depth` others."""
    if depth >= DEEPEST:
        raise ShapeError(
            f"containers: a {type(value).__name__} is nested more than {DEEPEST} levels deep, or"
            " contains itself; pass flatter containers"
        )


def inside(value: Any, depth: int = 0) -> Iterator[Any]:
    """What nested lists, tuples and dicts hold, in their order; anything else is itself."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list | tuple):
        yield value
        return
    check_depth(value, depth)
    for item in items(value):
        yield from inside(item, depth + 1)


def items(value: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    """What a list or tuple holds, whatever a subclass says that it iterates over."""
    return list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)


def flatten(value: Any, leaves: list[Any], depth: int = 0) -> Tree:
    """Appends the leaves of a nested value and returns its tree."""
    kind = type(value)
    if kind in _LEAVES:
        leaves.append(value)
        return LEAF
    if value is None:
        return _NOTHING
    parts = _parts(value, kind)
    if parts is None:
        leaves.append(value)
        return LEAF
    check_depth(value, depth)
    keys, items, rebuild = parts
    return Tree(kind, keys, [flatten(item, leaves, depth + 1) for item in items], rebuild)


Parts = tuple[tuple[str, ...], Sequence[Any], Callable[[list[Any]], Any]]


def _parts(value: Any, kind: type) -> Parts | None:
    """The keys, items and maker of a container; None for anything else."""
    if isinstance(value, tuple | list):
        if kind is not list and kind is not tuple:
            # What it holds, not what its class says of length and iteration.
            inside = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
            value = tuple(inside)
        count = len(value)
        short = count < len(_NUMBERED)
        keys = _NUMBERED[count] if short else tuple(f"[{i}]" for i in range(count))
        if kind is list:
            return keys, value, list
        fields = getattr(kind, "_fields", None)
        if fields is not None:
            return tuple(f".{name}" for name in fields), value, lambda new: kind(*new)
        return keys, value, kind
    if isinstance(value, dict):
        keys = tuple(f"[{key!r}]" for key in value)
        names = list(value)
        if kind is dict:
            return keys, list(value.values()), lambda new: dict(zip(names, new, strict=True))
        return keys, list(value.values()), _Copies(value, names, _put_item)
    if hasattr(kind, "__dataclass_fields__") and not isinstance(value, type):
        import dataclasses  # a millisecond, which few programs need

        names = [f.name for f in dataclasses.fields(value) if not f.metadata.get("static")]
        items = [getattr(value, name) for name in names]
        return tuple(f".{name}" for name in names), items, _Copies(value, names, object.__setattr__)
    return None


def kept(value: Any) -> Any:
    """The value with copies of its arrays, whose owners may write to them later."""
    if not isinstance(value, np.ndarray | list | tuple | dict):
        return value
    leaves: list[Any] = []
    tree = flatten(value, leaves)
    if not any(isinstance(leaf, np.ndarray) for leaf in leaves):
        return value
    return tree.build(leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves)


def owned(value: Any) -> Any:
    """The value with copies of its tensors, which have their history, and of its arrays."""
    leaves: list[Any] = []
    tree = flatten(value, leaves)
    return tree.build(leaf.clone() if isinstance(leaf, Tensor) else kept(leaf) for leaf in leaves)


class _Copies:
    """Makes a dict of a class of its own, or a dataclass: a copy of one with other items."""

    __slots__ = ("_names", "_put", "_value")

    def __init__(self, value: Any, names: list[Any], put: Callable[[Any, Any, Any], None]) -> None:
        self._value, self._names, self._put = value, names, put

    def __call__(self, new: list[Any]) -> Any:
        from copy import copy

        made = copy(self._value)
        for name, item in zip(self._names, new, strict=True):
            self._put(made, name, item)
        return made

    def forget(self) -> None:
        """Keeps a copy without the items."""
        from copy import copy

        self._value = copy(self._value)
        put = dict.__setitem__ if isinstance(self._value, dict) else object.__setattr__
        for name in self._names:
            put(self._value, name, None)


def _put_item(made: Any, name: Any, item: Any) -> None:
    # Not `update`, which means something else to a Counter.
    made[name] = item
