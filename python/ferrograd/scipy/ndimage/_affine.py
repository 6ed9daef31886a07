"""Images under changes of coordinates: `affine_transform`, `shift`, `zoom` and `rotate`.

The values between elements are those of `map_coordinates`.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ShapeError
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import as_floats, to_float_array
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.ndimage._coordinates import map_coordinates
from ferrograd.scipy.ndimage._correlate import check_mode
from ferrograd.scipy.ndimage._gaussian import _expand_to_axes
from ferrograd.scipy.ndimage._output import support_output
from ferrograd.scipy.special import cosdg, sindg


def _get_position_dtype(image: Any) -> Any:
    """The dtype of positions in an image."""
    return numpy.zeros(0, image.dtype).real.dtype


@support_output
def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The image at `matrix @ position + offset` for every position of the result.

    `matrix` is square, a vector of scales, or homogeneous with one more row or column, or both.
    Differentiable by `input`, `matrix`, `offset` and `cval`; the rest is as in `map_coordinates`.

    >>> from ferrograd.scipy import ndimage
    >>> row = fg.tensor([0.0, 1.0, 4.0, 9.0])
    >>> ndimage.affine_transform(row, [2.0], 1.0, output_shape=(2,), order=1).tolist()
    [1.0, 9.0]
    """
    if not holds_tensor([input, matrix, offset, cval]):
        return get_scipy_function("ndimage.affine_transform")(
            input, matrix, offset, output_shape, output, order, mode, cval, prefilter
        )
    check_mode("affine_transform", mode)
    image, matrix, offset = as_floats(input), as_floats(matrix), as_floats(offset)
    count = np.ndim(image)
    if np.ndim(matrix) == 2 and np.shape(matrix)[1] == count + 1:
        matrix, offset = matrix[:count, :count], matrix[:count, count]
    if np.shape(matrix) not in ((count,), (count, count)):
        raise ShapeError(
            f"affine_transform: matrix has shape {np.shape(matrix)} for an image of {count} axes;"
            " give a square matrix, a vector of scales or a homogeneous matrix"
        )
    shape = np.shape(image) if output_shape is None else tuple(output_shape)
    grid = numpy.indices(shape, dtype=_get_position_dtype(image))
    flat = grid.reshape(count, -1)
    moved = matrix[:, None] * flat if np.ndim(matrix) == 1 else matrix @ flat
    moved = moved + (offset[:, None] if np.ndim(offset) else offset)
    places = np.reshape(moved, grid.shape)
    return map_coordinates(image, places, None, order, mode, cval, prefilter)


@support_output
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The image moved by a vector, or by one number along every axis.

    Differentiable by `input`, `shift` and `cval`; the rest is as in `map_coordinates`.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.shift(fg.tensor([0.0, 1.0, 4.0]), 0.5, order=1, mode="nearest").tolist()
    [0.0, 0.5, 2.5]
    """
    if not holds_tensor([input, shift, cval]):
        return get_scipy_function("ndimage.shift")(
            input, shift, output, order, mode, cval, prefilter
        )
    image = as_floats(input)
    ones = numpy.ones(np.ndim(image), _get_position_dtype(image))
    return affine_transform(
        image, ones, -as_floats(shift) * ones, None, output, order, mode, cval, prefilter
    )


@support_output
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    """The image with `zoom` times as many elements along every axis; `zoom` may be one per axis.

    Differentiable by `input` and `cval`; the rest is as in `map_coordinates`.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.zoom(fg.tensor([0.0, 2.0]), 1.5, order=1).tolist()
    [0.0, 1.0, 2.0]
    """
    if not holds_tensor([input, cval]):
        return get_scipy_function("ndimage.zoom")(
            input, zoom, output, order, mode, cval, prefilter, grid_mode=grid_mode
        )
    check_mode("zoom", mode)
    image = as_floats(input)
    factors = _expand_to_axes(zoom, np.ndim(image), "zoom")
    lines = []
    for n, factor in zip(np.shape(image), factors, strict=True):
        count = round(n * float(factor))
        if grid_mode:
            lines.append((numpy.arange(count) + 0.5) * (n / max(count, 1)) - 0.5)
        else:
            lines.append(numpy.linspace(0.0, n - 1.0 if count > 1 else 0.0, count))
    places = numpy.stack(numpy.meshgrid(*lines, indexing="ij")).astype(_get_position_dtype(image))
    return map_coordinates(image, places, None, order, mode, cval, prefilter)


@support_output
def rotate(
    input: Any,
    angle: Any,
    axes: tuple[int, int] = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The image rotated by an angle in degrees in the plane of two axes.

    With `reshape` the result contains the whole image. Differentiable by `input`, `angle` (with a
    fixed shape of the result) and `cval`; the rest is as in `map_coordinates`.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.rotate(fg.tensor([[1.0, 2.0], [3.0, 4.0]]), 90, order=1).round(9).tolist()
    [[2.0, 4.0], [1.0, 3.0]]
    """
    if not holds_tensor([input, angle, cval]):
        return get_scipy_function("ndimage.rotate")(
            input, angle, axes, reshape, output, order, mode, cval, prefilter
        )
    check_mode("rotate", mode)
    image = as_floats(input)
    count = np.ndim(image)
    first, second = sorted(axis % count for axis in axes)
    if count < 2 or first == second:
        raise ShapeError(
            f"rotate: axes are {axes} for an image of {count} axes; give two different ones"
        )
    c, s = cosdg(angle), sindg(angle)
    shape = numpy.array([np.shape(image)[first], np.shape(image)[second]])
    turn = (
        np.stack([np.stack([c, s]), np.stack([-s, c])])
        if holds_tensor(angle)
        else (numpy.array([[c, s], [-s, c]]))
    )
    known, outer = to_float_array(turn), shape
    if reshape:
        corners = numpy.array([[0, 0, shape[0], shape[0]], [0, shape[1], 0, shape[1]]])
        outer = (numpy.ptp(known @ corners, axis=1) + 0.5).astype(int)
    offset = (shape - 1) / 2 - turn @ ((outer - 1) / 2)
    dims = list(np.shape(image))
    dims[first], dims[second] = int(outer[0]), int(outer[1])
    grid = numpy.indices(dims, dtype=_get_position_dtype(image))
    rows = [*grid]
    rows[first] = turn[0, 0] * grid[first] + turn[0, 1] * grid[second] + offset[0]
    rows[second] = turn[1, 0] * grid[first] + turn[1, 1] * grid[second] + offset[1]
    return map_coordinates(image, np.stack(rows), None, order, mode, cval, prefilter)
