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

import ferrograd.numpy as _face
from ferrograd.errors import NotDifferentiableError
from ferrograd.scipy._closed_over import fixed, plain

np: Any = _face

#: Nodes of a panel, and the most panels; an integrand has at most this many waves.
_NODES = 32
_PANELS = 512

#: An integrand is negligible where its exponent is this far below its largest one.
_DEPTH = 42.0


def _rule(name: str, v: Any, x: Any) -> tuple[Any, Any]:
    """Places from 0 to 1 and their weights: Gauss and Legendre on panels, as many as waves ask."""
    if any(numpy.iscomplexobj(fixed(value)) for value in (v, x)):
        raise NotDifferentiableError(
            f"{name}: the order requires grad and an argument is complex; the derivative by the"
            " order is written for real numbers only, pass the order detached"
        )
    sizes = [
        numpy.abs(value[numpy.isfinite(value)]).max(initial=0.0) for value in map(plain, (v, x))
    ]
    count = 8 + math.ceil(max(sizes) / 4)
    if count > _PANELS:
        raise NotDifferentiableError(
            f"{name}: the order or the argument is {max(sizes)}, and the derivative by the order is"
            f" accurate up to {4 * (_PANELS - 8)} only; pass the order detached"
        )
    places, weights = numpy.polynomial.legendre.leggauss(_NODES)
    parts = (numpy.arange(count)[:, None] + (places + 1) / 2) / count
    return parts.ravel(), numpy.tile(weights / (2 * count), count)


def _sum(weights: Any, values: Any, width: Any) -> Any:
    return width * np.sum(weights * values, -1)


def _around(rule: Any, v: Any, x: Any, saddle: Any, kind: str) -> Any:
    """`∫ -w exp(x s(w) - v w) dw / 2πi` for `s` of `sinh` or `cosh` on both ways around.

    The contour is `saddle + iθ` and then parallel to the axis from `saddle ± iπ` on.
    """
    parts, weights = rule
    theta = math.pi * parts
    a, order, at = saddle[..., None], v[..., None], x[..., None]
    falls, turns = (np.sinh, np.cosh) if kind == "sinh" else (np.cosh, np.sinh)
    phase = at * turns(a) * np.sin(theta) - order * theta
    size = np.exp(at * falls(a) * np.cos(theta) - order * a)
    middle = _sum(weights, size * (theta * np.sin(phase) - a * np.cos(phase)), math.pi)
    width = np.minimum(np.arcsinh(_DEPTH / fixed(x)), _DEPTH / np.maximum(fixed(v), 1e-3))
    place = a + width[..., None] * parts
    tail = np.exp(-at * falls(place) - order * place)
    plain_tail = _sum(weights, tail, width)
    tail_by_order = _sum(weights, place * tail, width)
    rest = np.sin(math.pi * v) * tail_by_order - math.pi * np.cos(math.pi * v) * plain_tail
    return (middle + rest) / math.pi


def _growing(rule: Any, v: Any, x: Any, kind: str) -> tuple[Any, Any]:
    """`∫ t exp(v t - x s(t)) dt` and `∫ exp(-v t - x s(t)) (1, t) dt` from 0 on."""
    parts, weights = rule
    order, at = fixed(v), fixed(x)
    peak = np.arcsinh(order / at)
    width = (
        peak
        + np.arcsinh(_DEPTH / np.sqrt(at * at + order * order))
        + np.minimum(np.sqrt(2 * _DEPTH / np.hypot(at, order)), 8.0)
    )
    place = width[..., None] * parts
    s = np.sinh if kind == "sinh" else np.cosh
    fall = x[..., None] * s(place)
    up = np.exp(v[..., None] * place - fall)
    down = np.exp(-v[..., None] * place - fall)
    return _sum(weights, place * up, width), (
        _sum(weights, down, width),
        _sum(weights, place * down, width),
    )


def _j(rule: Any, v: Any, x: Any) -> Any:
    saddle = np.arccosh(np.maximum(fixed(v) / fixed(x), 1.0))
    return _around(rule, v, x, saddle, "sinh")


def _i(rule: Any, v: Any, x: Any) -> Any:
    return _around(rule, v, x, np.arcsinh(fixed(v) / fixed(x)), "cosh")


def _k(rule: Any, v: Any, x: Any) -> Any:
    up, (_, down) = _growing(rule, v, x, "cosh")
    return (up - down) / 2


def _y(rule: Any, v: Any, x: Any) -> Any:
    parts, weights = rule
    theta = math.pi * parts
    phase = x[..., None] * np.sin(theta) - v[..., None] * theta
    middle = _sum(weights, -theta * np.cos(phase), math.pi)
    up, (none, once) = _growing(rule, v, x, "sinh")
    turn = math.pi * v
    tail = up - np.cos(turn) * once - math.pi * np.sin(turn) * none
    return (middle - tail) / math.pi


def by_order(name: str, v: Any, x: Any, call: Callable[..., dict[str, Any]]) -> Any:
    """The derivative of `jv`, `yv`, `iv` or `kv` by the order; `call` has these functions.

    Orders below 0 by their reflections (DLMF 10.4.7, 10.27.2, 10.27.3). At 0 and below the
    derivative is that of the limit where the function vanishes, else NaN.
    """
    rule = _rule(name, v, x)
    v, x = np.broadcast_arrays(np.asarray(v, dtype=float), np.asarray(x, dtype=float))
    inside = (x > 0) & np.isfinite(x) & np.isfinite(v)
    order, at = np.where(inside, v, 1.0), np.where(inside, x, 1.0)
    low = order < 0
    size = np.where(low, -order, order)
    found = _OF_POSITIVE[name](rule, size, at)
    if name == "kv":
        found = np.where(low, -found, found)
    elif not isinstance(low, numpy.ndarray | numpy.bool_) or numpy.any(low):
        found = np.where(low, -_reflected(name, rule, size, at, call()), found)
    flat = (x == 0) & (v > 0) if name in ("jv", "iv") else np.isinf(x) & (x > 0) & (name != "iv")
    return np.where(inside, found, np.where(flat, 0.0, numpy.nan))


def _reflected(name: str, rule: Any, v: Any, x: Any, functions: dict[str, Any]) -> Any:
    """The derivative by `v` of the function of the order `-v`."""
    turn = math.pi * v
    sine, cosine = np.sin(turn), np.cos(turn)
    if name == "iv":
        rest = math.pi * cosine * functions["kv"](v, x) + sine * _k(rule, v, x)
        return _i(rule, v, x) + 2 / math.pi * rest
    j, y = functions["jv"](v, x), functions["yv"](v, x)
    by_j, by_y = _j(rule, v, x), _y(rule, v, x)
    if name == "jv":
        return cosine * (by_j - math.pi * y) - sine * (by_y + math.pi * j)
    return sine * (by_j - math.pi * y) + cosine * (by_y + math.pi * j)


_OF_POSITIVE = {"jv": _j, "yv": _y, "iv": _i, "kv": _k}
