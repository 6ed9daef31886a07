"""The beta distribution."""

from typing import Any

import ferrograd.numpy as np
from ferrograd.scipy._library import rest_of
from ferrograd.scipy.special import betainc, betaln, xlogy

__getattr__ = rest_of("stats.beta")


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the density, -∞ outside its interval."""
    z = (x - loc) / scale
    inside = (z >= 0) & (z <= 1)
    z = np.where(inside, z, 0.5)
    logs = xlogy(a - 1.0, z) + xlogy(b - 1.0, 1.0 - z) - betaln(a, b) - np.log(scale)
    return np.where(inside, logs, -np.inf)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The density."""
    return np.exp(logpdf(x, a, b, loc, scale))


def cdf(x: Any, a: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The distribution function; `a` and `b` must not require grad."""
    return betainc(a, b, np.clip((x - loc) / scale, 0.0, 1.0))


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the distribution function."""
    return np.log(cdf(x, a, b, loc, scale))
