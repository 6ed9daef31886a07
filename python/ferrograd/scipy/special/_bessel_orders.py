"""Derivatives of Bessel functions with respect to the order: real orders, positive arguments.

The contour goes through the saddle point if there is one, so small values keep their digits: the
error is 1e-12 of the derivative plus 1e-15 of the size of the function near it. Invariant:
everything is composed of operations, so derivatives of every order exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.errors import NotDifferentiableError
from ferrograd.scipy._conversions import detach, to_float_array

np: Any = _ferrograd_numpy

#: Nodes of a panel, and the most panels; an integrand has at most this many waves.
_NODES = 32
_MAX_PANELS = 512

#: An integrand is negligible where its exponent is this far below its largest one.
_EXPONENT_CUTOFF = 42.0


def _make_quadrature(name: str, v: Any, x: Any) -> tuple[Any, Any]:
    """Nodes from 0 to 1 and weights: Gauss-Legendre on panels, whose number follows the waves."""
    if any(numpy.iscomplexobj(detach(value)) for value in (v, x)):
        raise NotDifferentiableError(
            f"{name}: the order requires grad and an argument is complex; the derivative by the"
            " order is written for real numbers only, pass the order detached"
        )
    sizes = [
        numpy.abs(value[numpy.isfinite(value)]).max(initial=0.0)
        for value in map(to_float_array, (v, x))
    ]
    count = 8 + math.ceil(max(sizes) / 4)
    if count > _MAX_PANELS:
        raise NotDifferentiableError(
            f"{name}: the order or the argument is {max(sizes)}, and the derivative by the order is"
            f" accurate up to {4 * (_MAX_PANELS - 8)} only; pass the order detached"
        )
    places, weights = numpy.polynomial.legendre.leggauss(_NODES)
    parts = (numpy.arange(count)[:, None] + (places + 1) / 2) / count
    return parts.ravel(), numpy.tile(weights / (2 * count), count)


def _integrate(weights: Any, values: Any, width: Any) -> Any:
    return width * np.sum(weights * values, -1)


def _integrate_contour(rule: Any, v: Any, x: Any, saddle: Any, kind: str) -> Any:
    """`∫ -w exp(x s(w) - v w) dw / 2πi` for `s` of `sinh` or `cosh` on both ways around.

    The contour is `saddle + iθ` and then parallel to the axis from `saddle ± iπ` on.
    """
    parts, weights = rule
    theta = math.pi * parts
    a, order, at = saddle[..., None], v[..., None], x[..., None]
    falls, turns = (np.sinh, np.cosh) if kind == "sinh" else (np.cosh, np.sinh)
    phase = at * turns(a) * np.sin(theta) - order * theta
    size = np.exp(at * falls(a) * np.cos(theta) - order * a)
    middle = _integrate(weights, size * (theta * np.sin(phase) - a * np.cos(phase)), math.pi)
    width = np.minimum(
        np.arcsinh(_EXPONENT_CUTOFF / detach(x)), _EXPONENT_CUTOFF / np.maximum(detach(v), 1e-3)
    )
    place = a + width[..., None] * parts
    tail = np.exp(-at * falls(place) - order * place)
    plain_tail = _integrate(weights, tail, width)
    tail_by_order = _integrate(weights, place * tail, width)
    rest = np.sin(math.pi * v) * tail_by_order - math.pi * np.cos(math.pi * v) * plain_tail
    return (middle + rest) / math.pi


def _integrate_half_line(rule: Any, v: Any, x: Any, kind: str) -> tuple[Any, Any]:
    """`∫ t exp(v t - x s(t)) dt` and `∫ exp(-v t - x s(t)) (1, t) dt` from 0 on."""
    parts, weights = rule
    order, at = detach(v), detach(x)
    peak = np.arcsinh(order / at)
    width = (
        peak
        + np.arcsinh(_EXPONENT_CUTOFF / np.sqrt(at * at + order * order))
        + np.minimum(np.sqrt(2 * _EXPONENT_CUTOFF / np.hypot(at, order)), 8.0)
    )
    place = width[..., None] * parts
    s = np.sinh if kind == "sinh" else np.cosh
    fall = x[..., None] * s(place)
    up = np.exp(v[..., None] * place - fall)
    down = np.exp(-v[..., None] * place - fall)
    return _integrate(weights, place * up, width), (
        _integrate(weights, down, width),
        _integrate(weights, place * down, width),
    )


def _jv_derivative(rule: Any, v: Any, x: Any) -> Any:
    saddle = np.arccosh(np.maximum(detach(v) / detach(x), 1.0))
    return _integrate_contour(rule, v, x, saddle, "sinh")


def _iv_derivative(rule: Any, v: Any, x: Any) -> Any:
    return _integrate_contour(rule, v, x, np.arcsinh(detach(v) / detach(x)), "cosh")


def _kv_derivative(rule: Any, v: Any, x: Any) -> Any:
    up, (_, down) = _integrate_half_line(rule, v, x, "cosh")
    return (up - down) / 2


def _yv_derivative(rule: Any, v: Any, x: Any) -> Any:
    parts, weights = rule
    theta = math.pi * parts
    phase = x[..., None] * np.sin(theta) - v[..., None] * theta
    middle = _integrate(weights, -theta * np.cos(phase), math.pi)
    up, (none, once) = _integrate_half_line(rule, v, x, "sinh")
    turn = math.pi * v
    tail = up - np.cos(turn) * once - math.pi * np.sin(turn) * none
    return (middle - tail) / math.pi


def differentiate_by_order(name: str, v: Any, x: Any, call: Callable[..., dict[str, Any]]) -> Any:
    """The derivative of `jv`, `yv`, `iv` or `kv` by the order; `call` has these functions.

    Orders below 0 by their reflections (DLMF 10.4.7, 10.27.2, 10.27.3). At 0 and below the
    derivative is that of the limit where the function vanishes, else NaN.
    """
    rule = _make_quadrature(name, v, x)
    v, x = np.broadcast_arrays(np.asarray(v, dtype=float), np.asarray(x, dtype=float))
    inside = (x > 0) & np.isfinite(x) & np.isfinite(v)
    order, at = np.where(inside, v, 1.0), np.where(inside, x, 1.0)
    low = order < 0
    size = np.where(low, -order, order)
    found = _POSITIVE_ORDER_DERIVATIVES[name](rule, size, at)
    if name == "kv":
        found = np.where(low, -found, found)
    elif not isinstance(low, numpy.ndarray | numpy.bool_) or numpy.any(low):
        found = np.where(low, -_reflect_derivative(name, rule, size, at, call()), found)
    flat = (x == 0) & (v > 0) if name in ("jv", "iv") else np.isinf(x) & (x > 0) & (name != "iv")
    return np.where(inside, found, np.where(flat, 0.0, numpy.nan))


def _reflect_derivative(name: str, rule: Any, v: Any, x: Any, functions: dict[str, Any]) -> Any:
    """The derivative by `v` of the function of the order `-v`."""
    turn = math.pi * v
    sine, cosine = np.sin(turn), np.cos(turn)
    if name == "iv":
        rest = math.pi * cosine * functions["kv"](v, x) + sine * _kv_derivative(rule, v, x)
        return _iv_derivative(rule, v, x) + 2 / math.pi * rest
    j, y = functions["jv"](v, x), functions["yv"](v, x)
    by_j, by_y = _jv_derivative(rule, v, x), _yv_derivative(rule, v, x)
    if name == "jv":
        return cosine * (by_j - math.pi * y) - sine * (by_y + math.pi * j)
    return sine * (by_j - math.pi * y) + cosine * (by_y + math.pi * j)


_POSITIVE_ORDER_DERIVATIVES = {
    "jv": _jv_derivative,
    "yv": _yv_derivative,
    "iv": _iv_derivative,
    "kv": _kv_derivative,
}
