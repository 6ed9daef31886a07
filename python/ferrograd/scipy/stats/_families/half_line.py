"""Distributions on the half line: exponential, half normal, log-normal, Weibull, Pareto, …."""

from math import inf, log, pi, sqrt
from typing import Any

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.scipy._conversions import detach
from ferrograd.scipy.special import (
    betainc,
    betaln,
    erf,
    gammainc,
    gammaincc,
    gammaln,
    log_ndtr,
    ndtr,
    ndtri,
    xlog1py,
)
from ferrograd.scipy.stats._continuous import ContinuousDistribution
from ferrograd.scipy.stats._supports import log1p_square, standardize

np: Any = _ferrograd_numpy

_HALF_LOG_2PI = log(2 * pi) / 2
_ROOT_2 = sqrt(2.0)

#: The density `exp(-z)`.
expon = ContinuousDistribution(
    "expon",
    "",
    lambda z: -z,
    lambda z: -np.expm1(-z),
    sf=lambda z: np.exp(-z),
    logsf=lambda z: -z,
    ppf=lambda q: -np.log1p(-q),
    isf=lambda q: -np.log(q),
    low=0.0,
)

#: The absolute value of a standard normal.
halfnorm = ContinuousDistribution(
    "halfnorm",
    "",
    lambda z: -z * z / 2 + log(2) - _HALF_LOG_2PI,
    lambda z: erf(z / _ROOT_2),
    sf=lambda z: 2 * ndtr(-z),
    logsf=lambda z: log(2) + log_ndtr(-z),
    ppf=lambda q: ndtri((1.0 + q) / 2),
    isf=lambda q: -ndtri(q / 2),
    low=0.0,
)


def _halfcauchy_isf(q: Any) -> Any:
    """`tan(π (1 - q) / 2)`, from the nearer end."""
    low = q < 0.5
    return np.where(
        low,
        1.0 / np.tan(pi / 2 * np.where(low, q, 0.5)),
        np.tan(pi / 2 * (1.0 - np.where(low, 0.5, q))),
    )


def _halfcauchy_ppf(q: Any) -> Any:
    low = q < 0.5
    return np.where(
        low,
        np.tan(pi / 2 * np.where(low, q, 0.5)),
        1.0 / np.tan(pi / 2 * (1.0 - np.where(low, 0.5, q))),
    )


#: The absolute value of a standard Cauchy.
halfcauchy = ContinuousDistribution(
    "halfcauchy",
    "",
    lambda z: -log1p_square(z) + log(2 / pi),
    lambda z: 2 / pi * np.arctan(z),
    sf=lambda z: 2 / pi * np.arctan2(1.0, z),
    ppf=_halfcauchy_ppf,
    isf=_halfcauchy_isf,
    low=0.0,
)

#: The length of a vector of two standard normals.
rayleigh = ContinuousDistribution(
    "rayleigh",
    "",
    lambda z: -z * z / 2,
    lambda z: -np.expm1(-z * z / 2),
    sf=lambda z: np.exp(-z * z / 2),
    logsf=lambda z: -z * z / 2,
    ppf=lambda q: np.sqrt(-2 * np.log1p(-q)),
    isf=lambda q: np.sqrt(0.0 - 2 * np.log(q)),
    low=0.0,
    low_power=lambda: 1.0,
)

#: The length of a vector of three standard normals.
maxwell = ContinuousDistribution(
    "maxwell",
    "",
    lambda z: -z * z / 2 + log(2) - _HALF_LOG_2PI,
    lambda z: gammainc(1.5, z * z / 2),
    sf=lambda z: gammaincc(1.5, z * z / 2),
    low=0.0,
    low_power=lambda: 2.0,
)


def _lognorm_logpdf(z: Any, s: Any) -> Any:
    logs = np.log(z)
    return -((logs / s) ** 2) / 2 - np.log(s) - logs - _HALF_LOG_2PI


def _lognorm_ppf(q: Any, s: Any, above: Any = None) -> Any:
    """The quantile of `q`, or of `1 - above`; at 0 it has the slopes of a root."""
    none = q == 0
    normal = ndtri(np.where(none, 0.5, q if above is None else above))
    normal = normal if above is None else -normal
    return np.where(none, np.sqrt(np.where(none, q, 1.0)), np.exp(s * normal))


