"""Activations that are composed: those with a threshold, a weight or a second half.

Activations of one formula are operations of the core. Invariant: at a kink the derivative is
PyTorch's.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray, softmax, tanh, where
from ferrograd._tensor.creation import get_prototype, zeros_like
from ferrograd._tensor.generator import Generator, draw_tensor
from ferrograd.errors import ArgumentError, ArgumentTypeError, ShapeError
from ferrograd.nn import _operations
from ferrograd.nn.functional._arguments import check_not_inplace

#: Computed with `where`, since the loops would compare float16 before rounding.
_LOOP_DTYPES = (np.dtype("float64"), np.dtype("float32"))
_NUMBER_TYPES = (float, int)
Source = Generator | np.random.Generator | None


def _check_limits(op: str, **values: Any) -> None:
    """Refuses limits that cannot be compared with an element."""
    for name, value in values.items():
        if not isinstance(value, (Real, np.ndarray, Tensor)):
            raise ArgumentTypeError(
                f"{op}: {name} is a {type(value).__name__}; pass a number or a tensor"
            )


def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`ln(1 + e^(beta x)) / beta`, and `x` itself where `beta x` exceeds the threshold.

    Shapes: any, kept. dx = `g sigmoid(beta x)`. The default threshold needs no special case: the
    logarithm is computed without overflow.

    >>> import ferrograd as fg
    >>> fg.nn.functional.softplus(fg.tensor([0.0, 100.0]), beta=2.0).round(4).tolist()
    [0.3466, 100.0]
    """
    if beta == 1.0:
        soft: Tensor = _core.softplus(x)
    else:
        soft = _core.softplus(beta * asarray(x)) / beta
    if threshold == 20.0:
        return soft
    x = asarray(x)
    return where(beta * x > threshold, x, soft)


