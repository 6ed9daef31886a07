"""The gamma function and the distribution functions of normal, gamma, beta and t."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.extend import Primitive
from ferrograd.scipy._conversions import detach
from ferrograd.scipy._scipy_primitives import make_scipy_primitive
from ferrograd.scipy.special._elementary import (
    betaln,
    digamma,
    erfc,
    gammaln,
    xlog1py,
    xlogy,
)
from ferrograd.scipy.special._powers_logs import erfcx
from ferrograd.transforms import make_vjp

np: Any = _ferrograd_numpy

_ROOT_2 = math.sqrt(2.0)
_ROOT_2_OVER_PI = math.sqrt(2 / math.pi)
_ROOT_2PI = math.sqrt(2 * math.pi)
_HALF_ROOT_PI = 0.5 * math.sqrt(math.pi)

gamma: Primitive = make_scipy_primitive(
    "special.gamma", lambda ans, x: lambda g: g * ans * digamma(x), real=True
)
rgamma: Primitive = make_scipy_primitive(
    "special.rgamma", lambda ans, x: lambda g: g * _rgamma_derivative(ans, x), real=True
)
gammasgn: Primitive = make_scipy_primitive("special.gammasgn", lambda ans, x: lambda g: 0.0 * g)


def _rgamma_derivative(ans: Any, x: Any) -> Any:
    """`-ψ(x) / Γ(x)`; below 1/2 by `Γ(x) Γ(1 - x) = π / sin(π x)`, since ψ has poles there."""
    low = x < 0.5
    rest = 1.0 - np.where(low, x, 0.0)
    below = np.cos(math.pi * (1.0 - rest)) * gamma(rest) - ans * digamma(rest)
    return np.where(low, below, -ans * digamma(np.where(low, 1.0, x)))


def factorial(n: Any) -> Any:
    """`gamma(n + 1)`, and 0 below 0, as SciPy's."""
    below = n < 0
    return np.where(below, 0.0, gamma(np.where(below, 0.0, n) + 1.0))


def ndtr(x: Any) -> Any:
    """The distribution function of the standard normal."""
    return erfc(-x / 2**0.5) / 2


# The density over the distribution function as one quotient, which is exact far below 0.
log_ndtr: Primitive = make_scipy_primitive(
    "special.log_ndtr",
    lambda ans, x: lambda g: g * (_ROOT_2_OVER_PI / erfcx(-x / _ROOT_2)),
)
ndtri: Primitive = make_scipy_primitive(
    "special.ndtri", lambda ans, x: lambda g: g * _ROOT_2PI * np.exp(ans * ans / 2)
)
erfcinv: Primitive = make_scipy_primitive(
    "special.erfcinv", lambda ans, x: lambda g: -g * _HALF_ROOT_PI * np.exp(ans * ans)
)


gammainc: Primitive = make_scipy_primitive(
    "special.gammainc",
    lambda ans, a, x: lambda g: g * _gammainc_shape_derivative(a, x),
    lambda ans, a, x: lambda g: g * _gammainc_derivative(a, x),
)
gammaincc: Primitive = make_scipy_primitive(
    "special.gammaincc",
    lambda ans, a, x: lambda g: -g * _gammainc_shape_derivative(a, x),
    lambda ans, a, x: lambda g: -g * _gammainc_derivative(a, x),
)
betainc: Primitive = make_scipy_primitive(
    "special.betainc",
    lambda ans, a, b, x: lambda g: g * _betainc_shape_derivative(a, b, x, 0),
    lambda ans, a, b, x: lambda g: g * _betainc_shape_derivative(a, b, x, 1),
    lambda ans, a, b, x: lambda g: g * _betainc_derivative(a, b, x),
)
stdtr: Primitive = make_scipy_primitive(
    "special.stdtr",
    lambda ans, df, t: lambda g: _student_df_vjp(df, t)(g),
    lambda ans, df, t: lambda g: g * _student_pdf(df, t),
)


def _gammainc_derivative(a: Any, x: Any) -> Any:
    finite = x < numpy.inf
    inner = np.where(finite, x, 1.0)
    return np.where(finite, np.exp(xlogy(a - 1.0, inner) - inner - gammaln(a)), 0.0)


def _betainc_derivative(a: Any, b: Any, x: Any) -> Any:
    return np.exp(xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - betaln(a, b))


