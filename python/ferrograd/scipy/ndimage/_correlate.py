"""Linear filters of images: `correlate`, `convolve` and these along one axis.

The sums are those of `correlated`. Images of integers are computed as floats where a tensor is
among the arguments.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._closed_over import floats
from ferrograd.scipy._computed_by_scipy import library
from ferrograd.scipy._window_sums import correlated
from ferrograd.scipy.ndimage._output import fills_output

#: SciPy's and NumPy's names of border modes.
MODES = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "constant": "constant",
    "grid-constant": "constant",
    "nearest": "edge",
    "mirror": "reflect",
    "wrap": "wrap",
    "grid-wrap": "wrap",
}


def checked(name: str, mode: str) -> None:
    """Refuses unknown borders."""
    if mode not in MODES:
        raise ArgumentError(f"{name}: mode is {mode!r}; give one of {', '.join(MODES)}")


def _padded(x: Any, width: list[tuple[int, int]], mode: str, cval: Any) -> Any:
    if not any(before or after for before, after in width):
        return x
    if MODES[mode] == "constant":
        return np.pad(x, width, constant_values=cval)
    return np.pad(x, width, mode=MODES[mode])


def _reach(name: str, size: int, origin: int) -> tuple[int, int]:
    """The extent of a kernel before and after an element."""
    before = size // 2 + origin
    if not 0 <= before < size:
        raise ArgumentError(
            f"{name}: origin is {origin} for a kernel of {size}; keep the middle inside the kernel"
        )
    return before, size - 1 - before


@fills_output
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """`y[n] = Σ_j weights[j] x[n + j - len(weights) // 2 - origin]` along an axis.

    `mode` is the border mode: "reflect", "constant" (`cval`), "nearest", "mirror", "wrap". Complex
    weights are conjugated. Differentiable by `input` and `weights`.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.correlate1d([1.0, 2.0, 4.0], [1.0, 0.0, -1.0], mode="nearest").tolist()
    [-1.0, -3.0, -2.0]
    """
    if not holds_tensor([input, weights, cval]):
        return library("ndimage.correlate1d")(input, weights, axis, output, mode, cval, origin)
    return _along("correlate1d", input, np.conj(floats(weights)), axis, mode, cval, origin)


@fills_output
def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """`correlate1d` with the weights in the reverse order, not conjugated.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.convolve1d([1.0, 2.0, 4.0], [1.0, 0.0, -1.0], mode="nearest").tolist()
    [1.0, 3.0, 2.0]
    """
    if not holds_tensor([input, weights, cval]):
        return library("ndimage.convolve1d")(input, weights, axis, output, mode, cval, origin)
    weights = np.flip(floats(weights))
    origin = -origin - 1 + np.shape(weights)[0] % 2
    return _along("convolve1d", input, weights, axis, mode, cval, origin)


def _along(
    name: str, input: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int
) -> Any:
    checked(name, mode)
    if np.ndim(weights) != 1 or not np.shape(weights)[0]:
        raise ShapeError(f"{name}: weights have shape {np.shape(weights)}; give a vector")
    x = np.moveaxis(floats(input), axis, -1)
    width = [(0, 0)] * (np.ndim(x) - 1) + [_reach(name, np.shape(weights)[0], origin)]
    return np.moveaxis(correlated(_padded(x, width, mode, cval), weights), -1, axis)


@fills_output
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The correlation of an image with a kernel over all axes, or over `axes`; keeps the shape.

    `mode` is the border mode: "reflect", "constant" (`cval`), "nearest", "mirror", "wrap"; `origin`
    shifts the centre of the kernel. Complex weights are conjugated. Differentiable by `input` and
    `weights`.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.correlate(np.eye(2), np.array([[0.0, 1.0, 1.0]]), mode="constant").tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    if not holds_tensor([input, weights, cval]):
        given = {} if axes is None else {"axes": axes}
        return library("ndimage.correlate")(input, weights, output, mode, cval, origin, **given)
    weights, origin = _spread("correlate", np.ndim(input), np.conj(floats(weights)), origin, axes)
    return _whole("correlate", input, weights, mode, cval, origin, False)


@fills_output
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """`correlate` with the kernel reversed along all axes, not conjugated.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.convolve(np.eye(2), np.array([[1.0, 1.0, 0.0]]), mode="constant").tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    if not holds_tensor([input, weights, cval]):
        given = {} if axes is None else {"axes": axes}
        return library("ndimage.convolve")(input, weights, output, mode, cval, origin, **given)
    weights, origin = _spread("convolve", np.ndim(input), floats(weights), origin, axes)
    return _whole("convolve", input, weights, mode, cval, origin, True)


def _spread(name: str, ndim: int, weights: Any, origin: Any, axes: Any) -> tuple[Any, Any]:
    """The kernel and its origins on all axes, of size 1 on those that are not in `axes`."""
    if axes is None:
        return weights, origin
    named = numpy.lib.array_utils.normalize_axis_tuple(axes, ndim, f"{name}: axes")
    if np.ndim(weights) != len(named):
        raise ShapeError(
            f"{name}: weights have shape {np.shape(weights)} for axes {axes}; give a kernel with"
            " one axis for each"
        )
    own = list(origin) if isinstance(origin, list | tuple) else [origin] * len(named)
    # SciPy takes the kernel's axes in their order in the image, and origins in that of `axes`.
    sizes = dict(zip(sorted(named), np.shape(weights), strict=True))
    weights = np.reshape(weights, [sizes.get(k, 1) for k in range(ndim)])
    origins = dict(zip(named, own, strict=True))
    return weights, [origins.get(k, 0) for k in range(ndim)]


def _whole(
    name: str, input: Any, weights: Any, mode: str, cval: Any, origin: Any, turn: bool
) -> Any:
    checked(name, mode)
    x = floats(input)
    if np.ndim(x) != np.ndim(weights) or not np.ndim(x) or 0 in np.shape(weights):
        raise ShapeError(
            f"{name}: input has shape {np.shape(x)} and weights {np.shape(weights)}; give a kernel"
            " with as many axes as the image"
        )
    sizes = np.shape(weights)
    origins = list(origin) if isinstance(origin, list | tuple) else [origin] * len(sizes)
    if turn:
        weights = np.flip(weights)
        origins = [-own - 1 + size % 2 for own, size in zip(origins, sizes, strict=True)]
    width = [_reach(name, size, own) for size, own in zip(sizes, origins, strict=True)]
    return correlated(_padded(x, width, mode, cval), weights)
