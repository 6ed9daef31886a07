"""Further distributions on the half line and on the line, from formulas of SciPy's tables."""

from math import inf, log, pi, sqrt
from typing import Any

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.extend import defvjp, primitive
from ferrograd.scipy._conversions import detach
from ferrograd.scipy._scipy_primitives import get_scipy_function, make_quiet_rule
from ferrograd.scipy.special import (
    betainc,
    betaln,
    erf,
    erfc,
    gammainc,
    gammaincc,
    gammaln,
    log_ndtr,
    ndtr,
    ndtri,
    xlog1py,
)
from ferrograd.scipy.stats._continuous import ContinuousDistribution
from ferrograd.scipy.stats._supports import log1p_square

np: Any = _ferrograd_numpy

_HALF_LOG_2PI = log(2 * pi) / 2
_ROOT_2 = sqrt(2.0)

#: The length of a vector of `df` standard normals.
chi = ContinuousDistribution(
    "chi",
    "df",
    lambda z, df: -z * z / 2 - (df / 2.0 - 1.0) * log(2) - gammaln(df / 2.0),
    lambda z, df: gammainc(df / 2.0, z * z / 2),
    sf=lambda z, df: gammaincc(df / 2.0, z * z / 2),
    low=0.0,
    low_power=lambda df: df - 1.0,
    steep=lambda df: df < 2,
)

#: The root of a gamma variable with the mean 1.
nakagami = ContinuousDistribution(
    "nakagami",
    "nu",
    lambda z, nu: log(2) + nu * np.log(nu) - gammaln(nu) - nu * z * z,
    lambda z, nu: gammainc(nu, nu * z * z),
    sf=lambda z, nu: gammaincc(nu, nu * z * z),
    low=0.0,
    low_power=lambda nu: 2.0 * nu - 1.0,
    steep=lambda nu: nu < 1,
)


def _betaprime_logpdf(z: Any, a: Any, b: Any) -> Any:
    return -xlog1py(a + b, z) - betaln(a, b)


#: The odds of a beta variable.
betaprime = ContinuousDistribution(
    "betaprime",
    "a b",
    _betaprime_logpdf,
    lambda z, a, b: betainc(a, b, -np.expm1(-np.log1p(z))),
    sf=lambda z, a, b: betainc(b, a, 1.0 / (1.0 + z)),
    low=0.0,
    low_power=lambda a, b: a - 1.0,
)


def _log1p_power(z: Any, c: Any) -> Any:
    """`log(1 + z**c)`, of any size of `z`."""
    far = detach(z) > 1.0
    near, large = np.where(far, 1.0, z), np.where(far, z, 1.0)
    return np.where(far, c * np.log(large) + np.log1p(large**-c), np.log1p(near**c))


def _fisk_cdf(z: Any, c: Any) -> Any:
    far = detach(z) > 1.0
    near, large = np.where(far, 1.0, z), np.where(far, z, 1.0)
    return np.where(far, 1.0 / (1.0 + large**-c), near**c / (1.0 + near**c))


#: `sf` is `1 / (1 + z**c)`: the exponential of a logistic variable.
fisk = ContinuousDistribution(
    "fisk",
    "c",
    lambda z, c: np.log(c) - 2.0 * _log1p_power(z, c),
    _fisk_cdf,
    sf=lambda z, c: np.exp(-_log1p_power(z, c)),
    logsf=lambda z, c: -_log1p_power(z, c),
    ppf=lambda q, c: q ** (1.0 / c) * (1.0 - q) ** (-1.0 / c),
    isf=lambda q, c: (1.0 - q) ** (1.0 / c) * q ** (-1.0 / c),
    low=0.0,
    low_power=lambda c: c - 1.0,
)


def _burr12_quantile(t: Any, c: Any, d: Any) -> Any:
    """The point where `sf` is `exp(-t)`; at the low end it does not depend on the shapes."""
    begins = detach(t) == 0
    inner = np.where(begins, 1.0, d)
    return np.expm1(t / inner) ** (1.0 / c) / np.where(begins, d ** (1.0 / c), 1.0)


