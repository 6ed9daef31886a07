"""Images under changes of coordinates: `affine_transform` and `shift`.

Owns: the coordinates. The values between elements are those of `map_coordinates`.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ShapeError
from ferrograd.numpy._values import holds_tensor
from ferrograd.scipy._closures import floats
from ferrograd.scipy._library import library
from ferrograd.scipy.ndimage._coordinates import map_coordinates
from ferrograd.scipy.ndimage._linear import checked
from ferrograd.scipy.ndimage._output import fills_output


@fills_output
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
    """The image at `matrix @ place + offset` for every place of the result.

    `matrix` is square, a vector of scales, or homogeneous with one more row or column, or both.
    Differentiable by `input`, `matrix`, `offset` and `cval`; the rest is as in `map_coordinates`.

    >>> from ferrograd.scipy import ndimage
    >>> row = fg.tensor([0.0, 1.0, 4.0, 9.0])
    >>> ndimage.affine_transform(row, [2.0], 1.0, output_shape=(2,), order=1).tolist()
    [1.0, 9.0]
    """
    if not holds_tensor([input, matrix, offset, cval]):
        return library("ndimage.affine_transform")(
            input, matrix, offset, output_shape, output, order, mode, cval, prefilter
        )
    checked("affine_transform", mode)
    image, matrix, offset = floats(input), floats(matrix), floats(offset)
    count = np.ndim(image)
    if np.ndim(matrix) == 2 and np.shape(matrix)[1] == count + 1:
        matrix, offset = matrix[:count, :count], matrix[:count, count]
    if np.shape(matrix) not in ((count,), (count, count)):
        raise ShapeError(
            f"affine_transform: matrix has shape {np.shape(matrix)} for an image of {count} axes;"
            " give a square matrix, a vector of scales or a homogeneous matrix"
        )
    shape = np.shape(image) if output_shape is None else tuple(output_shape)
    grid = numpy.indices(shape, dtype=image.dtype)
    flat = grid.reshape(count, -1)
    moved = matrix[:, None] * flat if np.ndim(matrix) == 1 else matrix @ flat
    moved = moved + (offset[:, None] if np.ndim(offset) else offset)
    places = np.reshape(moved, grid.shape)
    return map_coordinates(image, places, None, order, mode, cval, prefilter)


@fills_output
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
        return library("ndimage.shift")(input, shift, output, order, mode, cval, prefilter)
    image = floats(input)
    ones = numpy.ones(np.ndim(image), image.dtype)
    return affine_transform(
        image, ones, -floats(shift) * ones, None, output, order, mode, cval, prefilter
    )
