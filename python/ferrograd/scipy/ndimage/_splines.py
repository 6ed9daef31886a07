"""B-splines on a regular grid: coefficients and weights.

The recursions are `lfilter`, and so are their derivatives.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.ndimage._correlate import check_mode
from ferrograd.scipy.ndimage._output import support_output
from ferrograd.scipy.signal._lfilter import lfilter

#: The poles of the recursion for each order; M. Unser, IEEE Signal Processing Magazine 16, 1999.
_POLES: dict[int, tuple[float, ...]] = {
    0: (),
    1: (),
    2: (sqrt(8.0) - 3.0,),
    3: (sqrt(3.0) - 2.0,),
    4: (
        sqrt(664.0 - sqrt(438976.0)) + sqrt(304.0) - 19.0,
        sqrt(664.0 + sqrt(438976.0)) - sqrt(304.0) - 19.0,
    ),
    5: (
        sqrt(67.5 - sqrt(4436.25)) + sqrt(26.25) - 6.5,
        sqrt(67.5 + sqrt(4436.25)) - sqrt(26.25) - 6.5,
    ),
}


def _compute_initial_weights(z: float, n: int, mode: str) -> tuple[Any, Any]:
    """The weights that initialise both recursions of the prefilter.

    They are sums over the infinite continuation at the border, as in SciPy.
    """
    first, last = numpy.zeros(n), numpy.zeros(n)
    powers = z ** numpy.arange(n)
    if mode == "grid-wrap":
        first[0] = 1.0
        first[1:] = powers[:0:-1]
        last[-1] = 1.0
        last[:-1] = powers[1:]
        return first / (1 - z**n), last * (z / (z**n - 1))
    if mode in ("reflect", "grid-mirror", "nearest"):
        first[:-1] = powers[:-1]
        first[-1] = z**n
        first[1:-1] += z**n * powers[-2:0:-1]
        # The last term reads the current sum in place of the first element.
        first *= 1 + z ** (2 * n - 1)
        first[-1] += powers[-1]
        first *= z / (1 - z ** (2 * n))
        first[0] += 1.0
        last[-1] = z / (z - 1)
        return first, last
    first[:-1] = powers[:-1]
    first[-1] = powers[-1]
    first[1:-1] += powers[-1] * powers[-2:0:-1]
    last[-2:] = z * z / (z * z - 1), z / (z * z - 1)
    return first / (1 - powers[-1] ** 2), last


@support_output
def spline_filter1d(
    input: Any, order: int = 3, axis: int = -1, output: Any = None, mode: str = "mirror"
) -> Any:
    """The coefficients of the spline of `order` through samples along an axis.

    Two runs of a recursion of first order for each pole. Differentiable by `input`.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.spline_filter1d(fg.ones(4)).round(12).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    if not holds_tensor(input):
        given = numpy.float64 if output is None else output
        return get_scipy_function("ndimage.spline_filter1d")(input, order, axis, given, mode)
    check_mode("spline_filter1d", mode)
    if order not in _POLES:
        raise ArgumentError(f"spline_filter1d: order is {order!r}; give 0 to 5")
    c = np.moveaxis(as_floats(input), axis, -1)
    n = np.shape(c)[-1]
    for z in _POLES[order] if n > 1 else ():
        poles = numpy.array([1.0, -z], c.dtype)
        first, last = (start.astype(c.dtype) for start in _compute_initial_weights(z, n, mode))
        c = (1 - z) * (1 - 1 / z) * c
        c = np.concatenate([(c @ first)[..., None], c[..., 1:]], -1)
        c = lfilter(poles[:1], poles, c)
        c = np.concatenate([(c @ last)[..., None], -z * np.flip(c[..., :-1], -1)], -1)
        c = np.flip(lfilter(poles[:1], poles, c), -1)
    return np.moveaxis(c, -1, axis)


@support_output
def spline_filter(input: Any, order: int = 3, output: Any = None, mode: str = "mirror") -> Any:
    """`spline_filter1d` along all axes.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.spline_filter(fg.ones(2, 2)).round(12).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    if not holds_tensor(input):
        given = numpy.float64 if output is None else output
        return get_scipy_function("ndimage.spline_filter")(input, order, given, mode)
    for axis in range(np.ndim(input)):
        input = spline_filter1d(input, order, axis, None, mode)
    return input


def compute_bspline_weights(part: Any, order: int) -> list[Any]:
    """The B-splines of `order` at a part of the way between two knots, the lowest neighbour first.

    By the recursion of Cox and de Boor on whole knots.
    """
    found: list[Any] = [1.0]
    for k in range(1, order + 1):
        low = [0.0, *((part + (k - j)) * w / k for j, w in enumerate(found, 1))]
        high = [*((j + 1 - part) * w / k for j, w in enumerate(found)), 0.0]
        found = [a + b for a, b in zip(low, high, strict=True)]
    return found
