"""Linear filters of images: `correlate`, `convolve` and these along one axis.

The sums are those of `correlate_valid`. Images of integers are computed as floats where a tensor is
among the arguments.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy._correlate_valid import correlate_valid
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.ndimage._output import support_output

#: SciPy's and NumPy's names of border modes.
PAD_MODES = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "constant": "constant",
    "grid-constant": "constant",
    "nearest": "edge",
    "mirror": "reflect",
    "wrap": "wrap",
    "grid-wrap": "wrap",
}


def check_mode(name: str, mode: str) -> None:
    """Raises for an unknown mode of the border."""
    if mode not in PAD_MODES:
        raise ArgumentError(f"{name}: mode is {mode!r}; give one of {', '.join(PAD_MODES)}")


def _pad(x: Any, width: list[tuple[int, int]], mode: str, cval: Any) -> Any:
    if not any(before or after for before, after in width):
        return x
    if PAD_MODES[mode] == "constant":
        return np.pad(x, width, constant_values=cval)
    return np.pad(x, width, mode=PAD_MODES[mode])


def _compute_kernel_extent(name: str, size: int, origin: int) -> tuple[int, int]:
    """The extent of a kernel before and after an element."""
    before = size // 2 + origin
    if not 0 <= before < size:
        raise ArgumentError(
            f"{name}: origin is {origin} for a kernel of {size}; keep the middle inside the kernel"
        )
    return before, size - 1 - before


@support_output
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
        return get_scipy_function("ndimage.correlate1d")(
            input, weights, axis, output, mode, cval, origin
        )
    return _correlate_axis(
        "correlate1d", input, np.conj(as_floats(weights)), axis, mode, cval, origin
    )


@support_output
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
        return get_scipy_function("ndimage.convolve1d")(
            input, weights, axis, output, mode, cval, origin
        )
    weights = np.flip(as_floats(weights))
    origin = -origin - 1 + np.shape(weights)[0] % 2
    return _correlate_axis("convolve1d", input, weights, axis, mode, cval, origin)


def _correlate_axis(
    name: str, input: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int
) -> Any:
    check_mode(name, mode)
    if np.ndim(weights) != 1 or not np.shape(weights)[0]:
        raise ShapeError(f"{name}: weights have shape {np.shape(weights)}; give a vector")
    x = np.moveaxis(as_floats(input), axis, -1)
    width = [(0, 0)] * (np.ndim(x) - 1) + [
        _compute_kernel_extent(name, np.shape(weights)[0], origin)
    ]
    return np.moveaxis(correlate_valid(_pad(x, width, mode, cval), weights), -1, axis)


@support_output
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
        return get_scipy_function("ndimage.correlate")(
            input, weights, output, mode, cval, origin, **given
        )
    weights, origin = _expand_kernel(
        "correlate", np.ndim(input), np.conj(as_floats(weights)), origin, axes
    )
    return _correlate_nd("correlate", input, weights, mode, cval, origin, False)


@support_output
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
        return get_scipy_function("ndimage.convolve")(
            input, weights, output, mode, cval, origin, **given
        )
    weights, origin = _expand_kernel("convolve", np.ndim(input), as_floats(weights), origin, axes)
    return _correlate_nd("convolve", input, weights, mode, cval, origin, True)


def _expand_kernel(name: str, ndim: int, weights: Any, origin: Any, axes: Any) -> tuple[Any, Any]:
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


def _correlate_nd(
    name: str, input: Any, weights: Any, mode: str, cval: Any, origin: Any, turn: bool
) -> Any:
    check_mode(name, mode)
    x = as_floats(input)
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
    width = [
        _compute_kernel_extent(name, size, own) for size, own in zip(sizes, origins, strict=True)
    ]
    return correlate_valid(_pad(x, width, mode, cval), weights)
