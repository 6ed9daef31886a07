"""Arguments that are sequences of values.

Invariant: only finite sequences are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd.errors import ArgumentTypeError


def convert_to_list(op: str, what: str, values: Any) -> list[Any]:
    """The values in a list; an iterator, which may have no end, is refused."""
    if isinstance(values, Iterable) and hasattr(values, "__len__"):
        return list(values)
    raise ArgumentTypeError(
        f"{op}: {what} is of type {type(values).__name__}; give a list or tuple"
    )
