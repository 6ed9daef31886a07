"""Piecewise polynomials: `PPoly`.

Invariant: composed of operations, so values are differentiable by the coefficients, the knots and
the point.
"""

from __future__ import annotations

from typing import Any, Self

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.scipy._conversions import as_floats, detach, to_float_array
from ferrograd.scipy.interpolate._knots import (
    append_axes,
    check_increasing,
    interval,
    take_elements,
)


class PPoly:
    """Polynomials between knots: in the interval `i`, `Σ c[k - j, i] (x - x[i])**j`.

    `c` has the shape `(k + 1, intervals, ...)`, `x` is the vector of knots. `extrapolate` is True
    (the first and last polynomial extend outside), False (NaN outside) or "periodic".

    >>> from ferrograd.scipy.interpolate import PPoly
    >>> p = PPoly([[1.0], [0.0], [2.0]], [0.0, 3.0])  # x² + 2
    >>> float(p(2.0)), fg.grad(p)(2.0)
    (6.0, 4.0)
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        self.c, self.x, self.axis = as_floats(c), as_floats(x), axis
        if np.ndim(self.c) < 2 or np.shape(self.c)[1] != np.shape(self.x)[0] - 1:
            raise ShapeError(
                f"PPoly: c has shape {np.shape(self.c)} and x {np.shape(self.x)}; give c of shape"
                " (order + 1, intervals, ...), one interval less than knots"
            )
        check_increasing("PPoly", self.x)
        self.extrapolate = True if extrapolate is None else extrapolate

    def _with_coefficients(self, c: Any) -> PPoly:
        made = PPoly.__new__(PPoly)
        made.c, made.x, made.axis, made.extrapolate = c, self.x, self.axis, self.extrapolate
        return made

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The values at points of any shape, which replaces the axis of the samples.

        `nu` is the order of a derivative with respect to the point.
        """
        if nu:
            return self.derivative(nu)(x, 0, extrapolate)
        x = as_floats(x)
        mode = self.extrapolate if extrapolate is None else extrapolate
        if mode == "periodic":
            low, length = self.x[0], self.x[-1] - self.x[0]
            x = x - length * np.floor(detach((x - low) / length))
        place = interval(self.x, x)
        offset = x - take_elements(self.x, place)
        trailing = np.ndim(self.c) - 2
        offset = np.reshape(offset, (*np.shape(x), *(1,) * trailing))
        value = take_elements(self.c[0], place)
        for row in self.c[1:]:
            value = value * offset + take_elements(row, place)
        if not mode:
            outside = (x < self.x[0]) | (x > self.x[-1])
            value = np.where(append_axes(outside, value), numpy.nan, value)
        front = np.ndim(x)
        return np.moveaxis(value, range(front), range(self.axis, self.axis + front))

    def derivative(self, nu: int = 1) -> PPoly:
        """The derivative of order `nu` with respect to the point; below zero the antiderivative."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
        for _ in range(nu):
            count = np.shape(c)[0]
            powers = numpy.arange(count - 1, 0, -1.0, dtype=c.dtype)
            c = c[:-1] * append_axes(powers, c) if count > 1 else 0.0 * c
        return self._with_coefficients(c)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The integral from the first knot, `nu` times."""
        if nu < 0:
            return self.derivative(-nu)
        made = self
        for _ in range(nu):
            made = made._integrate_pieces()
        return made

    def _integrate_pieces(self) -> PPoly:
        powers = numpy.arange(np.shape(self.c)[0], 0, -1.0, dtype=self.c.dtype)
        c = self.c / append_axes(powers, self.c)
        steps = append_axes(np.diff(self.x), c[0])
        areas = 0.0 * c[0]
        for row in c:
            areas = (areas + row) * steps
        starts = np.concatenate([0.0 * areas[:1], np.cumsum(areas[:-1], 0)])
        made = self._with_coefficients(np.concatenate([c, starts[None]]))
        made.extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return made

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from `a` to `b`, in the shape of one value.

        Errors: `ArgumentError` for a periodic function and limits outside the knots.
        """
        mode = self.extrapolate if extrapolate is None else extrapolate
        ends = to_float_array([to_float_array(a), to_float_array(b)])
        low, high = to_float_array(self.x[0]), to_float_array(self.x[-1])
        if mode == "periodic" and (ends.min() < low or ends.max() > high):
            raise ArgumentError(
                f"integrate: the limits are {ends[0]} and {ends[1]}, and the periodic function has"
                f" knots from {low} to {high}; integrate over parts within the knots"
            )
        whole = self._integrate_pieces()
        return whole(b, 0, bool(mode)) - whole(a, 0, bool(mode))


class HermiteSpline(PPoly):
    """A piecewise cubic from values and slopes at the knots.

    Derived classes give the slopes.
    """

    def _set_coefficients(self, x: Any, y: Any, slopes: Any, extrapolate: Any, axis: int) -> Self:
        """Keeps the coefficients; `y` and `slopes` have the axis of the knots first."""
        steps = append_axes(np.diff(x), y)
        rises = np.diff(y, axis=0) / steps
        bend = (slopes[:-1] + slopes[1:] - 2 * rises) / steps
        rows = [bend / steps, (rises - slopes[:-1]) / steps - bend, slopes[:-1], y[:-1]]
        self.c, self.x = np.stack(rows), x
        self.axis = axis % np.ndim(y)
        self.extrapolate = True if extrapolate is None else extrapolate
        return self