def threshold(x: Any, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`value` up to the threshold, else `x`; dx is 0 there, else `g`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.threshold(fg.tensor([0.5, 2.0]), 1.0, -3.0).tolist()
    [-3.0, 2.0]
    """
    check_not_inplace("threshold", inplace, "F.threshold_(x)")
    x = asarray(get_prototype("threshold", x))
    if (
        x.dtype in _LOOP_DTYPES
        and type(threshold) in _NUMBER_TYPES
        and type(value) in _NUMBER_TYPES
    ):
        return _operations._threshold(x, threshold, value)
    _check_limits("threshold", threshold=threshold, value=value)
    return where(x <= threshold, value, x)


def hardshrink(x: Any, lambd: float = 0.5) -> Tensor:
    """0 where `|x| <= lambd`, else `x`; dx is 0 there, else `g`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.hardshrink(fg.tensor([0.4, -0.6])).tolist()
    [0.0, -0.6]
    """
    x = asarray(get_prototype("hardshrink", x))
    if x.dtype in _LOOP_DTYPES and type(lambd) in _NUMBER_TYPES and lambd >= 0:
        return _operations._hardshrink(x, lambd)
    _check_limits("hardshrink", lambd=lambd)
    return where(abs(x) <= lambd, 0.0, x)


def softshrink(x: Any, lambd: float = 0.5) -> Tensor:
    """`x` moved towards 0 by `lambd`, at most to 0; dx is `g` where `|x| > lambd`, else 0.

    >>> import ferrograd as fg
    >>> fg.nn.functional.softshrink(fg.tensor([0.25, -0.75])).tolist()
    [0.0, -0.25]
    """
    x = asarray(get_prototype("softshrink", x))
    if x.dtype in _LOOP_DTYPES and type(lambd) in _NUMBER_TYPES and lambd >= 0:
        return _operations._softshrink(x, lambd)
    _check_limits("softshrink", lambd=lambd)
    if np.any(np.asarray(lambd) < 0):
        raise ArgumentError(f"softshrink: lambd={lambd}; give at least 0")
    return x - x.clip(-lambd, lambd)


def tanhshrink(x: Any) -> Tensor:
    """`x - tanh(x)`; dx = `g tanh(x)²`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.tanhshrink(fg.tensor([0.0])).tolist()
    [0.0]
    """
    x = asarray(x)
    return x - tanh(x)


def prelu(x: Any, weight: Any) -> Tensor:
    """`x` above zero, `weight x` elsewhere; one weight, or one for each channel (axis 1).

    Shapes: x (N, C, …) or a vector, weight (1) or (C). dx = `g`, or `g weight`; dweight = the sum
    of `g x` where `x <= 0`. Source: He et al., arXiv:1502.01852.
    Errors: `ShapeError` for another number of weights.

    >>> import ferrograd as fg
    >>> fg.nn.functional.prelu(fg.tensor([[1.0, -2.0]]), fg.tensor([0.5, 0.25])).tolist()
    [[1.0, -0.5]]
    """
    x, weight = asarray(get_prototype("prelu", x)), asarray(weight)
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.ndim > 1:
        raise ShapeError(
            f"prelu: a weight of shape {tuple(weight.shape)}; give a number or a vector"
        )
    if weight.size not in (1, channels):
        raise ShapeError(
            f"prelu: {weight.size} weights for an input of shape {tuple(x.shape)}; give 1 or"
            f" {channels}, one for each channel"
        )
    if weight.size > 1:
        weight = weight.reshape((channels,) + (1,) * (x.ndim - 2))
    elif weight.ndim > x.ndim:
        weight = weight.reshape(())
    if x.dtype in _LOOP_DTYPES and weight.dtype in _LOOP_DTYPES:
        return _operations._prelu(x, weight)
    return where(x > 0, x, weight * x)


def rrelu(
    x: Any,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
    *,
    generator: Source = None,
) -> Tensor:
    """`x` above zero, `slope x` elsewhere; the slope is drawn for each element while training.

    It is uniform in [lower, upper), and their mean when not training. Source: Xu et al.,
    arXiv:1505.00853.

    >>> import ferrograd as fg
    >>> fg.nn.functional.rrelu(fg.tensor([2.0, -8.0]), 0.25, 0.5).tolist()
    [2.0, -3.0]
    """
    check_not_inplace("rrelu", inplace, "F.rrelu_(x)")
    if lower > upper:
        raise ArgumentError(f"rrelu: lower={lower} is above upper={upper}; give the lower first")
    x = asarray(x)
    if not training:
        return _core.leaky_relu(x, (lower + upper) / 2)
    shape, dtype = x.shape, x.dtype
    slope = draw_tensor(generator, lambda rng: rng.uniform(lower, upper, shape).astype(dtype))
    return where(x >= 0, x, slope * x)


def glu(x: Any, dim: int = -1) -> Tensor:
    """`a sigmoid(b)`, with `a` and `b` the halves of an axis.

    Source: Dauphin et al., arXiv:1612.08083.
    Errors: `ShapeError` for an odd axis.

    >>> import ferrograd as fg
    >>> fg.nn.functional.glu(fg.tensor([4.0, 0.0])).tolist()
    [2.0]
    """
    x = asarray(x)
    if not x.ndim:
        raise ShapeError("glu: a tensor without axes has no halves; give an even axis")
    if x.shape[dim] % 2:
        raise ShapeError(
            f"glu: axis {dim} of an input of shape {tuple(x.shape)} is odd; give an even axis"
        )
    a, b = _core.split(x, 2, dim)
    return a * _core.sigmoid(b)


def softmin(x: Any, dim: int, dtype: Any = None) -> Tensor:
    """`softmax(-x)` along an axis.

    >>> import ferrograd as fg
    >>> fg.nn.functional.softmin(fg.tensor([3.0, 3.0]), 0).tolist()
    [0.5, 0.5]
    """
    return softmax(-asarray(x), dim, dtype)


def gumbel_softmax(
    logits: Any,
    tau: float = 1.0,
    hard: bool = False,
    dim: int = -1,
    *,
    generator: Source = None,
) -> Tensor:
    """A draw from the Gumbel-softmax distribution: `softmax((logits + G) / tau)`.

    G is Gumbel noise. With `hard`, the value is the one-hot vector of the largest and the
    derivative that of the soft draw. Source: Jang et al., arXiv:1611.01144.

    >>> import ferrograd as fg
    >>> draw = fg.nn.functional.gumbel_softmax(fg.zeros(5, 3), hard=True)
    >>> draw.sum(-1).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    logits = asarray(logits)
    shape, dtype = logits.shape, logits.dtype
    noise = draw_tensor(generator, lambda rng: rng.gumbel(size=shape).astype(dtype))
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    most = soft.detach()
    first = _core.argmax(most, dim, keepdims=True)
    one = _core.put_along_axis(zeros_like(most), first, 1.0, dim)
    return one - most + soft


def _make_inplace_function(name: str, text: str) -> Any:
    def apply(x: Tensor, *options: Any, **named: Any) -> Tensor:
        return getattr(x, name)(*options, **named)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"`{text}` in place, with the options of the function; returns the tensor."
    return apply


relu_ = _make_inplace_function("relu_", "relu(x)")
elu_ = _make_inplace_function("elu_", "elu(x)")
selu_ = _make_inplace_function("selu_", "selu(x)")
celu_ = _make_inplace_function("celu_", "celu(x)")
leaky_relu_ = _make_inplace_function("leaky_relu_", "leaky_relu(x)")
hardtanh_ = _make_inplace_function("hardtanh_", "hardtanh(x)")


def threshold_(x: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place; returns the tensor.

    >>> import ferrograd as fg
    >>> fg.nn.functional.threshold_(fg.tensor([0.5, 2.0]), 1.0, 0.0).tolist()
    [0.0, 2.0]
    """
    return x.masked_fill_(x <= threshold, value)


def rrelu_(
    x: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    *,
    generator: Source = None,
) -> Tensor:
    """`rrelu` in place; returns the tensor."""
    return x.copy_(rrelu(x, lower, upper, training, generator=generator))
