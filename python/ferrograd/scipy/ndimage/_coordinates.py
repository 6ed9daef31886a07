"""`map_coordinates`: the values of an image between its elements.

Elements are weighted by polynomials of the position. Invariant: the neighbours are found from the
values; at a knot the derivative is that of the upper interval.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import as_floats, detach
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.interpolate._knots import take_elements
from ferrograd.scipy.ndimage._correlate import PAD_MODES, check_mode
from ferrograd.scipy.ndimage._output import support_output
from ferrograd.scipy.ndimage._splines import compute_bspline_weights, spline_filter

#: Elements added at the border where the recursion of the spline has no exact start there.
_MARGIN = 12


@support_output
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The spline of `order` through an image, at positions.

    `coordinates` has the shape `(axes of the image, ...)`; the result has the shape of the
    remaining axes. `mode` is the border mode, as in `correlate1d`; "constant" gives `cval` outside.
    Differentiable by `input`, `coordinates` and `cval`; order 0 is constant between elements, and
    the derivative of order 1 jumps at them. Errors: `ArgumentError` for other orders and modes,
    `ShapeError` for coordinates that do not fit.

    >>> from ferrograd.scipy import ndimage
    >>> row = np.array([0.0, 1.0, 4.0])
    >>> fg.grad(lambda x: ndimage.map_coordinates(row, x[None], order=1)[0])(np.array([1.5]))[0]
    np.float64(3.0)
    """
    if not holds_tensor([input, coordinates, cval]):
        return get_scipy_function("ndimage.map_coordinates")(
            input, coordinates, output, order, mode, cval, prefilter
        )
    check_mode("map_coordinates", mode)
    if not isinstance(order, int) or not 0 <= order <= 5:
        raise ArgumentError(f"map_coordinates: order is {order!r}; give 0 to 5")
    image, places = as_floats(input), as_floats(coordinates)
    if not np.ndim(image) or np.ndim(places) < 2 or np.shape(places)[0] != np.ndim(image):
        raise ShapeError(
            f"map_coordinates: input has shape {np.shape(image)} and coordinates"
            f" {np.shape(places)}; give coordinates of the shape ({np.ndim(image)}, ...)"
        )
    margin, dtype = 0, image.dtype
    if prefilter and order > 1:
        if mode in ("nearest", "grid-constant"):
            margin = _MARGIN
            more = {"constant_values": cval} if mode == "grid-constant" else {}
            image = np.pad(image, margin, mode=PAD_MODES[mode], **more)
        wide = numpy.complex128 if image.dtype.kind == "c" else numpy.float64
        image = spline_filter(image, order, wide, mode)
    made = _interpolate(image, places + margin if margin else places, order, mode, cval)
    return made.astype(dtype) if made.dtype != dtype else made


def _interpolate(image: Any, places: Any, order: int, mode: str, cval: Any) -> Any:
    """The sum over the neighbours of each position, the last axis first."""
    count = np.ndim(image)
    shape = np.shape(places)[1:]
    indices, parts = [], []
    beyond: Any = numpy.zeros(shape, bool)
    for axis in range(count):
        length = np.shape(image)[axis]
        place, outside = _map_position(places[axis], length, mode, order)
        beyond = beyond | outside
        known = detach(place)
        start = np.floor(known if order % 2 else known + 0.5)
        start = np.where(np.isfinite(start), start, 0.0)
        part = place - start if order % 2 else place + 0.5 - start
        own = (
            start.astype(int) - order // 2 + numpy.arange(order + 1).reshape(-1, *[1] * len(shape))
        )
        index, missing = _map_index(own, length, mode)
        axes = [1] * count
        axes[axis] = order + 1
        wide = (*axes, *shape)
        indices.append((np.reshape(index, wide), np.reshape(missing, wide)))
        ones = np.ones_like(part) if order == 0 else part
        parts.append(
            np.stack([w * np.ones_like(ones) for w in compute_bspline_weights(part, order)])
        )
    found = take_elements(image, tuple(index for index, _ in indices))
    if mode == "grid-constant":
        lost = indices[0][1]
        for _, more in indices[1:]:
            lost = lost | more
        found = np.where(lost, cval, found)
    for axis in reversed(range(count)):
        wide = np.reshape(parts[axis], (*[1] * axis, order + 1, *shape))
        found = np.sum(found * wide, axis)
    return np.where(beyond, cval, found) if mode == "constant" else found


def _map_position(place: Any, length: int, mode: str, order: int) -> tuple[Any, Any]:
    """An equivalent position inside the image, and a mask of positions without one.

    Mirroring and wrapping are done for the indices of the neighbours.
    """
    known = detach(place)
    nowhere = numpy.zeros(np.shape(known), bool)
    last = length - 1
    if mode == "constant":
        outside = (known < 0) | (known > last) | np.isnan(known)
        return np.where(outside, 0.0, place), outside
    if mode == "nearest":
        # A spline of higher order reaches the value at the edge only some elements outside.
        reach = order + 1 if order > 1 else 0
        return np.clip(place, -reach, last + reach), nowhere
    if mode == "wrap" and last:
        # The period of this border is one less than the length.
        low, high = known < 0, known > last
        turns = np.where(low, np.trunc(-known / last) + 1, 0.0)
        turns = np.where(high, -np.trunc(known / last), turns)
        return place + turns * last, nowhere
    return place, nowhere


def _map_index(index: Any, length: int, mode: str) -> tuple[Any, Any]:
    """The index of the element at an integer position, and a mask of positions without one."""
    missing = (index < 0) | (index >= length)
    if mode in ("nearest", "grid-constant"):
        return np.clip(index, 0, length - 1), missing
    if mode == "grid-wrap":
        return index % length, missing
    if mode in ("reflect", "grid-mirror"):
        turned = index % (2 * length)
        return np.minimum(turned, 2 * length - 1 - turned), missing
    period = max(2 * length - 2, 1)
    turned = index % period
    return np.minimum(turned, period - turned) if length > 1 else 0 * index, missing
