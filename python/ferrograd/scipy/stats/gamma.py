"""The gamma distribution."""

from typing import Any

import ferrograd.numpy as np
from ferrograd.scipy._library import rest_of
from ferrograd.scipy.special import gammainc, gammaincc, gammaln, xlogy

__getattr__ = rest_of("stats.gamma")


def logpdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the density, -∞ below `loc`."""
    z = (x - loc) / scale
    inside = z >= 0
    z = np.where(inside, z, 1.0)
    return np.where(inside, xlogy(a - 1.0, z) - z - gammaln(a) - np.log(scale), -np.inf)


def pdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The density."""
    return np.exp(logpdf(x, a, loc, scale))


def cdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The distribution function; `a` must not require grad."""
    z = (x - loc) / scale
    return gammainc(a, np.where(z >= 0, z, 0.0))


def logcdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the distribution function."""
    return np.log(cdf(x, a, loc, scale))


def sf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """One minus the distribution function."""
    z = (x - loc) / scale
    return gammaincc(a, np.where(z >= 0, z, 0.0))
