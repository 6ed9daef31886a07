"""Division as PyTorch spells it, with quotients rounded on request.

Invariant: without a mode they are the operation `divide`.
"""

from __future__ import annotations

from typing import Any

from ferrograd import _core as core
from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError

_divide_in_place = Tensor.divide_


def div(*operands: Any, rounding_mode: str | None = None, **options: Any) -> Tensor:
    """The quotient `a / b`, rounded down with "floor" and towards zero with "trunc".

    Shapes broadcast. Integers keep their dtype where the quotient is rounded, and divide as float64
    where it is not; a rounded quotient has the derivative zero. Takes `out=` and `name=`.
    Errors: `ArgumentError` for another mode.

    >>> import ferrograd as fg
    >>> a, b = fg.tensor([7, -7]), 2
    >>> fg.div(a, b, rounding_mode="floor").tolist(), a.div(b, rounding_mode="trunc").tolist()
    ([3, -4], [3, -3])
    """
    if rounding_mode is None:
        return core.divide(*operands, **options)
    _check_rounding_mode("div", rounding_mode)
    if rounding_mode == "floor":
        return core.floor_divide(*operands, **options)
    named = {word: options.pop(word) for word in ("out", "name") if word in options}
    rest = core.fmod(*operands, **options)
    if rest.dtype.kind not in "biu":
        return core.trunc(core.divide(*operands, **options), **named)
    given = {**dict(zip(("a", "b"), operands, strict=False)), **options}
    a, b = (next(given[word] for word in words if word in given) for words in _OPERAND_NAMES)
    return core.floor_divide(core.subtract(a, rest), b, **named)


#: The names of the operands.
_OPERAND_NAMES = (("a", "input", "x1"), ("b", "other", "x2"))


def div_(self: Tensor, *operand: Any, rounding_mode: str | None = None, **options: Any) -> Tensor:
    """`div` in place."""
    if rounding_mode is None:
        return _divide_in_place(self, *operand, **options)
    _check_rounding_mode("div_", rounding_mode)
    if rounding_mode == "floor":
        return self.floor_divide_(*operand, **options)
    return self.copy_(div(self, *operand, rounding_mode="trunc", **options))


def _check_rounding_mode(name: str, mode: Any) -> None:
    if mode not in ("floor", "trunc"):
        raise ArgumentError(
            f'{name}: rounding_mode is {mode!r}; give "floor", "trunc" or None for no rounding'
        )
