"""Cubic splines: `CubicSpline`.

`solve_banded` computes the slopes, and its rule gives every derivative.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.scipy._conversions import as_floats, to_float_array
from ferrograd.scipy.interpolate._knots import append_axes, check_samples
from ferrograd.scipy.interpolate._piecewise import HermiteSpline
from ferrograd.scipy.linalg import solve_banded

#: One row of the equations: coefficients of the slope itself, of its neighbour, and the right side.
Row = tuple[Any, Any, Any]


class CubicSpline(HermiteSpline):
    """The piecewise cubic through samples with two continuous derivatives.

    Args:
        x: an increasing vector of points.
        y: the values; the axis `axis` belongs to `x`.
        bc_type: "not-a-knot", "natural" (no curvature at the ends), "clamped" (no slope),
            "periodic", or a pair for the two ends of these names and of `(order, value)`, which
            fixes the first or second derivative. Values may be tensors.
        extrapolate: as in `PPoly`.

    Call it with points of any shape. Differentiable by `x`, `y`, boundary values and points.
    Source: C. de Boor, A Practical Guide to Splines, IV. Errors: `ArgumentError` for `x` that is
    not increasing and unknown conditions, `ShapeError` for shapes that do not fit.

    >>> from ferrograd.scipy.interpolate import CubicSpline
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> spline = CubicSpline(x, x**3)
    >>> round(float(spline(1.5)), 9), round(fg.grad(spline)(1.5), 9)
    (3.375, 6.75)
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        x, y = check_samples("CubicSpline", x, y, axis)
        ends = _parse_bc_type(bc_type, y)
        if extrapolate is None and ends[0] == "periodic":
            extrapolate = "periodic"
        self._set_coefficients(x, y, _solve_slopes(x, y, ends), extrapolate, axis)


def _parse_bc_type(bc_type: Any, y: Any) -> list[Any]:
    """The conditions at both ends: a name or (order, value)."""
    pair = [bc_type, bc_type] if isinstance(bc_type, str) else list(bc_type)
    if len(pair) != 2:
        raise ArgumentError(f"CubicSpline: bc_type has {len(pair)} parts; give one for each end")
    if "periodic" in [end for end in pair if isinstance(end, str)]:
        if pair[0] != pair[1]:
            raise ArgumentError(
                "CubicSpline: bc_type 'periodic' holds for both ends; give it alone"
            )
        if not numpy.allclose(to_float_array(y[0]), to_float_array(y[-1]), rtol=1e-15, atol=1e-15):
            raise ArgumentError(
                "CubicSpline: the first and the last value differ; make them equal for bc_type"
                " 'periodic'"
            )
    return [_parse_end_condition(end, y[0]) for end in pair]


def _parse_end_condition(end: Any, like: Any) -> Any:
    if isinstance(end, str):
        if end not in ("not-a-knot", "periodic", "natural", "clamped"):
            raise ArgumentError(
                f"CubicSpline: bc_type is {end!r}; give 'not-a-knot', 'natural', 'clamped',"
                " 'periodic' or (order, value)"
            )
        known = {"natural": (2, np.zeros_like(like)), "clamped": (1, np.zeros_like(like))}
        return known.get(end, end)
    order, value = end
    if order not in (1, 2):
        raise ArgumentError(f"CubicSpline: bc_type fixes derivative {order!r}; give order 1 or 2")
    if np.shape(value) != np.shape(like):
        raise ShapeError(
            f"CubicSpline: a boundary value has shape {np.shape(value)}, a sample {np.shape(like)};"
            " give the same shape"
        )
    return order, as_floats(value)


