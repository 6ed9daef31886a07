"""Forward mode by hand, with PyTorch's names: dual tensors hold a value and its tangent.

`fg.jvp` and `fg.jacfwd` do the same for functions. Levels can be nested, which PyTorch does not
have: the innermost one is meant where no level is given.

>>> import ferrograd as fg
>>> from ferrograd.autograd import forward_ad
>>> with forward_ad.dual_level():
...     x = forward_ad.make_dual(fg.tensor(3.0), fg.tensor(1.0))
...     forward_ad.unpack_dual(x * x).tangent
tensor(6.)
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import NamedTuple

from ferrograd._core import (
    Tensor,
    _enter_dual_level,
    _exit_dual_level,
    _make_dual,
    _unpack_dual,
    is_grad_enabled,
)
from ferrograd.errors import (
    ArgumentTypeError,
    DTypeError,
    GradientError,
    ShapeError,
)

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class _Levels(threading.local):
    """The levels that this module has entered on a thread, innermost last."""

    def __init__(self) -> None:
        self.serials: list[int] = []


_LEVELS = _Levels()


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent; the tangent is None if the value has none."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Enters a level and returns its number. Tangents are recorded where values are."""
    level = _enter_dual_level(is_grad_enabled())
    _LEVELS.serials.append(level)
    return level


def exit_dual_level(*, level: int | None = None) -> None:
    """Exits the innermost level; its dual tensors lose their tangents.

    Raises `GradientError` if no level is entered, or another one than the innermost is given.
    """
    own = _find_level("exit_dual_level", level)
    if own != _LEVELS.serials[-1]:
        raise GradientError(
            f"exit_dual_level: level {level} is not the innermost one, which is"
            f" {_LEVELS.serials[-1]}; exit the inner levels first"
        )
    _LEVELS.serials.pop()
    _exit_dual_level(own)


class dual_level:  # noqa: N801  PyTorch's name
    """A context manager for a level: `with dual_level() as level: ...`."""

    def __enter__(self) -> int:
        self._level = enter_dual_level()
        return self._level

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        exit_dual_level(level=self._level)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor with the values of `tensor`, whose memory it shares, and a tangent of its shape.

    Raises `GradientError` outside of a level, `DTypeError` for tensors that are not floats or of
    two dtypes, `ShapeError` for two shapes.
    """
    serial = _find_level("make_dual", level)
    for name, value in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(
                f"make_dual: {name} is a {type(value).__name__}; give a tensor, fg.tensor(...)"
            )
    if tensor.dtype.kind not in "fc" or tensor.dtype != tangent.dtype:
        raise DTypeError(
            f"make_dual: the tensor is {tensor.dtype} and the tangent {tangent.dtype}; give two"
            " tensors of one float dtype"
        )
    if tensor.shape != tangent.shape:
        raise ShapeError(
            f"make_dual: the tensor has shape {tuple(tensor.shape)} and the tangent"
            f" {tuple(tangent.shape)}; give a tangent of the tensor's shape"
        )
    return _make_dual(tensor, tangent, serial)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a dual tensor; the tangent is None if it has none.

    Outside of a level every tensor is returned as it is.
    """
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(
            f"unpack_dual: expected a tensor, got a {type(tensor).__name__}; give what was computed"
            " from a dual tensor"
        )
    if level is None and not _LEVELS.serials:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*_unpack_dual(tensor, _find_level("unpack_dual", level)))


def _find_level(op: str, level: int | None) -> int:
    serials = _LEVELS.serials
    if not serials:
        raise GradientError(f"{op}: no level is entered; use it inside of `with dual_level():`")
    if level is None:
        return serials[-1]
    if level not in serials:
        raise GradientError(
            f"{op}: level {level!r} is not entered on this thread, whose levels are {serials}; give"
            " one of them, or none for the innermost"
        )
    return level
