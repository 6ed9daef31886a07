"""Named tuples of results, as PyTorch and NumPy have them."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

_classes: dict[str, Any] = {}


def make_named_tuple(name: str, fields: str, parts: tuple[Any, ...]) -> Any:
    """The results of an operation under their names."""
    known = _classes.get(name)
    return tuple.__new__(_make_class(name, fields) if known is None else known, parts)


def _make_class(name: str, fields: str) -> Any:
    """The class of an operation's results. A pickle refers to the function that makes the class."""
    base: Any = namedtuple(name, fields)  # type: ignore[misc]

    def reduce(self: Any) -> Any:
        return make_named_tuple, (name, fields, tuple(self))

    members = {"__slots__": (), "__doc__": base.__doc__, "__reduce__": reduce}
    _classes[name] = kind = type(name, (base,), members)
    return kind
