"""The Poisson distribution."""

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.scipy._library import rest_of
from ferrograd.scipy.special import gammainc, gammaincc, gammaln, xlogy
from ferrograd.scipy.stats._frozen import make_callable

__getattr__ = rest_of("stats.poisson")
make_callable(__name__)


def _checked(found: Any, k: Any, mu: Any) -> Any:
    """NaN for NaN and for a negative mean."""
    return np.where(np.isnan(k) | ~(np.asarray(mu) >= 0), numpy.nan, found)


def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of `k` events, differentiable by `mu`."""
    k = np.asarray(k) - loc
    whole = (np.floor(k) == k) & (k >= 0)
    inner = np.where(whole, k, 0)
    found = np.where(whole, xlogy(inner, mu) - gammaln(inner + 1.0) - mu, -np.inf)
    return _checked(found, k, mu)


def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of `k` events."""
    return np.exp(logpmf(k, mu, loc))


def _summed(formula: Callable[..., Any], below: float, k: Any, mu: Any, loc: Any) -> Any:
    whole = np.floor(np.asarray(k) - loc)
    inside = whole >= 0
    found = np.where(inside, formula(np.where(inside, whole, 0.0) + 1.0, mu), below)
    return _checked(found, whole, mu)


def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of at most `k` events."""
    return _summed(gammaincc, 0.0, k, mu, loc)


def sf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of more than `k` events."""
    return _summed(gammainc, 1.0, k, mu, loc)


def logcdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of at most `k` events."""
    with numpy.errstate(divide="ignore"):
        return np.log(cdf(k, mu, loc))


def logsf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of more than `k` events."""
    with numpy.errstate(divide="ignore"):
        return np.log(sf(k, mu, loc))