def _student_pdf(df: Any, t: Any) -> Any:
    """The density of Student's t distribution."""
    scale = gammaln((df + 1.0) / 2) - gammaln(df / 2.0) - np.log(df * np.pi) / 2
    return np.exp(scale - (df + 1.0) / 2 * np.log1p(t * t / df))


def _student_df_vjp(df: Any, t: Any) -> Callable[[Any], Any]:
    """By the beta distribution of `df / (df + t²)`, whose distribution function is flat at 1."""

    far = detach(t * t) > 1e-4 * np.minimum(detach(df), 1.0)

    def tail(d: Any) -> Any:
        outer = np.clip(np.where(far, t, 1.0), -1e100, 1e100)
        inner = np.where(far, 0.0, t)
        found = -np.sign(outer) * betainc(d / 2.0, 0.5, d / (d + outer**2)) / 2
        return np.where(far, found, _student_cdf_near_zero(d, inner))

    back: Callable[[Any], Any] = make_vjp(tail)(df)[0]
    return back


def _student_cdf_near_zero(df: Any, t: Any) -> Any:
    """The distribution function minus 1/2 near 0: the integral of the density's power series."""
    power, square = (df + 1.0) / 2, t * t / df
    series = 1.0 - power * square * (
        1 / 3 - (power + 1.0) * square * (1 / 10 - (power + 2.0) * square / 42)
    )
    return _student_pdf(df, 0.0) * t * series


#: Double exponential quadrature on the half line: nodes and weights.
_STEP = 0.04
_TAU = numpy.arange(-3.6, 3.0, _STEP)
_NODES = numpy.exp(math.pi / 2 * numpy.sinh(_TAU))
_WEIGHTS = _STEP * math.pi / 2 * numpy.cosh(_TAU) * _NODES


def _integrate_outwards(end: Any, scale: Any, up: Any, term: Callable[[Any], Any]) -> Any:
    """Integrates a term of the logarithm of the variable from `end` outwards.

    Source: H. Takahasi and M. Mori, Publications of RIMS 9, 1974. The scale is constant: the value
    of an integral does not depend on it.
    """
    sign = np.where(up, 1.0, -1.0)
    reach = scale[..., None] * _NODES
    place = end[..., None] + sign[..., None] * reach
    parts = term(place)
    return scale * np.sum(_WEIGHTS * np.where(np.isfinite(parts), parts, 0.0), -1)


def _gammainc_shape_derivative(a: Any, x: Any) -> Any:
    """`∂P(a, x)/∂a = ∫ (log t - ψ(a)) t**(a-1) exp(-t) / Γ(a) dt` up to `x`.

    Beyond the mode it is minus the integral from `x` on, since the whole one is 0.
    """
    a, x = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(x, dtype=float))
    inside = (x > 0) & np.isfinite(x)
    a, x = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    known, shape = detach(x), detach(a)
    up = known >= shape

    def term(v: Any) -> Any:
        wide = a[..., None]
        v = np.minimum(v, 700.0)
        return np.exp(wide * v - np.exp(v) - gammaln(wide)) * (v - digamma(wide))

    scale = 1.0 / (np.sqrt(shape) + abs(shape - known))
    found = _integrate_outwards(np.log(x), scale, up, term)
    return np.where(inside, np.where(up, -1.0, 1.0) * found, 0.0)


def _betainc_shape_derivative(a: Any, b: Any, x: Any, which: int) -> Any:
    """The derivative of the incomplete beta function with respect to a shape.

    The integral of `log t - ψ(a) + ψ(a + b)`, or the same of `1 - t` and `b`, over the density, on
    the line of `log(t / (1 - t))`.
    """
    a, b, x = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (a, b, x)))
    inside = (x > 0) & (x < 1)
    a, b, x = (np.where(inside, v, 0.5) for v in (a, b, x))
    first, second, known = detach(a), detach(b), detach(x)
    both = first + second
    up = known >= first / both

    def term(u: Any) -> Any:
        low, high = a[..., None], b[..., None]
        log_t, log_rest = -np.logaddexp(0.0, -u), -np.logaddexp(0.0, u)
        density = np.exp(low * log_t + high * log_rest - betaln(low, high))
        logs, own = (log_t, low) if which == 0 else (log_rest, high)
        return density * (logs - digamma(own) + digamma(low + high))

    scale = 1.0 / (np.sqrt(first * second / both) + abs(first - both * known))
    found = _integrate_outwards(np.log(x) - np.log1p(-x), scale, up, term)
    return np.where(inside, np.where(up, -1.0, 1.0) * found, 0.0)