#: `sf` is `(1 + z**c)**-d`.
burr12 = ContinuousDistribution(
    "burr12",
    "c d",
    lambda z, c, d: np.log(c) + np.log(d) - (d + 1.0) * _log1p_power(z, c),
    lambda z, c, d: -np.expm1(-d * _log1p_power(z, c)),
    sf=lambda z, c, d: np.exp(-d * _log1p_power(z, c)),
    logsf=lambda z, c, d: -d * _log1p_power(z, c),
    ppf=lambda q, c, d: _burr12_quantile(-np.log1p(-q), c, d),
    isf=lambda q, c, d: _burr12_quantile(-np.log(q), c, d),
    low=0.0,
    low_power=lambda c, d: c - 1.0,
)

#: `sf` is `exp(-c (exp(z) - 1))`.
gompertz = ContinuousDistribution(
    "gompertz",
    "c",
    lambda z, c: np.log(c) + z - c * np.expm1(z),
    lambda z, c: -np.expm1(-c * np.expm1(z)),
    sf=lambda z, c: np.exp(-c * np.expm1(z)),
    logsf=lambda z, c: -c * np.expm1(z),
    ppf=lambda q, c: np.log1p(-np.log1p(-q) / c),
    isf=lambda q, c: np.log1p(-np.log(q) / c),
    low=0.0,
)

#: The absolute value of a logistic variable.
halflogistic = ContinuousDistribution(
    "halflogistic",
    "",
    lambda z: log(2) - z - 2.0 * np.log1p(np.exp(-z)),
    lambda z: np.tanh(z / 2),
    sf=lambda z: 2.0 / (1.0 + np.exp(z)),
    ppf=lambda q: 2.0 * np.arctanh(q),
    isf=lambda q: np.log((2.0 - q) / q),
    low=0.0,
)

#: The first passage of a drifting walk, with the mean `mu`.
invgauss = ContinuousDistribution(
    "invgauss",
    "mu",
    lambda z, mu: -_HALF_LOG_2PI - 1.5 * np.log(z) - (z / mu - 1.0) ** 2 / (2.0 * z),
    lambda z, mu: (
        ndtr((z / mu - 1.0) / np.sqrt(z))
        + np.exp(2.0 / mu + log_ndtr(-(z / mu + 1.0) / np.sqrt(z)))
    ),
    sf=lambda z, mu: (
        ndtr((1.0 - z / mu) / np.sqrt(z))
        - np.exp(2.0 / mu + log_ndtr(-(z / mu + 1.0) / np.sqrt(z)))
    ),
    low=0.0,
    open_low=True,
)

#: One over the square of a standard normal.
levy = ContinuousDistribution(
    "levy",
    "",
    lambda z: -_HALF_LOG_2PI - 1.5 * np.log(z) - 0.5 / z,
    lambda z: erfc(1.0 / np.sqrt(2.0 * z)),
    sf=lambda z: erf(1.0 / np.sqrt(2.0 * z)),
    low=0.0,
    open_low=True,
)


def _log1mexp(t: Any) -> Any:
    """`log(1 - exp(-t))`, exact for small and for large `t`."""
    near = detach(t) < log(2)
    few = np.log(-np.expm1(-np.where(near, t, 1.0)))
    return np.where(near, few, np.log1p(-np.exp(-np.where(near, 1.0, t))))


def _invweibull_quantile(begins: Any, chance: Any, level: Any, c: Any) -> Any:
    """`(-log(chance))**(-1 / c)`; from the low end it rises as steeply as a root."""
    return np.where(begins, np.sqrt(np.where(begins, chance, 1.0)), (0.0 - level) ** (-1.0 / c))


def _invweibull_ppf(q: Any, c: Any) -> Any:
    begins = detach(q) == 0
    return _invweibull_quantile(begins, q, np.log(np.where(begins, 0.5, q)), c)


