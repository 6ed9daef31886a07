"""Piecewise cubics whose slopes are local: Hermite, PCHIP, Akima.

Composed of operations. Choices depend on the values, and the derivative is that of the choice.
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy.interpolate._knots import append_axes, check_samples
from ferrograd.scipy.interpolate._piecewise import HermiteSpline


class CubicHermiteSpline(HermiteSpline):
    """The piecewise cubic with given values and slopes at its knots.

    Differentiable by `x`, `y`, `dydx` and the evaluation points.

    >>> from ferrograd.scipy.interpolate import CubicHermiteSpline
    >>> float(CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [0.0, 0.0])(0.5))
    0.5
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        if np.shape(dydx) != np.shape(y):
            raise ShapeError(
                f"CubicHermiteSpline: y has shape {np.shape(y)} and dydx {np.shape(dydx)}; give a"
                " slope for each value"
            )
        x, y = check_samples("CubicHermiteSpline", x, y, axis)
        self._set_coefficients(x, y, np.moveaxis(as_floats(dydx), axis, 0), extrapolate, axis)


class PchipInterpolator(HermiteSpline):
    """The piecewise cubic that is monotonic wherever the samples are.

    The slope at a knot is the weighted harmonic mean of the neighbouring slopes, 0 at an extremum.
    Source: F. N. Fritsch and J. Butland, SIAM Journal on Scientific and Statistical Computing 5,
    1984. Differentiable by `x`, `y` and the evaluation points; for equal samples the derivative is
    one-sided.

    >>> from ferrograd.scipy.interpolate import PchipInterpolator
    >>> float(PchipInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 1.0])(1.5))
    1.0
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y = check_samples("PchipInterpolator", x, y, axis)
        self._set_coefficients(x, y, _pchip_slopes(x, y), extrapolate, axis)


def _pchip_slopes(x: Any, y: Any) -> Any:
    steps = append_axes(np.diff(x), y)
    rises = np.diff(y, axis=0) / steps
    if np.shape(x)[0] == 2:
        return np.concatenate([rises, rises])
    before, after = rises[:-1], rises[1:]
    one, two = 2 * steps[1:] + steps[:-1], steps[1:] + 2 * steps[:-1]
    same = np.sign(before) * np.sign(after) > 0
    mean = one / np.where(same, before, 1.0) + two / np.where(same, after, 1.0)
    inner = np.where(same, (one + two) / np.where(same, mean, 1.0), 0.0)
    first = _pchip_end_slope(steps[0], steps[1], rises[0], rises[1])
    last = _pchip_end_slope(steps[-1], steps[-2], rises[-1], rises[-2])
    return np.concatenate([first[None], inner, last[None]])


def _pchip_end_slope(near: Any, far: Any, rise: Any, next_rise: Any) -> Any:
    """The slope of the parabola through three samples, limited so that the shape is kept."""
    slope = ((2 * near + far) * rise - near * next_rise) / (near + far)
    turns = np.sign(slope) != np.sign(rise)
    steep = (np.sign(rise) != np.sign(next_rise)) & (np.abs(slope) > 3 * np.abs(rise))
    return np.where(turns, 0.0, np.where(steep, 3 * rise, slope))


class Akima1DInterpolator(HermiteSpline):
    """The piecewise cubic whose slopes follow the flatter side.

    `method` is "akima" (H. Akima, Journal of the ACM 17, 1970) or "makima", which does not
    overshoot near flat parts. NaN outside the samples unless `extrapolate` is set. Differentiable
    by `x`, `y` and the evaluation points.

    >>> from ferrograd.scipy.interpolate import Akima1DInterpolator
    >>> float(Akima1DInterpolator([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0])(1.5))
    1.5
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ) -> None:
        if method not in ("akima", "makima"):
            raise ArgumentError(
                f"Akima1DInterpolator: method is {method!r}; give 'akima' or 'makima'"
            )
        x, y = check_samples("Akima1DInterpolator", x, y, axis)
        slopes = _akima_slopes(x, y, method)
        self._set_coefficients(x, y, slopes, False if extrapolate is None else extrapolate, axis)


def _akima_slopes(x: Any, y: Any, method: str) -> Any:
    rises = np.diff(y, axis=0) / append_axes(np.diff(x), y)
    if np.shape(x)[0] == 2:
        return np.concatenate([rises, rises])
    first = 2 * rises[:1] - rises[1:2]
    last = 2 * rises[-1:] - rises[-2:-1]
    m = np.concatenate([2 * first - rises[:1], first, rises, last, 2 * last - rises[-1:]])
    turns = np.abs(np.diff(m, axis=0))
    if method == "makima":
        turns = turns + np.abs(m[1:] + m[:-1]) / 2
    left, right = turns[2:], turns[:-2]
    both = left + right
    clear = both > 1e-9 * np.max(both)
    mean = (left * m[1:-2] + right * m[2:-1]) / np.where(clear, both, 1.0)
    return np.where(clear, mean, (m[3:] + m[:-3]) / 2)
