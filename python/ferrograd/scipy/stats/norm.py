"""The normal distribution."""

from typing import Any

import ferrograd.numpy as np
from ferrograd.scipy import special
from ferrograd.scipy._library import rest_of

__getattr__ = rest_of("stats.norm")


def logpdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the density."""
    return -(((x - loc) / scale) ** 2) / 2 - np.log(scale) - np.log(2 * np.pi) / 2


def pdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The density."""
    return np.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The distribution function."""
    return special.ndtr((x - loc) / scale)


def logcdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the distribution function, exact in the tail."""
    return special.log_ndtr((x - loc) / scale)


def sf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """One minus the distribution function, exact in the tail."""
    return special.ndtr(-(x - loc) / scale)


def logsf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of `sf`."""
    return special.log_ndtr(-(x - loc) / scale)


def ppf(q: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The quantile of a probability."""
    return special.ndtri(q) * scale + loc