def _invweibull_isf(q: Any, c: Any) -> Any:
    begins = detach(q) == 1
    return _invweibull_quantile(begins, 1.0 - q, np.log1p(-np.where(begins, 0.5, q)), c)


#: The distribution function `exp(-z**-c)`.
invweibull = ContinuousDistribution(
    "invweibull",
    "c",
    lambda z, c: np.log(c) - (c + 1.0) * np.log(z) - z**-c,
    lambda z, c: np.exp(-(z**-c)),
    sf=lambda z, c: -np.expm1(-(z**-c)),
    logcdf=lambda z, c: -(z**-c),
    logsf=lambda z, c: _log1mexp(z**-c),
    ppf=_invweibull_ppf,
    isf=_invweibull_isf,
    low=0.0,
    open_low=True,
)


def _make_gengamma_cdf(lower: Any, upper: Any, at_zero: float) -> Any:
    """A curve of `z**c`, which falls where `c` is negative, and is flat where that is huge."""

    def cdf(z: Any, a: Any, c: Any) -> Any:
        rises = detach(c) > 0
        flat = detach(z) ** detach(c) > 1e200
        power = np.where(flat, 1.0, z) ** c
        found = np.where(rises, lower(a, power), upper(a, power))
        return np.where(flat, np.where(rises, 1.0 - at_zero, at_zero), found)

    return cdf


def _gengamma_logpdf(z: Any, a: Any, c: Any) -> Any:
    """The logarithm of the density, for positive `c` without its power of `z`."""
    falls, begins = detach(c) < 0, detach(z) == 0
    # Beside a power of `z`, which is steeper, that of the exponent has no part in a slope at 0.
    lost = begins & (falls | ((detach(c) < 1) & (detach(a * c) != 1)))
    inner = np.where(lost, 1.0, z)
    power = np.where(falls, a * c - 1.0, 0.0) * np.log(np.where(falls, inner, 1.0))
    found = np.log(np.abs(c)) + power - np.where(lost, 0.0, inner**c) - gammaln(a)
    return np.where(begins & falls, -inf, found)


#: A gamma variable to the power `1 / c`.
gengamma = ContinuousDistribution(
    "gengamma",
    "a c",
    _gengamma_logpdf,
    _make_gengamma_cdf(gammainc, gammaincc, 0.0),
    sf=_make_gengamma_cdf(gammaincc, gammainc, 1.0),
    low=0.0,
    low_power=lambda a, c: np.where(detach(c) > 0, a * c - 1.0, 0.0),
    steep=lambda a, c: ((a < 1) & (c > 1)) | ((a > 1) & (c > 0) & (c < 1)),
    valid=lambda a, c: (np.asarray(a) > 0) & (np.asarray(c) != 0),
)

#: The density `1 / (π cosh z)`.
hypsecant = ContinuousDistribution(
    "hypsecant",
    "",
    lambda z: log(2 / pi) - np.logaddexp(z, -z),
    lambda z: 2 / pi * np.arctan(np.exp(z)),
    sf=lambda z: 2 / pi * np.arctan(np.exp(-z)),
    ppf=lambda q: np.log(np.tan(pi / 2 * q)),
    isf=lambda q: -np.log(np.tan(pi / 2 * q)),
)

#: Minus the logarithm of the square of a standard normal.
moyal = ContinuousDistribution(
    "moyal",
    "",
    lambda z: -(z + np.exp(-z)) / 2 - _HALF_LOG_2PI,
    lambda z: erfc(np.exp(-np.maximum(z, -1400.0) / 2) / _ROOT_2),
    sf=lambda z: erf(np.exp(-np.maximum(z, -1400.0) / 2) / _ROOT_2),
)


def _johnsonsu_transform(z: Any, a: Any, b: Any) -> Any:
    return a + b * np.arcsinh(z)


