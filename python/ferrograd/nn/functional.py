"""Functions of neural networks: the operations under PyTorch's names.

Owns: `linear` and `mse_loss`, which are compositions; every other one is an operation of the core.
Invariant: weights are [in, out], and every loss multiplies by the gradient that arrives.
"""

from typing import Any

from ferrograd._core import (
    Tensor,
    asarray,
    cross_entropy as cross_entropy,
    gelu as gelu,
    log_softmax as log_softmax,
    relu as relu,
    sigmoid as sigmoid,
    softmax as softmax,
    tanh as tanh,
)
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.functors._ops import add_fiber, gemm
from ferrograd.nn._operations import *  # noqa: F403 - the registry lists them


def linear(  # type: ignore[no-redef]
    input: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """`input @ weight + bias` over the last axis; the weight is [in, …, out], the bias [out].

    Shapes: […, in] to […, out]. Errors: `ShapeError` when the sizes do not fit.

    >>> import ferrograd as fg
    >>> fg.nn.functional.linear(fg.ones(2, 3), fg.ones(3, 4), fg.ones(4)).tolist()[0]
    [4.0, 4.0, 4.0, 4.0]
    """
    out = gemm(input, weight)
    return out if bias is None else add_fiber(1.0, bias, 1.0, out, out.ndim - 1)


def checked_reduction(op: str, reduction: str) -> str:
    """The reduction, if it is one."""
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f'{op}: reduction={reduction!r}; use "mean", "sum" or "none"')
    return reduction


def mse_loss(  # type: ignore[no-redef]
    input: Tensor, target: Any, reduction: str = "mean"
) -> Tensor:
    """`(input - target)²`, its mean, or its sum. dinput = `2 g (input - target)`, / n for the mean.

    Shapes: input and target agree, nothing broadcasts; 0-d, or their shape for "none".
    Errors: `ShapeError` for unequal shapes, `ArgumentError` for an unknown reduction.

    >>> import ferrograd as fg
    >>> fg.nn.functional.mse_loss(fg.tensor([1.0, 3.0]), fg.tensor([1.0, 1.0]), "sum").item()
    4.0
    """
    checked_reduction("mse_loss", reduction)
    target = asarray(target)
    if tuple(input.shape) != tuple(target.shape):
        raise ShapeError(
            f"mse_loss: the input has shape {tuple(input.shape)} and the target"
            f" {tuple(target.shape)}; they must agree"
        )
    difference = input - target
    squares: Tensor = difference * difference
    if reduction == "none":
        return squares
    return squares.mean() if reduction == "mean" else squares.sum()