#: `exp` of a normal of the width `s`.
lognorm = ContinuousDistribution(
    "lognorm",
    "s",
    _lognorm_logpdf,
    lambda z, s: ndtr(np.log(z) / s),
    sf=lambda z, s: ndtr(-np.log(z) / s),
    logcdf=lambda z, s: log_ndtr(np.log(z) / s),
    logsf=lambda z, s: log_ndtr(-np.log(z) / s),
    ppf=_lognorm_ppf,
    isf=lambda q, s: _lognorm_ppf(1.0 - q, s, q),
    low=0.0,
    open_low=True,
)


def _bounded_power(z: Any, c: Any) -> Any:
    """`z**c`, bounded: the exponential of minus it is 0 there, with all derivatives."""
    return np.minimum(z, 800.0 ** (1.0 / detach(c))) ** c


#: `sf` is `exp(-z**c)`.
weibull_min = ContinuousDistribution(
    "weibull_min",
    "c",
    lambda z, c: np.log(c) - z**c,
    lambda z, c: -np.expm1(-_bounded_power(z, c)),
    sf=lambda z, c: np.exp(-_bounded_power(z, c)),
    logsf=lambda z, c: -(z**c),
    ppf=lambda q, c: (-np.log1p(-q)) ** (1.0 / c),
    isf=lambda q, c: (-np.log(q)) ** (1.0 / c),
    low=0.0,
    low_power=lambda c: c - 1.0,
)

#: `sf` is `z**-b` from 1 on.
pareto = ContinuousDistribution(
    "pareto",
    "b",
    lambda z, b: np.log(b) - (b + 1.0) * np.log(z),
    lambda z, b: 1.0 - z**-b,
    sf=lambda z, b: z**-b,
    logsf=lambda z, b: -b * np.log(z),
    ppf=lambda q, b: (1.0 - q) ** (-1.0 / b),
    isf=lambda q, b: q ** (-1.0 / b),
    low=1.0,
    within=2.0,
)

#: `sf` is `(1 + z)**-c`.
lomax = ContinuousDistribution(
    "lomax",
    "c",
    lambda z, c: np.log(c) - (c + 1.0) * np.log1p(z),
    lambda z, c: -np.expm1(-c * np.log1p(z)),
    sf=lambda z, c: np.exp(-c * np.log1p(z)),
    logsf=lambda z, c: -c * np.log1p(z),
    ppf=lambda q, c: np.expm1(-np.log1p(-q) / c),
    isf=lambda q, c: np.expm1(-np.log(q) / c),
    low=0.0,
)


#: One over a gamma variable.
invgamma = ContinuousDistribution(
    "invgamma",
    "a",
    lambda z, a: -(a + 1.0) * np.log(z) - gammaln(a) - 1.0 / z,
    lambda z, a: gammaincc(a, 1.0 / z),
    sf=lambda z, a: gammainc(a, 1.0 / z),
    low=0.0,
    open_low=True,
)


def _f_logpdf(z: Any, dfn: Any, dfd: Any) -> Any:
    n, m = dfn / 2.0, dfd / 2.0
    ratio = n / m
    return n * np.log(ratio) - xlog1py(n + m, ratio * z) - betaln(n, m)


def _f_cdf(z: Any, dfn: Any, dfd: Any) -> Any:
    ratio = standardize(z, 0.0, dfd / dfn)
    return betainc(dfn / 2.0, dfd / 2.0, -np.expm1(-np.log1p(ratio)))


def _f_sf(z: Any, dfn: Any, dfd: Any) -> Any:
    ratio = standardize(z, 0.0, dfd / dfn)
    return betainc(dfd / 2.0, dfn / 2.0, 1.0 / (1.0 + ratio))


#: The quotient of two mean squares.
f = ContinuousDistribution(
    "f",
    "dfn dfd",
    _f_logpdf,
    _f_cdf,
    sf=_f_sf,
    low=0.0,
    high=inf,
    low_power=lambda dfn, dfd: dfn / 2.0 - 1.0,
)
