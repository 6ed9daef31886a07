"""Checks of arguments that several of these functions have.

Owns: axes and counts. Never computes.
Invariant: what is refused names the operation, the argument, its value and what to give.
"""

from __future__ import annotations

from typing import Any

from ferrograd.errors import ArgumentError, ArgumentTypeError


def whole(op: str, what: str, value: Any, least: int = 0) -> int:
    """An integer of at least `least`."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise ArgumentTypeError(f"{op}: {what} is {value!r:.80}; give an integer")
    number = int(value.__index__())
    if number < least:
        raise ArgumentError(f"{op}: {what} is {number}; give at least {least}")
    return number


def axis(op: str, dim: Any, axes: int) -> int:
    """An axis counted from 0; a number of no axes has one."""
    number, most = whole(op, "dim", dim, -(1 << 62)), max(axes, 1)
    if not -most <= number < most:
        raise ArgumentError(
            f"{op}: dim is {number} and the tensor has {axes} axes; give one of them"
        )
    return number % most
