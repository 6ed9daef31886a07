"""Filters that are products of filters along the axes: Gaussians, means, edges.

A width that is a tensor makes a kernel that depends on it.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError
from ferrograd.hips.tracer import getval
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.ndimage._correlate import check_mode, correlate1d
from ferrograd.scipy.ndimage._output import support_output


def _gaussian_kernel1d(sigma: Any, order: int, radius: int) -> Any:
    """The normal density at integers, normalised to sum 1, times the polynomial of a derivative."""
    if order < 0 or radius < 0:
        raise ArgumentError(
            f"gaussian_filter: order is {order} and radius {radius}; give numbers from 0 on"
        )
    x = numpy.arange(-radius, radius + 1.0)
    if isinstance(sigma, Tensor):
        x = x.astype(sigma.dtype)
    square = sigma * sigma
    weights = np.exp(-0.5 / square * x**2)
    weights = weights / np.sum(weights)
    polynomial: list[Any] = [1.0]
    for _ in range(order):
        slope = [*(k * c for k, c in enumerate(polynomial) if k), 0.0, 0.0]
        shifted = [0.0, *(-c / square for c in polynomial)]
        polynomial = [a + b for a, b in zip(slope, shifted, strict=True)]
    factor: Any = 0.0
    for c in reversed(polynomial):
        factor = factor * x + c
    return weights * factor


@support_output
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """The convolution with a normal density of width `sigma`, or its `order`-th derivative.

    The kernel ends at `radius`, by default `truncate` widths. Differentiable by `input` and `sigma`
    (with a fixed radius). `mode` and `cval` are those of `correlate1d`.

    >>> from ferrograd.scipy import ndimage
    >>> blur = lambda s: ndimage.gaussian_filter1d(np.array([0.0, 0.0, 1.0, 0.0, 0.0]), s)[2]
    >>> fg.grad(blur)(1.0) < 0
    True
    """
    if not holds_tensor([input, sigma, cval]):
        return get_scipy_function("ndimage.gaussian_filter1d")(
            input, sigma, axis, order, output, mode, cval, truncate, radius=radius
        )
    check_mode("gaussian_filter1d", mode)
    width = int(truncate * float(getval(sigma)) + 0.5) if radius is None else radius
    weights = np.flip(_gaussian_kernel1d(sigma, order, width))
    input = as_floats(input)
    if not isinstance(sigma, Tensor):
        weights = weights.astype(input.dtype)
    return correlate1d(input, weights, axis, None, mode, cval)


def _expand_to_axes(value: Any, count: int, name: str) -> list[Any]:
    """One value for each axis."""
    if not isinstance(value, list | tuple) and (isinstance(value, str) or np.ndim(value) == 0):
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise ArgumentError(
            f"{name}: there are {len(values)} values for {count} axes; give one, or one for each"
        )
    return values


def _normalize_axes(axes: Any, ndim: int) -> list[int]:
    if axes is None:
        return list(range(ndim))
    return [k % ndim for k in ([axes] if isinstance(axes, int) else axes)]


@support_output
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """`gaussian_filter1d` along all `axes`, with one `sigma`, `order`, `mode` or one for each.

    Axes with a width up to 1e-15 are not filtered. Differentiable by `input` and `sigma`.

    >>> from ferrograd.scipy import ndimage
    >>> x = fg.zeros(5, 5, requires_grad=True)
    >>> ndimage.gaussian_filter(x, 1.0)[2, 2].backward()
    >>> bool(np.isclose(x.grad.sum(), 1.0))
    True
    """
    if not holds_tensor([input, sigma, cval]):
        return get_scipy_function("ndimage.gaussian_filter")(
            input, sigma, order, output, mode, cval, truncate, radius=radius, axes=axes
        )
    x = as_floats(input)
    along = _normalize_axes(axes, np.ndim(x))
    given = [
        _expand_to_axes(v, len(along), "gaussian_filter") for v in (sigma, order, mode, radius)
    ]
    for k, own, degree, border, reach in zip(along, *given, strict=True):
        check_mode("gaussian_filter", border)
        if float(getval(own)) > 1e-15:
            x = gaussian_filter1d(x, own, k, degree, None, border, cval, truncate, radius=reach)
    return x


@support_output
def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The mean of `size` neighbours along an axis. Differentiable by `input`.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.uniform_filter1d(fg.tensor([0.0, 3.0, 0.0]), 3).tolist()
    [1.0, 1.0, 1.0]
    """
    if not holds_tensor([input, cval]):
        return get_scipy_function("ndimage.uniform_filter1d")(
            input, size, axis, output, mode, cval, origin
        )
    if size < 1:
        raise ArgumentError(f"uniform_filter1d: size is {size}; give at least 1")
    x = as_floats(input)
    return correlate1d(x, np.full(size, 1 / size, x.dtype), axis, output, mode, cval, origin)


@support_output
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """`uniform_filter1d` along all `axes`, with one `size`, `mode`, `origin` or one for each.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.uniform_filter(fg.ones(2, 2), 3).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    if not holds_tensor([input, cval]):
        return get_scipy_function("ndimage.uniform_filter")(
            input, size, output, mode, cval, origin, axes=axes
        )
    x = as_floats(input)
    along = _normalize_axes(axes, np.ndim(x))
    given = [_expand_to_axes(v, len(along), "uniform_filter") for v in (size, mode, origin)]
    for k, own, border, start in zip(along, *given, strict=True):
        x = uniform_filter1d(x, int(own), k, output, border, cval, start)
    return x


@support_output
def sobel(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Any:
    """The slope along an axis by Sobel's filter: a difference, smoothed along the other axes.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.sobel(fg.tensor([0.0, 1.0, 4.0])).tolist()
    [1.0, 4.0, 3.0]
    """
    if not holds_tensor([input, cval]):
        return get_scipy_function("ndimage.sobel")(input, axis, output, mode, cval)
    x = as_floats(input)
    modes = _expand_to_axes(mode, np.ndim(x), "sobel")
    axis = axis % np.ndim(x)
    made = correlate1d(x, numpy.array([-1, 0, 1], x.dtype), axis, output, modes[axis], cval)
    for k in range(np.ndim(x)):
        if k != axis:
            made = correlate1d(made, numpy.array([1, 2, 1], x.dtype), k, None, modes[k], cval)
    return made


@support_output
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """The sum of second differences along all axes.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.laplace(fg.tensor([0.0, 1.0, 4.0, 9.0])).tolist()
    [1.0, 2.0, 2.0, -5.0]
    """
    if not holds_tensor([input, cval]):
        return get_scipy_function("ndimage.laplace")(input, output, mode, cval)
    x = as_floats(input)
    weights = numpy.array([1, -2, 1], x.dtype)
    parts = [
        correlate1d(x, weights, k, output, own, cval)
        for k, own in enumerate(_expand_to_axes(mode, np.ndim(x), "laplace"))
    ]
    return sum(parts[1:], parts[0])