#: `sinh` of a normal.
johnsonsu = ContinuousDistribution(
    "johnsonsu",
    "a b",
    lambda z, a, b: (
        np.log(b) - log1p_square(z) / 2 - _johnsonsu_transform(z, a, b) ** 2 / 2 - _HALF_LOG_2PI
    ),
    lambda z, a, b: ndtr(_johnsonsu_transform(z, a, b)),
    sf=lambda z, a, b: ndtr(-_johnsonsu_transform(z, a, b)),
    logcdf=lambda z, a, b: log_ndtr(_johnsonsu_transform(z, a, b)),
    logsf=lambda z, a, b: log_ndtr(-_johnsonsu_transform(z, a, b)),
    ppf=lambda q, a, b: np.sinh((ndtri(q) - a) / b),
    isf=lambda q, a, b: np.sinh((-ndtri(q) - a) / b),
    valid=lambda a, b: (np.asarray(b) > 0) & (np.asarray(a) == np.asarray(a)),
)


@primitive
def _skewnorm_cdf(z: Any, a: Any) -> Any:
    """The distribution function of `skewnorm`, which SciPy computes where Owen's `T` cancels."""
    return get_scipy_function("stats.skewnorm").cdf(z, a)


defvjp(
    _skewnorm_cdf,
    make_quiet_rule(
        lambda ans, z, a: lambda g: g * 2.0 * np.exp(-z * z / 2 - _HALF_LOG_2PI) * ndtr(a * z)
    ),
    make_quiet_rule(
        lambda ans, z, a: lambda g: -g * np.exp(-z * z * (1 + a * a) / 2) / (pi * (1 + a * a))
    ),
)

#: The density `2 pdf(z) cdf(a z)` of a normal.
skewnorm = ContinuousDistribution(
    "skewnorm",
    "a",
    lambda z, a: log(2) - z * z / 2 - _HALF_LOG_2PI + log_ndtr(a * z),
    _skewnorm_cdf,
    sf=lambda z, a: _skewnorm_cdf(-z, -a),
    valid=lambda a: np.asarray(a) == np.asarray(a),
)

#: The power `c` of a logistic distribution function.
genlogistic = ContinuousDistribution(
    "genlogistic",
    "c",
    lambda z, c: np.log(c) - z - (c + 1.0) * np.logaddexp(0.0, -z),
    lambda z, c: np.exp(-c * np.logaddexp(0.0, -z)),
    sf=lambda z, c: -np.expm1(-c * np.logaddexp(0.0, -z)),
    logcdf=lambda z, c: -c * np.logaddexp(0.0, -z),
    ppf=lambda q, c: -np.log(np.expm1(-np.log(q) / c)),
    isf=lambda q, c: -np.log(np.expm1(-np.log1p(-q) / c)),
)


def _arcsine_cdf(z: Any) -> Any:
    """`2 / π arcsin(√z)`, by the nearer end."""
    low = detach(z) < 0.5
    near, far = np.where(low, z, 0.25), np.where(low, 0.25, 1.0 - z)
    share = 2 / pi * np.arcsin(np.sqrt(near))
    return np.where(low, share, 1.0 - 2 / pi * np.arcsin(np.sqrt(far)))


def _arcsine_quantile(share: Any, rest: Any) -> Any:
    """`sin(π / 2 share)²`, by the smaller of two shares whose sum is 1."""
    low = detach(share) < 0.5
    return np.where(low, np.sin(pi / 2 * share) ** 2, 1.0 - np.sin(pi / 2 * rest) ** 2)


#: The sine of a uniform angle, from 0 to 1.
arcsine = ContinuousDistribution(
    "arcsine",
    "",
    lambda z: -log(pi) + 0.0 * z,
    _arcsine_cdf,
    sf=lambda z: _arcsine_cdf(1.0 - z),
    ppf=lambda q: _arcsine_quantile(q, 1.0 - q),
    isf=lambda q: _arcsine_quantile(1.0 - q, q),
    low=0.0,
    high=1.0,
    low_power=lambda: -0.5,
    high_power=lambda: -0.5,
)
