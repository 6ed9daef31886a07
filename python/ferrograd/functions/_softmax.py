"""An example function over an axis: `StableSoftmax`.

Invariant: the derivative is written with tensor operations on the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd._core import CustomFunction, FunctionContext, Tensor, exp
from ferrograd.errors import ArgumentTypeError


class StableSoftmax(CustomFunction):
    """`y = e^(x - max x) / Σ e^(x - max x)` along an axis; dx = y (g - Σ g y).

    Shapes: any with that axis, kept. Dtypes: float. Differentiable to any order: the backward uses
    the output, which keeps its history. A row of -inf only gives NaN.
    Errors: `AxisError` for an axis that the input does not have, `ArgumentTypeError` for an axis
    that is not an integer.

    >>> import ferrograd as fg
    >>> fg.functions.StableSoftmax(axis=0)(fg.tensor([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    """

    def __init__(self, axis: int = -1) -> None:
        if isinstance(axis, bool) or not hasattr(axis, "__index__"):
            raise ArgumentTypeError(f"StableSoftmax: axis is {axis!r}; give an integer")
        self.axis = int(axis)

    def forward(self, inputs: tuple[Any, ...], ctx: FunctionContext) -> list[Tensor]:
        """The softmax."""
        (x,) = inputs
        powers = exp(x - x.max(axis=self.axis, keepdims=True))
        y = powers / powers.sum(axis=self.axis, keepdims=True)
        ctx.save_for_backward(y)
        return [y]

    def backward(
        self, grad_outputs: tuple[Any, ...], ctx: FunctionContext
    ) -> Sequence[Tensor | None]:
        """The gradient less its mean under y, weighted by y."""
        (y,), (g,) = ctx.saved_tensors, grad_outputs
        return [y * (g - (g * y).sum(axis=self.axis, keepdims=True))]
