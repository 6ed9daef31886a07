"""Example losses: `ClampedMSELoss`, `FocalLoss`.

Invariant: each multiplies by the gradient that arrives, and each derivative is written with tensor
operations on the inputs, so it can be differentiated again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ferrograd._core import CustomFunction, FunctionContext, Tensor, clip, exp, sigmoid, softplus
from ferrograd.errors import ArgumentError, ShapeError


def _check_reduction(op: str, reduction: str) -> str:
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f'{op}: reduction={reduction!r}; use "mean", "sum" or "none"')
    return reduction


def _check_pair(op: str, inputs: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    if len(inputs) != 2:
        raise ArgumentError(f"{op}: {len(inputs)} inputs; pass the prediction and the target")
    a, b = inputs
    if tuple(a.shape) != tuple(b.shape):
        raise ShapeError(
            f"{op}: the prediction has shape {tuple(a.shape)} and the target {tuple(b.shape)};"
            " they must agree"
        )
    return a, b


def _reduce(losses: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.mean()


def _scale_gradient(g: Tensor, count: int, reduction: str) -> Tensor:
    """The gradient of each element's loss from that of the reduced loss."""
    return g / count if reduction == "mean" else g


class ClampedMSELoss(CustomFunction):
    """Mean of the squares of `clip(prediction - target, min, max)`.

    With d the difference and c the clipped one: dprediction = g · 2 c / n where min <= d <= max,
    0 elsewhere; dtarget = -dprediction. n is the number of elements for "mean", 1 for "sum" and
    "none".
    Shapes: prediction and target agree; the result is 0-d, or their shape for "none". Dtypes:
    float. The second derivative is 2 g / n where the difference is inside.
    Errors: `ArgumentError` for min > max or an unknown reduction, `ShapeError` for shapes.

    >>> import ferrograd as fg
    >>> p = fg.tensor([0.5, 9.0], requires_grad=True)
    >>> loss = fg.functions.ClampedMSELoss(-1.0, 1.0, reduction="sum")(p, fg.zeros(2))
    >>> loss.backward()
    >>> loss.item(), p.grad.tolist()
    (1.25, [1.0, 0.0])
    """

    def __init__(
        self, min: float = -math.inf, max: float = math.inf, reduction: str = "mean"
    ) -> None:
        if not min <= max:
            raise ArgumentError(f"ClampedMSELoss: min is {min} and max is {max}; give min <= max")
        self.min, self.max = float(min), float(max)
        self.reduction = _check_reduction("ClampedMSELoss", reduction)

    def forward(self, inputs: tuple[Any, ...], ctx: FunctionContext) -> list[Tensor]:
        """The loss."""
        prediction, target = _check_pair("ClampedMSELoss", inputs)
        ctx.save_for_backward(prediction, target)
        clipped = clip(prediction - target, self.min, self.max)
        return [_reduce(clipped * clipped, self.reduction)]

    def backward(
        self, grad_outputs: tuple[Any, ...], ctx: FunctionContext
    ) -> Sequence[Tensor | None]:
        """Both gradients, one the negative of the other."""
        prediction, target = ctx.saved_tensors
        d = prediction - target
        inside = ((d >= self.min) & (d <= self.max)).astype(d.dtype)
        g = _scale_gradient(grad_outputs[0], int(d.size), self.reduction)
        gradient = g * 2.0 * clip(d, self.min, self.max) * inside
        return [gradient, -gradient]


class FocalLoss(CustomFunction):
    """Binary focal loss of logits: `-α_t (1 - p_t)^γ ln p_t`.

    For a target t of 1, p_t = sigmoid(x) and α_t = α; for 0, p_t = 1 - sigmoid(x) and α_t = 1 - α.
    dx = -g s α_t (1 - p_t)^γ (γ p_t (-ln p_t) + 1 - p_t) with s = 2t - 1, divided by the number of
    elements for "mean"; the target has no gradient. Computed through softplus, so large logits
    neither overflow nor lose digits. γ = 0 and α = ½ give half the cross-entropy.
    Shapes: logits and targets have the same shape; the result is 0-d, or has this shape for "none".
    Dtypes: float logits; targets of any dtype with the values 0 and 1. Differentiable to any order.
    Errors: `ArgumentError` for γ < 0, α outside [0, 1], an unknown reduction or other targets;
    `ShapeError` for shapes.
    Source: Lin et al., Focal Loss for Dense Object Detection, 2017.

    >>> import ferrograd as fg
    >>> x = fg.tensor([0.0], requires_grad=True)
    >>> loss = fg.functions.FocalLoss(alpha=0.5, gamma=0.0)(x, fg.tensor([1.0]))
    >>> loss.backward()
    >>> round(loss.item(), 6), x.grad.tolist()
    (0.346574, [-0.25])
    """

    def __init__(self, alpha: float = 0.25, gamma: float = 2.0, reduction: str = "mean") -> None:
        if not 0.0 <= alpha <= 1.0:
            raise ArgumentError(f"FocalLoss: alpha is {alpha}; give a number from 0 to 1")
        if not gamma >= 0.0:
            raise ArgumentError(f"FocalLoss: gamma is {gamma}; give a number of at least 0")
        self.alpha, self.gamma = float(alpha), float(gamma)
        self.reduction = _check_reduction("FocalLoss", reduction)

    def forward(self, inputs: tuple[Any, ...], ctx: FunctionContext) -> list[Tensor]:
        """The loss."""
        logits, target = _check_pair("FocalLoss", inputs)
        if not bool(((target == 0) | (target == 1)).all()):
            raise ArgumentError("FocalLoss: a target is neither 0 nor 1; give class labels")
        ctx.save_for_backward(logits, target)
        _, weight, z = self._terms(logits, target)
        return [_reduce(weight * exp(-self.gamma * softplus(z)) * softplus(-z), self.reduction)]

    def _terms(self, logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The sign 2t - 1, the weight α_t, and the logit of p_t."""
        t = target.detach().astype(logits.dtype)
        sign = 2.0 * t - 1.0
        return sign, self.alpha * t + (1.0 - self.alpha) * (1.0 - t), sign * logits

    def backward(
        self, grad_outputs: tuple[Any, ...], ctx: FunctionContext
    ) -> Sequence[Tensor | None]:
        """The gradient of the logits; None for the target."""
        logits, target = ctx.saved_tensors
        sign, weight, z = self._terms(logits, target)
        slope = self.gamma * sigmoid(z) * softplus(-z) + sigmoid(-z)
        g = _scale_gradient(grad_outputs[0], int(logits.size), self.reduction)
        return [-(g * sign * weight * exp(-self.gamma * softplus(z)) * slope), None]
