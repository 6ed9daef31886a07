"""Normalisation functions that are not operations of the core.

Invariant: running averages change in place, outside the graph, and only in training mode.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core, linalg
from ferrograd._core import Tensor, asarray
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn._operations import batch_norm, group_norm, pad
from ferrograd.nn.functional._arguments import check_integer


def instance_norm(
    x: Any,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each channel of each row of (N, C, …) by its mean and variance.

    With `use_input_stats=False` the running averages are used. Otherwise the running averages, if
    given, move towards the mean over the rows by `momentum`. Weight and bias have one element per
    channel. Derivative: as that of `layer_norm`. Source: Ulyanov et al., arXiv:1607.08022.
    Errors: `ShapeError` for one value per channel, `ArgumentError` for missing averages.

    >>> import ferrograd as fg
    >>> fg.nn.functional.instance_norm(fg.tensor([[[1.0, 3.0]]]), eps=0.0).tolist()
    [[[-1.0, 1.0]]]
    """
    x = asarray(x)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ArgumentError(
                "instance_norm: use_input_stats=False without running averages; give running_mean"
                " and running_var"
            )
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    if x.ndim < 3 or math.prod(x.shape[2:]) == 1:
        raise ShapeError(
            f"instance_norm: one value per channel in an input of shape {tuple(x.shape)}; give"
            " (N, C, …) with more"
        )
    if running_mean is not None and running_var is not None:
        with no_grad():
            axes = tuple(range(2, x.ndim))
            var, mean = _core.var_mean(x.detach(), axes)
            running_mean.lerp_(mean.mean(0), momentum)
            running_var.lerp_(var.mean(0), momentum)
    return group_norm(x, int(x.shape[1]), weight, bias, eps)


def update_running_stats(x: Tensor, mean: Tensor, var: Tensor, weight: Any) -> None:
    """Moves a channel's mean and variance towards those of a batch, by `weight` of the way."""
    with no_grad():
        axes = (0, *range(2, x.ndim))
        new_var, new_mean = _core.var_mean(x.detach(), axes)
        mean.lerp_(new_mean, weight)
        var.lerp_(new_var, weight)


def local_response_norm(
    x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """`x / (k + alpha mean(x²))^beta`, the mean over `size` neighbouring channels (axis 1).

    Channels beyond the first and last count as 0. Source: Krizhevsky et al., 2012, section 3.3.

    >>> import ferrograd as fg
    >>> fg.nn.functional.local_response_norm(fg.ones(1, 3, 2), 1, alpha=3.0, beta=0.5).tolist()
    [[[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]]
    """
    x = asarray(x)
    if x.ndim < 3:
        raise ShapeError(
            f"local_response_norm: an input of shape {tuple(x.shape)}; it needs (N, C, …)"
        )
    size = check_integer("local_response_norm", "size", size)
    if not x.size:
        return x.clone()
    # Squares of float16 overflow from 256 on.
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    widths = [0, 0] * (x.ndim - 2) + [size // 2, (size - 1) // 2]
    means = pad(wide * wide, widths).unfold(1, size, 1).mean(-1)
    found: Tensor = wide / (k + alpha * means) ** beta
    return found.astype(np.float16) if wide is not x else found


def normalize(x: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """`x / max(|x|_p, eps)`, the norm along `dim`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.normalize(fg.tensor([[3.0, 4.0]])).tolist()
    [[0.6, 0.8]]
    """
    x = asarray(x)
    return x / linalg.vector_norm(x, p, axis=dim, keepdims=True).clip(min=eps)
