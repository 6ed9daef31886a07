"""Integrals of functions that are known at sample points.

Made of operations, so every derivative follows.
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as np
from ferrograd import _core
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy._wrappers import wrap_operation

_trapezoid = wrap_operation(_core.trapezoid, "trapezoid")


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by trapezoids: `Σ (x[k+1] - x[k]) (y[k+1] + y[k]) / 2`.

    `x` are the sample points, of one axis or of the shape of `y`; without them `dx` is the distance
    of samples. Gives the shape of `y` without the axis. Differentiable by `y`, `x` and `dx`.

    >>> from ferrograd.scipy import integrate
    >>> fg.grad(lambda x: integrate.trapezoid(x**2, x))(np.array([0.0, 1.0, 3.0])).tolist()
    [-0.5, -1.5, 11.0]
    """
    return _trapezoid(y, x, axis=axis) if x is not None else dx * _trapezoid(y, axis=axis)


def cumulative_trapezoid(
    y: Any, x: Any = None, dx: float = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """The running integral along an axis by trapezoids, one element shorter than `y`.

    With `initial=0` the result starts with a zero and has the shape of `y`. Differentiable by
    `y`, `x` and `dx`. Errors: `ArgumentError` for another `initial`.

    >>> from ferrograd.scipy import integrate
    >>> integrate.cumulative_trapezoid([1.0, 2.0, 4.0], initial=0).tolist()
    [0.0, 1.5, 4.5]
    """
    if initial is not None and initial != 0:
        raise ArgumentError(f"cumulative_trapezoid: initial is {initial!r}; give 0 or None")
    y, steps = _prepare_samples("cumulative_trapezoid", y, x, dx, axis)
    parts = np.cumsum(steps * (y[..., 1:] + y[..., :-1]) / 2, -1)
    if initial is not None:
        parts = np.concatenate([np.zeros_like(y[..., :1]), parts], -1)
    return np.moveaxis(parts, -1, axis)


def simpson(y: Any, x: Any = None, *, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by parabolas through three neighbours each.

    An even number of samples leaves one interval over, which is integrated by the parabola through
    the last three samples (K. V. Cartwright, Journal of Mathematical Sciences and Mathematics
    Education 12, 2017). Exact for polynomials of degree 2; degree 3 where samples are equally far
    and odd in number. Differentiable by `y`, `x` and `dx`.

    >>> from ferrograd.scipy import integrate
    >>> x = np.linspace(0.0, 3.0, 4)
    >>> round(float(integrate.simpson(x**2, x)), 12)
    9.0
    """
    y, steps = _prepare_samples("simpson", y, x, dx, axis)
    count = np.shape(y)[-1]
    if count == 1:
        return 0.0 * y[..., 0]
    if count == 2:
        return steps[..., 0] * (y[..., 0] + y[..., 1]) / 2
    whole = count - 1 + count % 2
    total = _integrate_parabolas(y[..., :whole], steps[..., : whole - 1])
    if whole < count:
        before, last = steps[..., -2], steps[..., -1]
        both = before + last
        total = total + (
            _safe_divide(last * (2 * last + 3 * before), 6 * both) * y[..., -1]
            + _safe_divide(last * (last + 3 * before), 6 * before) * y[..., -2]
            - _safe_divide(last**3, 6 * before * both) * y[..., -3]
        )
    return total


def _integrate_parabolas(y: Any, steps: Any) -> Any:
    """Integrates, over each pair of steps, the parabola through its three samples."""
    first, second = steps[..., ::2], steps[..., 1::2]
    both = first + second
    parts = (
        y[..., :-2:2] * (2.0 - _safe_divide(second, first))
        + y[..., 1:-1:2] * both * _safe_divide(both, first * second)
        + y[..., 2::2] * (2.0 - _safe_divide(first, second))
    )
    return np.sum(both / 6 * parts, -1)


def _safe_divide(over: Any, under: Any) -> Any:
    """The quotient, 0 if the divisor is 0, as for two samples at one point."""
    there = under != 0
    return np.where(there, over / np.where(there, under, 1.0), 0.0)


def _prepare_samples(name: str, y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """The samples with the axis last, and the distances between them."""
    y = as_floats(y)
    if not np.ndim(y) or np.shape(y)[axis] == 0:
        raise ShapeError(
            f"{name}: y has shape {np.shape(y)} and axis is {axis}; give at least one sample along"
            " the axis"
        )
    y = np.moveaxis(y, axis, -1)
    if x is None:
        return y, dx * np.ones(np.shape(y)[-1] - 1, y.dtype)
    x = np.asarray(x)
    if np.ndim(x) > 1:
        x = np.moveaxis(x, axis, -1)
    if np.shape(x)[-1:] != np.shape(y)[-1:] or np.ndim(x) not in (1, np.ndim(y)):
        raise ShapeError(
            f"{name}: x has shape {np.shape(x)} and y, with the axis last, {np.shape(y)}; give x"
            " of one axis, or of the shape of y, with as many samples"
        )
    return y, np.diff(x)
