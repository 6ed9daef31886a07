"""Named tuples of results, as PyTorch and NumPy have them.

Owns: their classes, one for each operation that declares names. Never computes.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

_kinds: dict[str, Any] = {}


def named(name: str, fields: str, parts: tuple[Any, ...]) -> Any:
    """The results of an operation under their names."""
    kind = _kinds.get(name)
    if kind is None:
        kind = namedtuple(name, fields)  # type: ignore[misc]
        # A pickle cannot find the class, but what makes it.
        kind.__reduce__ = lambda self: (named, (name, fields, tuple(self)))
        _kinds[name] = kind
    return tuple.__new__(kind, parts)
