"""Filling parameters.

Owns: the initialisers. Never records: a tensor is filled in place with recording off.
Invariant: numbers come from `fg.manual_seed`'s generator or from the one given. Which axes of a
weight are its fans is said by `layout`, by the layer that owns it, or by its rank; see `fans`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ferrograd._core import Tensor, asarray
from ferrograd._tensor.generator import Generator, drawn
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn._parameter import Parameter

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

#: What the axes of a weight may mean.
LAYOUTS = ("in_out", "out_in")

Source = Generator | np.random.Generator | None

_GAINS = {
    "linear": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
}


def empty_parameter(shape: tuple[int, ...], dtype: DTypeLike) -> Parameter:
    """A parameter to be filled."""
    return Parameter(np.zeros(shape, dtype))


def bounds(fan_in: int) -> tuple[float, float]:
    """The interval ±1/√fan_in."""
    bound = 1.0 / math.sqrt(fan_in)
    return -bound, bound


def _fill(tensor: Tensor, values: np.ndarray | Tensor) -> Tensor:
    tensor.data = asarray(values).astype(tensor.dtype)
    return tensor


def constant_(tensor: Tensor, value: float) -> Tensor:
    """Fills with one number."""
    return _fill(tensor, np.full(tensor.shape, value))


def zeros_(tensor: Tensor) -> Tensor:
    """Fills with zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Fills with ones."""
    return constant_(tensor, 1.0)


def uniform_(
    tensor: Tensor, low: float = 0.0, high: float = 1.0, generator: Source = None
) -> Tensor:
    """Fills with uniform numbers in [low, high)."""
    shape = tensor.shape
    return _fill(tensor, drawn(generator, lambda rng: rng.uniform(low, high, shape)))


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Source = None
) -> Tensor:
    """Fills with normal numbers."""
    shape = tensor.shape
    return _fill(tensor, drawn(generator, lambda rng: rng.normal(mean, std, shape)))


def fans(tensor: Tensor, layout: str | None = None) -> tuple[int, int]:
    """Fan-in and fan-out of a weight.

    `layout` is "in_out" for [in, …, out], as `nn.Linear` keeps its weight, or "out_in" for
    [out, in, …], as convolutions and PyTorch's layers do; axes beyond the two are positions of a
    kernel there, which count for both fans. Left out, it is what the layer says that owns the
    weight, and else "in_out" for a matrix and "out_in" for more axes.
    Errors: `ShapeError` below 2 axes, `ArgumentError` for another layout.
    """
    if tensor.ndim < 2:
        raise ShapeError(
            f"init: a tensor of shape {tuple(tensor.shape)} has no fan; it needs 2 axes, [in, out]"
        )
    if layout is None:
        layout = getattr(tensor, "fan_layout", None) or ("in_out" if tensor.ndim == 2 else "out_in")
    if layout not in LAYOUTS:
        raise ArgumentError(f'init: layout={layout!r}; use "in_out" or "out_in"')
    first, *middle = (int(size) for size in tensor.shape)
    if layout == "in_out":
        return first, math.prod(middle)
    kernel = math.prod(middle[1:])
    return middle[0] * kernel, first * kernel


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a non-linearity wants its weights enlarged."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1.0 + slope**2))
    if nonlinearity not in _GAINS:
        names = ", ".join([*_GAINS, "leaky_relu"])
        raise ArgumentError(f"calculate_gain: {nonlinearity!r} is not known; use one of {names}")
    return _GAINS[nonlinearity]


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Source = None, *, layout: str | None = None
) -> Tensor:
    """Fills with uniform numbers of variance `2 gain² / (in + out)`; `fans` says which axes."""
    bound = gain * math.sqrt(6.0 / sum(fans(tensor, layout)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, generator: Source = None, *, layout: str | None = None
) -> Tensor:
    """Fills with normal numbers of variance `2 gain² / (in + out)`; `fans` says which axes."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor, layout))), generator)


def kaiming_uniform_(
    tensor: Tensor,
    nonlinearity: str = "relu",
    mode: str = "fan_in",
    generator: Source = None,
    *,
    layout: str | None = None,
) -> Tensor:
    """Fills with uniform numbers of variance `gain² / fan`; `fans` says which axes."""
    bound = calculate_gain(nonlinearity) * math.sqrt(3.0 / _fan(tensor, mode, layout))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    nonlinearity: str = "relu",
    mode: str = "fan_in",
    generator: Source = None,
    *,
    layout: str | None = None,
) -> Tensor:
    """Fills with normal numbers of variance `gain² / fan`; `fans` says which axes."""
    std = calculate_gain(nonlinearity) / math.sqrt(_fan(tensor, mode, layout))
    return normal_(tensor, 0.0, std, generator)


def _fan(tensor: Tensor, mode: str, layout: str | None) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f'init: mode={mode!r}; use "fan_in" or "fan_out"')
    return fans(tensor, layout)[mode == "fan_out"]
