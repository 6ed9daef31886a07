"""Example functions on single elements: `STEBinary`, `ReLU6`.

Invariant: each derivative is written with tensor operations, so it can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd._core import CustomFunction, FunctionContext, Tensor, clip, where
from ferrograd.errors import ArgumentError


class STEBinary(CustomFunction):
    """The sign, with a derivative of 1: a straight-through estimator.

    `y = 1` where x > 0, `-1` where x < 0, `zero` where x = 0 (1 by default); NaN stays NaN.
    dx = g: the true slope is 0 almost everywhere, so `gradcheck` cannot pass and the second
    derivative is 0. Test it by its values.
    Shapes: any, kept. Dtypes: float.
    Errors: `ArgumentError` for a `zero` other than -1, 0 or 1.

    >>> import ferrograd as fg
    >>> x = fg.tensor([-0.5, 0.0, 2.0], requires_grad=True)
    >>> y = fg.functions.STEBinary()(x)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([-1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    """

    def __init__(self, zero: float = 1.0) -> None:
        if zero not in (-1, 0, 1):
            raise ArgumentError(f"STEBinary: zero is {zero}; use -1, 0 or 1")
        self.zero = float(zero)

    def forward(self, inputs: tuple[Any, ...], ctx: FunctionContext) -> list[Tensor]:
        """The sign."""
        (x,) = inputs
        sign = where(x > 0, 1.0, where(x < 0, -1.0, self.zero))
        return [where(x != x, x, sign.astype(x.dtype))]

    def backward(
        self, grad_outputs: tuple[Any, ...], ctx: FunctionContext
    ) -> Sequence[Tensor | None]:
        """The gradient unchanged."""
        return [grad_outputs[0]]


class ReLU6(CustomFunction):
    """`min(max(x, 0), 6)`; dx = g where 0 < x < 6 and 0 elsewhere, both ends included.

    Shapes: any, kept. Dtypes: float. The second derivative is 0.

    >>> import ferrograd as fg
    >>> x = fg.tensor([-1.0, 3.0, 6.0, 7.0], requires_grad=True)
    >>> y = fg.functions.ReLU6()(x)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([0.0, 3.0, 6.0, 6.0], [0.0, 1.0, 0.0, 0.0])
    """

    def forward(self, inputs: tuple[Any, ...], ctx: FunctionContext) -> list[Tensor]:
        """The clipped input."""
        (x,) = inputs
        ctx.save_for_backward(x)
        return [clip(x, 0.0, 6.0)]

    def backward(
        self, grad_outputs: tuple[Any, ...], ctx: FunctionContext
    ) -> Sequence[Tensor | None]:
        """The gradient where the input is strictly inside."""
        (x,) = ctx.saved_tensors
        inside = ((x > 0) & (x < 6)).astype(x.dtype)
        return [grad_outputs[0] * inside]