def _solve_slopes(x: Any, y: Any, ends: list[Any]) -> Any:
    """The slopes at the knots."""
    steps = np.diff(x)
    rises = np.diff(y, axis=0) / append_axes(steps, y)
    count = np.shape(x)[0]
    if count == 2:
        ends = [(1, rises[0]) if isinstance(end, str) else end for end in ends]
    elif ends[0] == "periodic":
        return _solve_periodic_slopes(steps, rises)
    elif count == 3 and ends == ["not-a-knot", "not-a-knot"]:
        bend = (rises[1] - rises[0]) / (x[2] - x[0])
        return np.stack(
            [rises[0] - bend * steps[0], rises[0] + bend * steps[0], rises[1] + bend * steps[1]]
        )
    first = _make_end_equation(ends[0], steps[:2], rises[:2], 1.0)
    last = _make_end_equation(ends[1], steps[::-1][:2], rises[::-1][:2], -1.0)
    zero = 0.0 * steps[:1]
    near = 2 * (steps[:-1] + steps[1:])
    ab = np.stack(
        [
            np.concatenate([zero, _to_vector(first[1], zero), steps[:-1]]),
            np.concatenate([_to_vector(first[0], zero), near, _to_vector(last[0], zero)]),
            np.concatenate([steps[1:], _to_vector(last[1], zero), zero]),
        ]
    )
    wide = append_axes(steps, rises)
    inner = 3 * (wide[1:] * rises[:-1] + wide[:-1] * rises[1:])
    return _solve_tridiagonal(ab, np.concatenate([first[2][None], inner, last[2][None]]))


def _to_vector(value: Any, like: Any) -> Any:
    """A number as a vector of one element."""
    return np.reshape(value + 0.0 * like, (1,))


def _make_end_equation(end: Any, steps: Any, rises: Any, sign: float) -> Row:
    """The equation of an end, with the steps and the rises counted from that end."""
    if isinstance(end, str):
        both = steps[0] + steps[1]
        right = (steps[0] + 2 * both) * steps[1] * rises[0] + steps[0] ** 2 * rises[1]
        return steps[1], both, right / both
    order, value = end
    if order == 1:
        return 1.0, 0.0, value + 0.0 * rises[0]
    return 2 * steps[0], steps[0], steps[0] * (3 * rises[0] - sign * value * steps[0] / 2)


def _solve_tridiagonal(ab: Any, right: Any) -> Any:
    """The solution for right sides of any number of axes."""
    flat = np.reshape(right, (np.shape(right)[0], -1))
    return np.reshape(solve_banded((1, 1), ab, flat), np.shape(right))


def _solve_periodic_slopes(steps: Any, rises: Any) -> Any:
    """The slopes of a closed curve: a cyclic system, by the formula of Sherman and Morrison."""
    wide = append_axes(steps, rises)
    before, rise_before = np.roll(steps, 1), np.roll(rises, 1, 0)
    right = 3 * (wide * rise_before + np.roll(wide, 1, 0) * rises)
    diagonal = 2 * (before + steps)
    if np.shape(steps)[0] == 2:
        # Both neighbours of a knot are the other one.
        both = steps[0] + steps[1]
        total, other = diagonal * right, both * right[::-1]
        found = (total - other) / (diagonal[0] * diagonal[1] - both**2)
        return np.concatenate([found, found[:1]])
    # Row i: steps[i] s[i-1] + 2 (steps[i-1] + steps[i]) s[i] + steps[i-1] s[i+1].
    corner, other_corner = steps[0], before[-1]
    pivot = -diagonal[0]
    middle = np.concatenate(
        [
            np.reshape(diagonal[0] - pivot, (1,)),
            diagonal[1:-1],
            np.reshape(diagonal[-1] - corner * other_corner / pivot, (1,)),
        ]
    )
    zero = 0.0 * steps[:1]
    ab = np.stack([np.concatenate([zero, before[:-1]]), middle, np.concatenate([steps[1:], zero])])
    spread = np.concatenate(
        [np.reshape(pivot, (1,)), np.zeros_like(steps[2:]), np.reshape(other_corner, (1,))]
    )
    share = corner / pivot
    flat = np.reshape(right, (np.shape(right)[0], -1))
    both_solved = solve_banded((1, 1), ab, np.concatenate([flat, spread[:, None]], 1))
    solved, spread = both_solved[:, :-1], both_solved[:, -1]
    weight = (solved[0] + share * solved[-1]) / (1.0 + spread[0] + share * spread[-1])
    found = np.reshape(solved - spread[:, None] * weight, np.shape(right))
    return np.concatenate([found, found[:1]])
