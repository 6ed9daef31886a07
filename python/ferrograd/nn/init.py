"""Initialising parameters. Invariant: numbers come from the default or the given generator.

The axes of fan-in and fan-out follow from `layout`, from the layer that owns the weight, or from
its rank; see `fans`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ferrograd._core import Tensor, asarray, erfinv, get_default_dtype
from ferrograd._tensor.generator import Generator, draw_tensor, normal_numbers
from ferrograd.errors import ArgumentError, DTypeError, ShapeError
from ferrograd.nn._parameter import Parameter

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

#: The layouts of a weight.
LAYOUTS = ("in_out", "out_in")

Source = Generator | np.random.Generator | None

_GAINS = {
    "linear": 1.0,
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), 1.0),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 1.0),
    "sigmoid": 1.0,
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
}


def fresh(
    shape: tuple[int, ...], bound: float, dtype: DTypeLike | None, generator: Source
) -> Parameter:
    """A parameter of uniform numbers in ±bound."""
    return started(empty_parameter(shape, dtype), "uniform_", (-bound, bound), generator)


def started(
    parameter: Parameter, name: str, numbers: tuple[float, ...] = (), generator: Source = None
) -> Parameter:
    """Fills a parameter by a function of this module, and notes how for `restart`."""
    parameter.start = name, numbers
    return restart(parameter, generator)


def restart(parameter: Parameter, generator: Source = None) -> Parameter:
    """Fills a parameter as when its layer was made."""
    if getattr(parameter, "start", None) is None:
        raise ArgumentError(
            f"reset_parameters: a parameter of shape {tuple(parameter.shape)} was given to the"
            " layer; fill it by a function of nn.init"
        )
    name, numbers = parameter.start  # type: ignore[misc]
    drawn = {} if name == "constant_" else {"generator": generator}
    globals()[name](parameter, *numbers, **drawn)
    return parameter


def empty_parameter(shape: tuple[int, ...], dtype: DTypeLike | None) -> Parameter:
    """A parameter to be filled."""
    return Parameter(np.zeros(shape, dtype or get_default_dtype()))


def bounds(fan_in: int) -> tuple[float, float]:
    """The interval ±1/√fan_in."""
    bound = 1.0 / math.sqrt(fan_in)
    return -bound, bound


def _assign_values(tensor: Tensor, values: np.ndarray | Tensor) -> Tensor:
    tensor.data = asarray(values).astype(tensor.dtype)
    return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with one number."""
    return _assign_values(tensor, np.full(tensor.shape, val))


def zeros_(tensor: Tensor) -> Tensor:
    """Fills with zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Fills with ones."""
    return constant_(tensor, 1.0)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Source = None) -> Tensor:
    """Fills with uniform numbers in [a, b); errors: `DTypeError` for complex numbers."""
    shape = tensor.shape
    if tensor.dtype.kind == "c":
        raise DTypeError(
            f"uniform_: dtype {tensor.dtype} is not supported; use normal_, or fill both parts"
        )
    return _assign_values(tensor, draw_tensor(generator, lambda rng: rng.uniform(a, b, shape)))


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Source = None
) -> Tensor:
    """Fills with normal numbers; in complex ones, each part has half of the variance."""
    shape, dtype = tensor.shape, tensor.dtype
    if dtype.kind == "c":
        made = draw_tensor(generator, lambda rng: mean + std * normal_numbers(rng, shape, dtype))
        return _assign_values(tensor, made)
    return _assign_values(tensor, draw_tensor(generator, lambda rng: rng.normal(mean, std, shape)))


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Source = None,
) -> Tensor:
    """Fills with normal numbers truncated to [a, b].

    They are computed from uniform numbers with the inverse distribution function.

    >>> import ferrograd as fg
    >>> w = fg.nn.init.trunc_normal_(fg.zeros(1000), std=5.0)
    >>> bool(abs(w).max() <= 2.0)
    True
    """
    if a > b:
        raise ArgumentError(f"trunc_normal_: a={a} and b={b}; give an interval")
    low, high = (math.erf((end - mean) / (std * math.sqrt(2.0))) for end in (a, b))
    shape = tensor.shape
    levels = asarray(draw_tensor(generator, lambda rng: rng.uniform(low, high, shape)))
    values = mean + std * math.sqrt(2.0) * erfinv(levels)
    return _assign_values(tensor, values.clip(a, b))


