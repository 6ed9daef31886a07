"""Argument checks shared by these functions.

Invariant: an error names the operation, the argument, its value and what to pass.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from ferrograd._tensor.creation import MAX_NDIM
from ferrograd.errors import ArgumentError, ArgumentTypeError


def check_integer(op: str, what: str, value: Any, least: int = 0) -> int:
    """An integer of at least `least`."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise ArgumentTypeError(f"{op}: {what} is {value!r:.80}; give an integer")
    number = int(value.__index__())
    if number < least:
        raise ArgumentError(f"{op}: {what} is {number}; give at least {least}")
    return number


def check_integers(op: str, what: str, values: Any, least: int = 0) -> tuple[int, ...]:
    """One integer of at least `least` for each axis, as in NumPy's and tensors' shapes."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(f"{op}: {what} is {values!r:.80}; give a tuple of integers")
    # One more than there may be: a longer sequence, or one without an end, is not read.
    given = tuple(islice(values, MAX_NDIM + 1))
    if len(given) > MAX_NDIM:
        raise ArgumentError(f"{op}: {what} has more than {MAX_NDIM} entries; give one for an axis")
    return tuple(check_integer(op, f"an entry of {what}", value, least) for value in given)


def check_real(op: str, what: str, value: Any) -> float:
    """Checks a real number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{op}: {what} is {value!r:.80}; give a number") from None


def normalize_dim(op: str, dim: Any, axes: int) -> int:
    """Checks an axis and makes it non-negative; a 0-d tensor has one axis."""
    number, most = check_integer(op, "dim", dim, -(1 << 62)), max(axes, 1)
    if not -most <= number < most:
        raise ArgumentError(
            f"{op}: dim is {number} and the tensor has {axes} axes; give one of them"
        )
    return number % most
