"""Shared argument handling of these functions: numbers for each axis, reductions, checks.

Invariant: a wrong argument is refused before anything is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor, _is_recording_program, asarray
from ferrograd.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    IndexOutOfRangeError,
    ShapeError,
)

#: One number, or one for each axis of a window.
Sizes = int | Sequence[int]


def check_integer(op: str, what: str, value: Any, least: int = 1) -> int:
    """An integer of at least `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentTypeError(f"{op}: {what} is {value!r}; give an integer of at least {least}")
    if value.__index__() < least:
        raise ArgumentError(f"{op}: {what} is {value}; give at least {least}")
    return int(value)


def check_flags(op: str, **given: Any) -> None:
    """Refuses values that are not booleans, since every string would count as True."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_) and not (type(value) is int and value in (0, 1)):
            raise ArgumentTypeError(f"{op}: {name} is {value!r:.80}; give True or False")


def check_eps(op: str, eps: Any) -> Any:
    """A valid `eps` for a variance; None is the default."""
    if eps is not None and not eps >= 0:
        raise ArgumentError(f"{op}: eps={eps}; give a small positive number")
    return eps


def check_not_inplace(op: str, inplace: Any, instead: str) -> None:
    """Refuses `inplace=True`: a function returns a new tensor."""
    if inplace:
        raise ArgumentError(
            f"{op}: inplace={inplace!r}, and it gives another tensor; use {instead}"
        )


def make_ntuple(op: str, what: str, value: Any, count: int) -> tuple[int, ...]:
    """`count` integers: a single one is repeated."""
    if hasattr(value, "__index__"):
        return (int(value),) * count
    if not isinstance(value, list | tuple) or not all(hasattr(v, "__index__") for v in value):
        raise ArgumentTypeError(f"{op}: {what} is {value!r}; give an integer or {count} of them")
    if len(value) != count:
        raise ArgumentError(f"{op}: {what} is {value!r}; give an integer or {count} of them")
    return tuple(int(v) for v in value)


def reduce_losses(op: str, losses: Tensor, reduction: str) -> Tensor:
    """The mean, the sum, or all of the losses."""
    check_reduction(op, reduction)
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def check_reduction(op: str, reduction: str) -> str:
    """The reduction, if it is one."""
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f'{op}: reduction={reduction!r}; use "mean", "sum" or "none"')
    return reduction


def check_probability(op: str, p: float) -> float:
    """A probability, if it is one."""
    if isinstance(p, str | tuple | list) or p is None:
        raise ArgumentTypeError(f"{op}: p={p!r}; give a probability from 0 to 1")
    if not 0.0 <= p <= 1.0:
        raise ArgumentError(f"{op}: p={p}; give a probability from 0 to 1")
    return p


def convert_argument(op: str, x: Any, what: str = "input") -> Tensor:
    """The argument of a layer as a tensor; None is refused."""
    if x is None:
        raise ArgumentTypeError(f"{op}: {what} is None; pass a tensor")
    found: Tensor = x if isinstance(x, Tensor) else asarray(x)
    return found


def check_class_indices(op: str, target: Tensor, classes: int, least: int = 0) -> Tensor:
    """Class indices, checked to be integers and in the range.

    A trace does not check the range.
    """
    if _is_recording_program():
        return target
    values = target.detach().numpy()
    if values.dtype.kind not in "iu":
        raise DTypeError(f"{op}: class numbers of dtype {target.dtype}; give integers")
    wrong = values[(values < least) | (values >= classes)]
    if wrong.size:
        raise IndexOutOfRangeError(
            f"{op}: class {wrong[0]} of {classes} classes; number the classes from 0"
        )
    return target


def check_ndim(op: str, x: Any, ranks: Sequence[int], shape: str) -> Tensor:
    """A tensor whose number of axes is one of `ranks`; `shape` describes the axes for messages."""
    found = convert_argument(op, x)
    if found.ndim not in ranks:
        raise ShapeError(
            f"{op}: the input has shape {tuple(found.shape)}; it needs"
            f" {' or '.join(str(rank) for rank in ranks)} axes, {shape}"
        )
    return found


def check_same_shape(op: str, x: Any, target: Any) -> tuple[Tensor, Tensor]:
    """Two tensors of one shape."""
    a, b = convert_argument(op, x), convert_argument(op, target, "target")
    if tuple(a.shape) != tuple(b.shape):
        raise ShapeError(
            f"{op}: input of shape {tuple(a.shape)} and target of shape {tuple(b.shape)};"
            " give both the same shape"
        )
    return a, b
