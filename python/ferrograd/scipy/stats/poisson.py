"""The Poisson distribution."""

from typing import Any

import ferrograd.numpy as np
from ferrograd.scipy._library import rest_of
from ferrograd.scipy.special import gammaincc, gammaln, xlogy

__getattr__ = rest_of("stats.poisson")


def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of `k` events, differentiable by `mu`."""
    k = k - loc
    whole = (np.floor(k) == k) & (k >= 0)
    k = np.where(whole, k, 0)
    return np.where(whole, xlogy(k, mu) - gammaln(k + 1.0) - mu, -np.inf)


def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of `k` events."""
    return np.exp(logpmf(k, mu, loc))


def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of at most `k` events."""
    whole = np.floor(k - loc)
    return np.where(whole >= 0, gammaincc(np.where(whole >= 0, whole, 0.0) + 1.0, mu), 0.0)


def logcdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of at most `k` events."""
    return np.log(cdf(k, mu, loc))
