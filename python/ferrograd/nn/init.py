"""Filling parameters.

Owns: the initialisers. Never records: a tensor is filled in place with recording off.
Invariant: numbers come from `fg.manual_seed`'s generator or from the one given, and for a matrix
[in, out] the fan-in is the first axis.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ferrograd._core import Tensor, asarray
from ferrograd._tensor.random import Generator, source
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn._parameter import Parameter

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

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


def _fill(tensor: Tensor, values: np.ndarray) -> Tensor:
    tensor.data = asarray(values.astype(tensor.dtype, copy=False))
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
    return _fill(tensor, source(generator).uniform(low, high, tensor.shape))


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Source = None
) -> Tensor:
    """Fills with normal numbers."""
    return _fill(tensor, source(generator).normal(mean, std, tensor.shape))


def fans(tensor: Tensor) -> tuple[int, int]:
    """Fan-in and fan-out of [in, …, out]."""
    if tensor.ndim < 2:
        raise ShapeError(
            f"init: a tensor of shape {tuple(tensor.shape)} has no fan; it needs 2 axes, [in, out]"
        )
    middle = math.prod(tensor.shape[1:-1])
    return int(tensor.shape[0]), int(tensor.shape[-1]) * middle


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a non-linearity wants its weights enlarged."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1.0 + slope**2))
    if nonlinearity not in _GAINS:
        names = ", ".join([*_GAINS, "leaky_relu"])
        raise ArgumentError(f"calculate_gain: {nonlinearity!r} is not known; use one of {names}")
    return _GAINS[nonlinearity]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Source = None) -> Tensor:
    """Fills with uniform numbers of variance `2 gain² / (in + out)`."""
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Source = None) -> Tensor:
    """Fills with normal numbers of variance `2 gain² / (in + out)`."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def kaiming_uniform_(
    tensor: Tensor, nonlinearity: str = "relu", mode: str = "fan_in", generator: Source = None
) -> Tensor:
    """Fills with uniform numbers of variance `gain² / fan`."""
    bound = calculate_gain(nonlinearity) * math.sqrt(3.0 / _fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, nonlinearity: str = "relu", mode: str = "fan_in", generator: Source = None
) -> Tensor:
    """Fills with normal numbers of variance `gain² / fan`."""
    std = calculate_gain(nonlinearity) / math.sqrt(_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def _fan(tensor: Tensor, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f'init: mode={mode!r}; use "fan_in" or "fan_out"')
    return fans(tensor)[mode == "fan_out"]
