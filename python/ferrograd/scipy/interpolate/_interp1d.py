"""`interp1d`: straight lines, steps and splines between samples.

Cubics are those of `CubicSpline`, quadratic ones those of `_quadratic`.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError
from ferrograd.scipy._conversions import as_floats, detach, to_float_array
from ferrograd.scipy.interpolate._cubic import CubicSpline
from ferrograd.scipy.interpolate._knots import append_axes, check_samples, interval, take_elements
from ferrograd.scipy.interpolate._piecewise import PPoly
from ferrograd.scipy.interpolate._quadratic import QuadraticSpline

_STEP_KINDS = ("nearest", "nearest-up", "previous", "next")
_ALIASES = {
    "zero": "previous",
    "slinear": "linear",
    0: "previous",
    1: "linear",
    2: "quadratic",
    3: "cubic",
}
#: The fewest samples of a kind that needs more than one.
_MIN_POINTS = {"quadratic": 3, "cubic": 4}


class interp1d:  # noqa: N801
    """A function through samples, along an axis of `y`.

    Args:
        x: a vector of points; it is sorted first, unless `assume_sorted` is True.
        y: the values; the axis `axis` belongs to `x`.
        kind: "linear" ("slinear"), "quadratic", "cubic", "nearest", "nearest-up", "previous"
            ("zero") or "next".
        bounds_error: whether a point outside is an error; by default it is, unless `fill_value` is
            "extrapolate".
        fill_value: the value outside: a value, a pair for below and above, or "extrapolate".

    Call it with points of any shape. Differentiable by `x`, `y`, `fill_value` and the evaluation
    points; the step kinds are constant between samples. At a sample, "linear" has the slope to the
    right. Errors: `ArgumentError` for points outside, repeated samples and other kinds.

    >>> from ferrograd.scipy.interpolate import interp1d
    >>> line = interp1d([0.0, 1.0, 3.0], [0.0, 2.0, 3.0])
    >>> float(line(2.0)), fg.grad(line)(2.0)
    (2.5, 0.5)
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = numpy.nan,
        assume_sorted: bool = False,
    ) -> None:
        # A spline of degree 0 is extrapolated below the samples, where there is no previous one.
        self._goes_on = kind in ("zero", 0)
        kind = _ALIASES.get(kind, kind)
        if kind not in ("linear", "quadratic", "cubic", *_STEP_KINDS):
            raise ArgumentError(
                f"interp1d: kind is {kind!r}; give 'linear', 'quadratic', 'cubic', 'nearest',"
                " 'nearest-up', 'previous' or 'next'"
            )
        x, y = as_floats(x), as_floats(y)
        if not assume_sorted and np.ndim(x) == 1:
            order = numpy.argsort(to_float_array(x), kind="stable")
            x, y = x[order], np.take(y, order, axis)
        self.x, self._y = check_samples("interp1d", x, y, axis, _MIN_POINTS.get(kind, 1))
        self.y, self.axis, self.kind = y, axis % np.ndim(y), kind
        self._beyond = isinstance(fill_value, str) and fill_value == "extrapolate"
        if self._beyond and bounds_error:
            raise ArgumentError(
                "interp1d: bounds_error is True and fill_value 'extrapolate'; give one of them"
            )
        self.bounds_error = not self._beyond if bounds_error is None else bounds_error
        self.fill_value = fill_value
        self._spline: Any = None
        if kind == "cubic":
            self._spline = CubicSpline(self.x, self._y)
        elif kind == "quadratic":
            self._spline = QuadraticSpline(self.x, self._y)

    def __call__(self, x: Any) -> Any:
        """The values at points of any shape, which replaces the axis of the samples."""
        x = as_floats(x)
        outside = [x < self.x[0], x > self.x[-1]]
        if self.bounds_error:
            self._check_bounds(to_float_array(x))
        value = self._evaluate(x)
        if not self._beyond:
            for out, fill in zip(outside, self._get_fill_values(), strict=True):
                value = np.where(append_axes(out, value), fill, value)
        front = np.ndim(x)
        return np.moveaxis(value, range(front), range(self.axis, self.axis + front))

    def _check_bounds(self, known: Any) -> None:
        low, high = to_float_array(self.x[0]), to_float_array(self.x[-1])
        for out, side in ((known < low, "below"), (known > high, "above")):
            if numpy.any(out):
                raise ArgumentError(
                    f"interp1d: {known[out].flat[0]} lies {side} the samples, which reach from"
                    f" {low} to {high}; give bounds_error=False or fill_value='extrapolate'"
                )

    def _get_fill_values(self) -> tuple[Any, Any]:
        fill = self.fill_value
        return fill if isinstance(fill, tuple) and len(fill) == 2 else (fill, fill)

    def _evaluate(self, x: Any) -> Any:
        """The values with the axes of the points first."""
        if self.kind in _STEP_KINDS:
            return self._evaluate_step(x)
        if self.kind == "quadratic":
            return self._spline(x)
        if self.kind == "cubic":
            return PPoly.__call__(self._spline, x, 0, True)
        if np.shape(self.x)[0] == 1:
            return self._y[numpy.zeros(np.shape(x), int)]
        place = interval(self.x, x)
        slopes = np.diff(self._y, axis=0) / append_axes(np.diff(self.x), self._y)
        offset = x - take_elements(self.x, place)
        offset = np.reshape(offset, (*np.shape(x), *(1,) * (np.ndim(self._y) - 1)))
        return take_elements(self._y, place) + take_elements(slopes, place) * offset

    def _evaluate_step(self, x: Any) -> Any:
        places, known = detach(self.x), detach(x)
        if self.kind == "previous":
            index = np.searchsorted(places, known, side="right") - 1
        elif self.kind == "next":
            index = np.searchsorted(places, known)
        else:
            up = self.kind == "nearest-up"
            halves = (places[1:] + places[:-1]) / 2
            index = np.searchsorted(halves, known, side="right" if up else "left")
        value = take_elements(self._y, np.clip(index, 0, np.shape(places)[0] - 1))
        unknown = np.isnan(known)
        if self._beyond and self.kind == "previous" and not self._goes_on:
            unknown = unknown | (known < places[0])
        if self._beyond and self.kind == "next":
            unknown = unknown | (known > places[-1])
        return np.where(append_axes(unknown, value), numpy.nan, value)
