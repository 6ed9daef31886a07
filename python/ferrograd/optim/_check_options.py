"""Checks of the options of optimisers, and flags that are accepted for other libraries' sake.

Invariant: an error names the optimiser, the option, its value and an accepted value.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError, ArgumentTypeError


def check_at_least(op: str, name: str, value: Any, least: float = 0.0) -> None:
    """Raises for a number, or a tensor of one, below the least one, NaN included."""
    if isinstance(value, Tensor) and value.ndim:
        raise ArgumentError(f"{op}: {name} has shape {tuple(value.shape)}; give a number")
    try:
        enough = value >= least
    except TypeError:
        raise ArgumentTypeError(
            f"{op}: {name} is {value!r}; give a number of at least {least:g}"
        ) from None
    if not enough:
        raise ArgumentError(f"{op}: {name} is {value}; give at least {least:g}")


def check_pair(op: str, name: str, values: Any) -> tuple[Any, Any]:
    """The two numbers of an option."""
    try:
        # One more than there may be: a longer sequence, or one without an end, is not read.
        given = tuple(islice(values, 3))
    except TypeError:
        raise ArgumentTypeError(f"{op}: {name} is {values!r:.80}; give two numbers") from None
    if len(given) != 2:
        raise ArgumentError(f"{op}: {name} are {given}; give two numbers")
    return given


def check_betas(op: str, given: tuple[float, float]) -> None:
    """Raises for decay rates outside [0, 1)."""
    if not all(0.0 <= beta < 1.0 for beta in check_pair(op, "betas", given)):
        raise ArgumentError(f"{op}: betas are {given}; give two numbers from 0 to below 1")


def check_choice(op: str, name: str, value: Any, known: tuple[Any, ...]) -> None:
    """Raises for an unknown word."""
    if value not in known:
        words = ", ".join(repr(word) for word in known)
        raise ArgumentError(f"{op}: {name} is {value!r}; give one of {words}")


def check_flags(op: str, **given: Any) -> dict[str, Any]:
    """Flags that select implementations: kept in the groups, without effect.

    Every step is one loop over all parameters, and every step can be compiled, so `foreach`,
    `fused` and `capturable` change nothing. `differentiable=True` is refused: a step changes
    parameters in place with recording off.
    """
    if given.get("differentiable"):
        raise ArgumentError(
            f"{op}: differentiable=True is not supported, a step is not recorded; compute the next "
            "parameters with tensor operations, p - lr * fg.grad(f)(p), to differentiate through it"
        )
    return given
