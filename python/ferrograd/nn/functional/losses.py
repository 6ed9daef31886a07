"""Losses of one value, class or probability that are composed.

Losses with a fused kernel are operations of the core. Invariant: a loss multiplies by the gradient
that arrives, and its mean is over all elements.
"""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor, asarray, where
from ferrograd._tensor import creation
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn import _operations
from ferrograd.nn.functional._arguments import (
    check_class_indices,
    check_reduction,
    check_same_shape,
    reduce_losses,
)


def mse_loss(
    x: Any,
    target: Any,
    reduction: str = "mean",
    weight: Any = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> Tensor:
    """`(x - target)²`, its mean, or its sum.

    `weight`, of the input's shape, multiplies each; the mean is over the sum of weights then.
    Derivative: `2 (x - target)` times weight. Errors: `ShapeError` for shapes that differ.

    >>> import ferrograd as fg
    >>> x, t = fg.tensor([1.0, 3.0]), fg.tensor([0.0, 1.0])
    >>> fg.nn.functional.mse_loss(x, t, weight=fg.tensor([3.0, 1.0])).item()
    1.75
    """
    if weight is None:
        return _operations._mse_loss(x, target, reduction, out=out, name=name)
    return _weighted_loss("mse_loss", x, target, reduction, weight, out, name)


def l1_loss(
    x: Any,
    target: Any,
    reduction: str = "mean",
    weight: Any = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> Tensor:
    """`|x - target|`, its mean, or its sum; `weight` as in `mse_loss`.

    Derivative: the sign, times weight, 0 at 0. Errors: `ShapeError` for shapes that differ.

    >>> import ferrograd as fg
    >>> fg.nn.functional.l1_loss(fg.tensor([1.0, 3.0]), fg.tensor([0.0, 1.0])).item()
    1.5
    """
    if weight is None:
        return _operations._l1_loss(x, target, reduction, out=out, name=name)
    return _weighted_loss("l1_loss", x, target, reduction, weight, out, name)


def huber_loss(
    x: Any,
    target: Any,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Any = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> Tensor:
    """`d² / 2` up to `delta`, `delta (|d| - delta / 2)` beyond, of the differences `d`.

    `weight`, of the input's shape, multiplies each; the mean is over the number of elements, as in
    PyTorch. Errors: `ShapeError` for shapes that differ.

    >>> import ferrograd as fg
    >>> fg.nn.functional.huber_loss(fg.tensor([4.0]), fg.tensor([1.0]), delta=2.0).item()
    4.0
    """
    if weight is None:
        return _operations._huber_loss(x, target, reduction, delta, out=out, name=name)
    return _weighted_loss("huber_loss", x, target, reduction, weight, out, name, delta)


def _weighted_loss(
    op: str, x: Any, target: Any, reduction: str, weight: Any, out: Any, name: Any, *more: float
) -> Tensor:
    check_reduction(op, reduction)
    if out is not None or name is not None:
        raise ArgumentError(f"{op}: out= and name= are for calls without weight; leave them out")
    losses: Tensor = getattr(_operations, f"_{op}")(x, target, "none", *more)
    losses, weight = check_same_shape(op, losses, weight)
    if reduction == "mean" and op != "huber_loss":
        return (losses * weight).sum() / weight.sum()
    return reduce_losses(op, losses * weight, reduction)


def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """`e^x - t x`, or `x - t ln(x + eps)` without `log_input`: counts `t` of a Poisson law.

    With `full`, Stirling's approximation of `ln t!` is added where `t > 1`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.poisson_nll_loss(fg.tensor([0.0]), fg.tensor([3.0])).item()
    1.0
    """
    x, target = asarray(input), asarray(target)
    losses = _core.exp(x) - target * x if log_input else x - target * _core.log(x + eps)
    if full:
        safe = target.clip(min=1.0)
        stirling = safe * _core.log(safe) - safe + 0.5 * _core.log(2 * math.pi * safe)
        losses = losses + where(target > 1, stirling, 0.0)
    return reduce_losses("poisson_nll_loss", losses, reduction)


def gaussian_nll_loss(
    input: Any,
    target: Any,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """`½ (ln v + (x - t)² / v)`, `v` the variance, at least `eps` (outside the derivative).

    `var` has the input's shape, has 1 for some of its axes, lacks the last one, or is a number.
    With `full`, `½ ln 2π` is added.
    Errors: `ShapeError` for a shape that does not fit; a negative variance counts as `eps`.

    >>> import ferrograd as fg
    >>> x, t, v = fg.tensor([1.0]), fg.tensor([3.0]), fg.tensor([1.0])
    >>> fg.nn.functional.gaussian_nll_loss(x, t, v).item()
    2.0
    """
    x, target, var = asarray(input), asarray(target), asarray(var)
    shape = tuple(x.shape)
    if var.ndim and tuple(var.shape) != shape:
        if tuple(var.shape) == shape[:-1]:
            var = var.unsqueeze(-1)
        elif var.ndim != len(shape) or any(
            have not in (1, n) for have, n in zip(var.shape, shape, strict=True)
        ):
            raise ShapeError(
                f"gaussian_nll_loss: input of shape {shape} and var of shape {tuple(var.shape)};"
                " give one variance for each element, or 1 for an axis that shares it"
            )
    # The bound does not enter the derivative: the variance learns also below it.
    safe = var + (var.detach().clip(min=eps) - var.detach())
    losses = 0.5 * (_core.log(safe) + (x - target) ** 2 / safe)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduce_losses("gaussian_nll_loss", losses, reduction)


def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """`ln(1 + e^(-t x))` for targets 1 and -1.

    >>> import ferrograd as fg
    >>> x, t = fg.tensor([0.0]), fg.tensor([1.0])
    >>> round(fg.nn.functional.soft_margin_loss(x, t).item(), 6)
    0.693147
    """
    x, target = check_same_shape("soft_margin_loss", input, target)
    return reduce_losses("soft_margin_loss", _core.softplus(-target * x), reduction)


def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """The mean over classes (the last axis) of binary cross entropies of logits.

    >>> import ferrograd as fg
    >>> x, t = fg.zeros(1, 2), fg.tensor([[1.0, 0.0]])
    >>> round(fg.nn.functional.multilabel_soft_margin_loss(x, t).item(), 6)
    0.693147
    """
    x, target = check_same_shape("multilabel_soft_margin_loss", input, target)
    losses = target * _core.softplus(-x) + (1 - target) * _core.softplus(x)
    if weight is not None:
        losses = losses * weight
    return reduce_losses("multilabel_soft_margin_loss", losses.mean(-1), reduction)


def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """`x` for targets 1, `max(0, margin - x)` for targets -1.

    >>> import ferrograd as fg
    >>> x, t = fg.tensor([0.5, 0.25]), fg.tensor([1.0, -1.0])
    >>> fg.nn.functional.hinge_embedding_loss(x, t, reduction="none").tolist()
    [0.5, 0.75]
    """
    x, target = check_same_shape("hinge_embedding_loss", input, target)
    far = where(target != 1, _core.relu(margin - x), 0.0)
    near = where(target != -1, x, 0.0)
    return reduce_losses("hinge_embedding_loss", far + near, reduction)


def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """`Σ_{i≠t} max(0, margin - x_t + x_i)^p / C` for the class `t` of each row of (N, C).

    `weight` has one element per class, that of the target counts.
    Errors: `ArgumentError` for a `p` other than 1 and 2.

    >>> import ferrograd as fg
    >>> x, t = fg.tensor([[0.0, 0.5]]), fg.tensor([0])
    >>> fg.nn.functional.multi_margin_loss(x, t).item()
    0.75
    """
    x, target = asarray(input), asarray(target)
    if p not in (1, 2):
        raise ArgumentError(f"multi_margin_loss: p={p}; use 1 or 2")
    if x.ndim == 1:
        x, target = x.unsqueeze(0), target.reshape((1,))
        losses = _compute_margin_losses(x, target, p, margin, weight)[0]
    else:
        losses = _compute_margin_losses(x, target, p, margin, weight)
    return reduce_losses("multi_margin_loss", losses, reduction)


def _compute_margin_losses(x: Tensor, target: Tensor, p: int, margin: float, weight: Any) -> Tensor:
    if x.ndim != 2 or tuple(target.shape) != (x.shape[0],):
        raise ShapeError(
            f"multi_margin_loss: input of shape {tuple(x.shape)} and target of shape"
            f" {tuple(target.shape)}; give (N, C) and (N)"
        )
    column = check_class_indices("multi_margin_loss", target, int(x.shape[1])).unsqueeze(1)
    right = _core.take_along_axis(x, column, 1)
    steps = _core.relu(margin - right + x)
    if p == 2:
        steps = steps * steps
    if weight is not None:
        steps = steps * asarray(weight)[target].unsqueeze(1)
    others = creation.arange(int(x.shape[1])) != column
    return where(others, steps, 0.0).sum(1) / float(x.shape[1])


def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """`Σ max(0, 1 - (x_t - x_i)) / C` over targets `t` and all other classes `i`.

    Shapes: input (N, C) or (C), target with the same shape: class indices, ended by -1.

    >>> import ferrograd as fg
    >>> x, t = fg.tensor([0.0, 0.5]), fg.tensor([0, -1])
    >>> fg.nn.functional.multilabel_margin_loss(x, t).item()
    0.75
    """
    x, target = check_same_shape("multilabel_margin_loss", input, target)
    if x.ndim == 1:
        losses = _compute_multilabel_losses(x.unsqueeze(0), target.unsqueeze(0))[0]
    else:
        losses = _compute_multilabel_losses(x, target)
    return reduce_losses("multilabel_margin_loss", losses, reduction)


def _compute_multilabel_losses(x: Tensor, target: Tensor) -> Tensor:
    # A label counts until the first -1 of its row.
    check_class_indices("multilabel_margin_loss", target, int(x.shape[1]), least=-1)
    counts = _core.cumsum((target < 0).astype("int64"), 1) == 0
    safe = where(counts, target, 0)
    right = _core.take_along_axis(x, safe, 1)
    classes = creation.arange(int(x.shape[1]))
    is_label = ((safe.unsqueeze(2) == classes) & counts.unsqueeze(2)).any(1)
    steps = _core.relu(1 - right.unsqueeze(2) + x.unsqueeze(1))
    pairs = counts.unsqueeze(2) & ~is_label.unsqueeze(1)
    return where(pairs, steps, 0.0).sum((1, 2)) / float(x.shape[1])
