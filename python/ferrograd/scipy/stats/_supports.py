"""Points of a distribution: the standard variable, the ends of the support, points outside.

Invariant: the value at a point where no formula is evaluated is a constant.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import (
    Function,
    FunctionContext,
    Tensor,
    _is_recording_program,
    is_grad_enabled,
    tensor,
)
from ferrograd._dispatch.detach import detach_tensors
from ferrograd.scipy._conversions import detach

#: An infinite point has the derivatives of this point, unless a formula handles infinity.
DEFAULT_REACH = 1e150


class _Standardize(Function):
    """`standardize` of tensors; a compiled program runs it without Python."""

    @staticmethod
    def forward(ctx: FunctionContext, x: Any, loc: Any, scale: Any) -> Tensor:
        z: Tensor = (x - loc) / scale
        saved = isinstance(scale, Tensor | numpy.ndarray)
        ctx.save_for_backward(z, *([scale] if saved else []))
        ctx.scale = None if saved else scale
        return z

    @staticmethod
    def backward(ctx: FunctionContext, g: Tensor) -> tuple[Any, Any, Any]:
        z, *saved = ctx.saved_tensors
        scale = saved[0] if saved else ctx.scale
        by_x, by_loc, by_scale = ctx.needs_input_grad
        slope = g / scale
        moved = -np.where((z == 0) & np.isinf(g), 0.0, g) * z / scale if by_scale else None
        return slope if by_x else None, -slope if by_loc else None, moved


def standardize(x: Any, loc: Any, scale: Any) -> Any:
    """`(x - loc) / scale`.

    Where it is 0, as at the low end of a support, an infinite slope moves nothing by the scale.
    """
    if not any(isinstance(value, Tensor) for value in (x, loc, scale)):
        return (x - loc) / scale
    return _Standardize.apply(x, loc, scale)


class _ReplaceValue(Function):
    """`replace_value` of tensors; a compiled program runs it without Python."""

    @staticmethod
    def forward(ctx: FunctionContext, found: Tensor, value: Any) -> Tensor:
        return value.clone() if isinstance(value, Tensor) else tensor(value)

    @staticmethod
    def backward(ctx: FunctionContext, g: Tensor) -> tuple[Tensor, None]:
        return g, None


def replace_value(found: Any, value: Any) -> Any:
    """Replaces the value of a result and keeps its derivatives, for limits without a formula."""
    return _ReplaceValue.apply(found, detach(value)) if isinstance(found, Tensor) else detach(value)


def unit_power(scale: Any, power: Any) -> Any:
    """0, with the derivative `-power / scale`, which is that of `power·log z` at `z = 0`."""
    return power * (np.log(detach(scale)) - np.log(scale))


def log1p_square(z: Any) -> Any:
    """`log(1 + z²)`, of any size of `z`."""
    square = z * z
    if not _is_recording_program() and numpy.all(numpy.isfinite(detach_tensors(square))):
        return np.log1p(square)
    big = np.abs(z) > 1e100
    return np.where(
        big, 2.0 * np.log(np.abs(np.where(big, z, 1.0))), np.log1p(np.where(big, 0.0, z) ** 2)
    )


def needs_derivative(*values: Any) -> bool:
    """Whether a derivative may be needed."""
    return is_grad_enabled() and any(isinstance(v, Tensor) for v in values)


def divide_by_scale(x: Any, loc: Any, scale: Any) -> Any:
    """`standardize` where a support has no end at 0."""
    return (x - loc) / scale


def select(mask: Any, found: Any, outside: Any) -> Any:
    """The result where the mask is true, else constants, converted to the dtype of the result."""
    return np.where(mask, found, outside.astype(found.dtype))


def all_positive(*shapes: Any) -> Any:
    """Whether all shapes are above 0."""
    found: Any = True
    for shape in shapes:
        found = (np.asarray(shape) > 0) & found
    return found


class SupportPoints:
    """The points of one call: masks of constants, and the standard variable.

    `inside` is the closed support without infinity, `ends` its finite and infinite ends.
    """

    def __init__(self, x: Any, loc: Any, scale: Any, distribution: Any) -> None:
        self._x, self._loc, self._scale = x, loc, scale
        self._within, self._standard = distribution.within, distribution.standard
        self.z = (detach(x) - detach(loc)) / detach(scale)
        low, high = distribution.support_of_standard
        infinite = np.isinf(self.z)
        self.ends = (self.z == low, self.z == high)
        self.inside = (self.z >= low) & (self.z <= high) & ~infinite
        if distribution.open_low:
            self.inside = self.inside & ~self.ends[0]
        self.far = (self.ends[0] | self.ends[1]) & infinite
        self._below = self.z <= low

    def get_standard(self, mask: Any, reach: float = DEFAULT_REACH) -> Any:
        """The standard variable where the mask is true, elsewhere a constant in the support.

        An infinite point is replaced by `reach`.
        """
        loc, scale = detach(self._loc), detach(self._scale)
        x = np.where(mask, self._x, loc + scale * self._within)
        far = mask & self.far
        if not isinstance(far, Tensor) and not numpy.any(far):
            return self._standard(x, self._loc, self._scale)
        distant = loc + scale * np.where(self.z > 0, reach, -reach)
        x = replace_value(np.where(far, self._x, x), np.where(far, distant, detach(x)))
        return self._standard(x, self._loc, self._scale)

    def get_outside_limits(self, below: float, above: float) -> Any:
        """The limits below and above the support, NaN for NaN."""
        limits = np.where(self._below, below, above)
        return np.where(np.isnan(self.z), numpy.nan, limits)