def eye_(tensor: Tensor) -> Tensor:
    """Fills a matrix with the identity."""
    if tensor.ndim != 2:
        raise ShapeError(f"eye_: a tensor of shape {tuple(tensor.shape)}; give a matrix")
    return _assign_values(tensor, np.eye(int(tensor.shape[0]), int(tensor.shape[1])))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fills the weight of a convolution so that it keeps as many channels as it can.

    >>> import ferrograd as fg
    >>> layer = fg.nn.Conv1d(2, 2, 3, padding=1, bias=False)
    >>> _ = fg.nn.init.dirac_(layer.weight)
    >>> layer(fg.tensor([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
    [[[1.0, 2.0], [3.0, 4.0]]]
    """
    shape = tuple(int(n) for n in tensor.shape)
    if not 3 <= len(shape) <= 5 or shape[0] % groups:
        raise ShapeError(
            f"dirac_: a tensor of shape {shape} and {groups} groups; give [out, in / groups, …] of"
            " 3 to 5 axes, out a multiple of the groups"
        )
    values = np.zeros(shape)
    middle = tuple(n // 2 for n in shape[2:])
    each = shape[0] // groups
    for group in range(groups):
        for channel in range(min(each, shape[1])):
            values[(group * each + channel, channel, *middle)] = 1.0
    return _assign_values(tensor, values)


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Source = None) -> Tensor:
    """Fills with a matrix of orthonormal rows or columns, times `gain`; axes after the first count
    as one. Source: Saxe et al., arXiv:1312.6120.

    >>> import ferrograd as fg
    >>> w = fg.nn.init.orthogonal_(fg.zeros(2, 3))
    >>> bool(fg.allclose(w @ w.T, fg.eye(2)))
    True
    """
    if tensor.ndim < 2:
        raise ShapeError(f"orthogonal_: a tensor of shape {tuple(tensor.shape)}; give 2 axes")
    rows = int(tensor.shape[0])
    columns = math.prod(int(n) for n in tensor.shape[1:])
    shape = (max(rows, columns), min(rows, columns))

    def draw_orthogonal(rng: np.random.Generator) -> np.ndarray:
        q, r = np.linalg.qr(rng.standard_normal(shape))
        q *= np.sign(np.diag(r))
        return np.ascontiguousarray(q.T if rows < columns else q)

    values = asarray(draw_tensor(generator, draw_orthogonal)) * gain
    return _assign_values(tensor, values.reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Source = None) -> Tensor:
    """Fills a matrix with normal numbers; a fraction `sparsity` of each column is zero.

    Source: Martens, 2010.

    >>> import ferrograd as fg
    >>> int((fg.nn.init.sparse_(fg.ones(10, 3), 0.25) == 0).sum())
    9
    """
    if tensor.ndim != 2:
        raise ShapeError(f"sparse_: a tensor of shape {tuple(tensor.shape)}; give a matrix")
    rows, columns = (int(n) for n in tensor.shape)
    zeros = math.ceil(sparsity * rows)

    def draw_sparse(rng: np.random.Generator) -> np.ndarray:
        values = rng.normal(0.0, std, (rows, columns))
        for column in range(columns):
            values[rng.permutation(rows)[:zeros], column] = 0.0
        return values

    return _assign_values(tensor, draw_tensor(generator, draw_sparse))


def fans(tensor: Tensor, layout: str | None = None) -> tuple[int, int]:
    """Fan-in and fan-out of a weight.

    `layout` is "in_out" for [in, …, out], as in `nn.Linear`, or "out_in" for [out, in, …], as in
    convolutions and PyTorch's layers; the other axes of "out_in" are kernel positions, which count
    for both fans. The default is the layout of the layer that owns the weight, else "in_out" for a
    matrix and "out_in" for more axes.
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
    """The recommended scale of weights for a non-linearity.

    `param` is the slope of "leaky_relu", by default 0.01.

    >>> import ferrograd as fg
    >>> fg.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
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
    """Fills with uniform numbers of variance `2 gain² / (in + out)`; see `fans` for the axes.

    Source: Glorot and Bengio, 2010.
    """
    bound = gain * math.sqrt(6.0 / sum(fans(tensor, layout)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, generator: Source = None, *, layout: str | None = None
) -> Tensor:
    """Fills with normal numbers of variance `2 gain² / (in + out)`; see `fans` for the axes."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor, layout))), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Source = None,
    *,
    layout: str | None = None,
) -> Tensor:
    """Fills with uniform numbers of variance `gain² / fan`; see `fans` for the axes.

    The gain is that of the non-linearity, `a` the slope of "leaky_relu". Source: arXiv:1502.01852.
    """
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / _compute_fan(tensor, mode, layout))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Source = None,
    *,
    layout: str | None = None,
) -> Tensor:
    """Fills with normal numbers of variance `gain² / fan`; options as `kaiming_uniform_`."""
    std = calculate_gain(nonlinearity, a) / math.sqrt(_compute_fan(tensor, mode, layout))
    return normal_(tensor, 0.0, std, generator)


def _compute_fan(tensor: Tensor, mode: str, layout: str | None) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f'init: mode={mode!r}; use "fan_in" or "fan_out"')
    return fans(tensor, layout)[mode == "fan_out"]
