"""Discrete distributions: Bernoulli, binomial, geometric, negative binomial, Poisson."""

from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.scipy.special import betainc, gammainc, gammaincc, gammaln
from ferrograd.scipy.stats._discrete import DiscreteDistribution

np: Any = _ferrograd_numpy


def _log_binom(n: Any, k: Any) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


#: 1 with the probability `p`, else 0.
bernoulli = DiscreteDistribution(
    "bernoulli",
    "p",
    lambda k, p: 0.0,
    lambda k, p: (k, 1.0 - k),
    lambda k, p: 1.0 - p + 0.0 * k,
    lambda k, p: p + 0.0 * k,
    high=lambda p: 1,
    valid=lambda p: (p >= 0) & (p <= 1),
    within=(0.5,),
)

#: The number of successes among `n` trials.
binom = DiscreteDistribution(
    "binom",
    "n p",
    lambda k, n, p: _log_binom(n, k),
    lambda k, n, p: (k, n - k),
    lambda k, n, p: betainc(n - k, k + 1.0, 1.0 - p),
    lambda k, n, p: betainc(k + 1.0, n - k, p),
    high=lambda n, p: n,
    valid=lambda n, p: (n >= 0) & (n == np.floor(n)) & (p >= 0) & (p <= 1),
    within=(2.0, 0.5),
)


def _geom_sf(k: Any, p: Any) -> Any:
    """`(1 - p)**k`, exact for small `p`."""
    sure = p == 1.0
    small = np.exp(k * np.log1p(-np.where(sure, 0.5, p)))
    return np.where(sure, (1.0 - p) ** k, small)


def _geom_cdf(k: Any, p: Any) -> Any:
    sure = p == 1.0
    small = -np.expm1(k * np.log1p(-np.where(sure, 0.5, p)))
    return np.where(sure, 1.0 - (1.0 - p) ** k, small)


#: The number of trials up to the first success.
geom = DiscreteDistribution(
    "geom",
    "p",
    lambda k, p: 0.0,
    lambda k, p: (1.0, k - 1.0),
    _geom_cdf,
    _geom_sf,
    high=lambda p: numpy.inf,
    valid=lambda p: (p > 0) & (p <= 1),
    within=(0.5,),
    low=1,
)

#: The number of failures before the `n`-th success.
nbinom = DiscreteDistribution(
    "nbinom",
    "n p",
    lambda k, n, p: gammaln(k + n) - gammaln(k + 1.0) - gammaln(n),
    lambda k, n, p: (n, k),
    lambda k, n, p: betainc(n, k + 1.0, p),
    lambda k, n, p: betainc(k + 1.0, n, 1.0 - p),
    high=lambda n, p: numpy.inf,
    valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    within=(2.0, 0.5),
)

#: The number of events of which `mu` happen in the mean.
poisson = DiscreteDistribution(
    "poisson",
    "mu",
    lambda k, mu: -mu - gammaln(k + 1.0),
    lambda k, mu: (k, None),
    lambda k, mu: gammaincc(k + 1.0, mu),
    lambda k, mu: gammainc(k + 1.0, mu),
    high=lambda mu: numpy.inf,
    valid=lambda mu: mu >= 0,
    within=(1.0,),
    ends=(0.0,),
)
