"""Values on a regular grid: `RegularGridInterpolator`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._tensor.creation import MAX_NDIM
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.scipy._conversions import as_floats, to_float_array
from ferrograd.scipy.interpolate._cubic import CubicSpline
from ferrograd.scipy.interpolate._knots import (
    append_axes,
    check_increasing,
    interval,
    take_elements,
)
from ferrograd.scipy.interpolate._local_cubics import PchipInterpolator
from ferrograd.scipy.interpolate._quintic import interpolate_quintic

_METHODS = ("linear", "nearest", "slinear", "cubic", "quintic", "pchip")
_SPLINE_CLASSES: dict[str, Any] = {"cubic": CubicSpline, "pchip": PchipInterpolator}


class RegularGridInterpolator:
    """A function of several variables from its values on a grid.

    Args:
        points: an increasing or decreasing vector for each variable.
        values: an array of these sizes; further axes are the values of one point.
        method: "linear" ("slinear"), "nearest", "cubic" or "quintic" (splines, "not-a-knot"),
            or "pchip".
        bounds_error: whether a point outside the grid is an error.
        fill_value: the value outside otherwise; None extrapolates.

    Call it with points of the shape `(..., variables)` or a tuple of arrays, one for each variable.
    The result has the shape `(..., *further axes)`. Differentiable by `points`, `values` and the
    evaluation points.
    Errors: `ArgumentError` for points outside, unsorted grids and other methods; `ShapeError`.

    >>> from ferrograd.scipy.interpolate import RegularGridInterpolator
    >>> plane = RegularGridInterpolator(([0.0, 1.0], [0.0, 2.0]), [[0.0, 2.0], [3.0, 5.0]])
    >>> fg.grad(lambda x: plane(x)[0])(np.array([0.5, 0.5])).tolist()
    [3.0, 1.0]
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = numpy.nan,
    ) -> None:
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        # One more than there may be: a longer sequence, or one without an end, is not read.
        values, grid = (
            as_floats(values),
            [as_floats(p) for p in itertools.islice(points, MAX_NDIM + 1)],
        )
        sizes = tuple(np.shape(p)[0] if np.ndim(p) == 1 else -1 for p in grid)
        if sizes != np.shape(values)[: len(grid)]:
            raise ShapeError(
                f"RegularGridInterpolator: points have sizes {sizes} and values shape"
                f" {np.shape(values)}; give a vector of points for each leading axis of values"
            )
        for k, own in enumerate(grid):
            if sizes[k] > 1 and to_float_array(own[0]) > to_float_array(own[-1]):
                grid[k], values = own[::-1], np.flip(values, k)
            check_increasing("RegularGridInterpolator", grid[k])
        self.grid, self.values = tuple(grid), values
        self._check_method(method)

    def _check_method(self, method: str) -> None:
        if method not in _METHODS:
            raise ArgumentError(
                f"RegularGridInterpolator: method is {method!r}; give one of {', '.join(_METHODS)}"
            )
        least = 6 if method == "quintic" else 4 if method in _SPLINE_CLASSES else 1
        small = [np.shape(p)[0] for p in self.grid if np.shape(p)[0] < least]
        if small:
            raise ShapeError(
                f"RegularGridInterpolator: a variable has {small[0]} points, and method {method!r}"
                f" needs {least}; give more points or method='linear'"
            )

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at points; `method` overrides that of the object."""
        method = self.method if method is None else method
        self._check_method(method)
        xi = self._convert_points(xi)
        shape = np.shape(xi)[:-1]
        places = [np.reshape(xi[..., k], -1) for k in range(len(self.grid))]
        outside = self._find_outside(places)
        if method in _SPLINE_CLASSES:
            value = self._interpolate_by_splines(places, _SPLINE_CLASSES[method])
        elif method == "quintic":
            value = interpolate_quintic(self.grid, self.values, places)
        else:
            value = self._interpolate_linear(places, method)
        if not self.bounds_error and self.fill_value is not None:
            value = np.where(append_axes(outside, value), self.fill_value, value)
        unknown = np.any(np.isnan(np.stack(places)), 0)
        value = np.where(append_axes(unknown, value), numpy.nan, value)
        return np.reshape(value, (*shape, *np.shape(self.values)[len(self.grid) :]))

    def _convert_points(self, xi: Any) -> Any:
        count = len(self.grid)
        if isinstance(xi, tuple):
            xi = np.stack(np.broadcast_arrays(*(as_floats(x) for x in xi)), -1)
        xi = as_floats(xi)
        if np.ndim(xi) == 1:
            xi = np.reshape(xi, (-1, count)) if np.shape(xi)[0] % count == 0 else xi
        if np.ndim(xi) == 0 or np.shape(xi)[-1] != count:
            raise ShapeError(
                f"RegularGridInterpolator: places have shape {np.shape(xi)}, the grid {count}"
                " variables; give places of the shape (..., variables)"
            )
        return xi

    def _find_outside(self, places: list[Any]) -> Any:
        outside: Any = numpy.zeros(np.shape(places[0]), bool)
        for k, (place, own) in enumerate(zip(places, self.grid, strict=True)):
            outside = outside | (place < own[0]) | (place > own[-1])
            if not self.bounds_error:
                continue
            known, low, high = (
                to_float_array(place),
                to_float_array(own[0]),
                to_float_array(own[-1]),
            )
            out = (known < low) | (known > high)
            if out.any():
                raise ArgumentError(
                    f"RegularGridInterpolator: variable {k} of a place is {known[out][0]}, its"
                    f" points reach from {low} to {high}; give bounds_error=False to allow it"
                )
        return outside

    def _interpolate_linear(self, places: list[Any], method: str) -> Any:
        """The sum over the corners of each point's cell, weighted with the opposite volume."""
        corners = []
        for place, own in zip(places, self.grid, strict=True):
            low = interval(own, place)
            high = np.minimum(low + 1, np.shape(own)[0] - 1)
            start = take_elements(own, low)
            part = (place - start) / np.where(high > low, take_elements(own, high) - start, 1.0)
            corners.append(((low, 1.0 - part), (high, part)))
        if method == "nearest":
            nearest = [np.where(c[1][1] <= 0.5, c[0][0], c[1][0]) for c in corners]
            return take_elements(self.values, tuple(nearest))
        total = 0.0
        for corner in itertools.product(*corners):
            weight = corner[0][1]
            for _, more in corner[1:]:
                weight = weight * more
            value = take_elements(self.values, tuple(index for index, _ in corner))
            total = total + value * append_axes(weight, value)
        return total

    def _interpolate_by_splines(self, places: list[Any], curve: Any) -> Any:
        """Interpolates along the last variable at all points, then along the one before, ….

        From the second variable on, every point has its own curve.
        """
        rows = numpy.arange(np.shape(places[0])[0])
        found = self.values
        for k in reversed(range(len(self.grid))):
            first = k == len(self.grid) - 1
            fitted = curve(self.grid[k], found, k if first else k + 1)
            index = interval(self.grid[k], places[k])
            own = index if first else (index, rows)
            c = [take_elements(row, own) for row in fitted.c]
            offset = append_axes(places[k] - take_elements(self.grid[k], index), c[0])
            found = ((c[0] * offset + c[1]) * offset + c[2]) * offset + c[3]
        return found


def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = numpy.nan,
) -> Any:
    """The values of `RegularGridInterpolator` at points, in one call.

    >>> from ferrograd.scipy.interpolate import interpn
    >>> interpn(([0.0, 1.0],), [0.0, 2.0], [[0.25]]).tolist()
    [0.5]
    """
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
