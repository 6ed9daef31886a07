"""Distributions on the whole line: Laplace, logistic, Cauchy, Gumbel."""

from math import inf, log, pi
from typing import Any

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.scipy.special import expit, log_expit, logit
from ferrograd.scipy.stats._continuous import ContinuousDistribution
from ferrograd.scipy.stats._supports import log1p_square

np: Any = _ferrograd_numpy


def _laplace_cdf(z: Any) -> Any:
    # Each side has its own variable: at 0 the derivative is that of the upper side, 1/2.
    up = z >= 0
    return np.where(up, 1.0 - np.exp(-np.where(up, z, 0.0)) / 2, np.exp(np.where(up, 0.0, z)) / 2)


def _laplace_logcdf(z: Any) -> Any:
    up = z >= 0
    return np.where(up, np.log1p(-np.exp(-np.where(up, z, 0.0)) / 2), np.where(up, 0.0, z) - log(2))


def _laplace_ppf(q: Any) -> Any:
    low = q < 0.5
    return np.where(
        low, np.log(2 * np.where(low, q, 0.5)), -np.log(2 * (1.0 - np.where(low, 0.5, q)))
    )


#: The density `exp(-|z|) / 2`.
laplace = ContinuousDistribution(
    "laplace",
    "",
    lambda z: -np.abs(z) - log(2),
    _laplace_cdf,
    sf=lambda z: _laplace_cdf(-z),
    logcdf=_laplace_logcdf,
    logsf=lambda z: _laplace_logcdf(-z),
    ppf=_laplace_ppf,
    isf=lambda q: -_laplace_ppf(q),
    reach=inf,
)

#: The distribution function `1 / (1 + exp(-z))`.
logistic = ContinuousDistribution(
    "logistic",
    "",
    lambda z: log_expit(z) + log_expit(-z),
    expit,
    sf=lambda z: expit(-z),
    logcdf=log_expit,
    logsf=lambda z: log_expit(-z),
    ppf=logit,
    isf=lambda q: -logit(q),
    reach=inf,
)


def _cauchy_ppf(q: Any) -> Any:
    """`tan(π (q - 1/2))`, from the nearer of 0, 1/2 and 1."""
    low, high = q < 0.25, q > 0.75
    end = low | high
    edge = np.where(low, -q, np.where(high, 1.0 - q, 0.25))
    return np.where(end, 1.0 / np.tan(pi * edge), np.tan(pi * (np.where(end, 0.5, q) - 0.5)))


#: The density `1 / (π (1 + z²))`.
cauchy = ContinuousDistribution(
    "cauchy",
    "",
    lambda z: -log1p_square(z) - log(pi),
    lambda z: np.arctan2(1.0, -z) / pi,
    sf=lambda z: np.arctan2(1.0, z) / pi,
    ppf=_cauchy_ppf,
    isf=lambda q: -_cauchy_ppf(q),
)


def _bounded_exp(z: Any) -> Any:
    """`exp(-z)`, bounded: the exponential of minus it is 0 there, with all derivatives."""
    return np.exp(-np.maximum(z, -700.0))


#: The largest of many: the distribution function `exp(-exp(-z))`.
gumbel_r = ContinuousDistribution(
    "gumbel_r",
    "",
    lambda z: -z - np.exp(-z),
    lambda z: np.exp(-_bounded_exp(z)),
    sf=lambda z: -np.expm1(-_bounded_exp(z)),
    logcdf=lambda z: -np.exp(-z),
    ppf=lambda q: -np.log(-np.log(q)),
    isf=lambda q: -np.log(-np.log1p(-q)),
)

#: The smallest of many: `sf` is `exp(-exp(z))`.
gumbel_l = ContinuousDistribution(
    "gumbel_l",
    "",
    lambda z: z - np.exp(z),
    lambda z: -np.expm1(-_bounded_exp(-z)),
    sf=lambda z: np.exp(-_bounded_exp(-z)),
    logsf=lambda z: -np.exp(z),
    ppf=lambda q: np.log(-np.log1p(-q)),
    isf=lambda q: np.log(-np.log(q)),
)
