"""Student's t distribution."""

from typing import Any

import ferrograd.numpy as np
from ferrograd.scipy._library import rest_of
from ferrograd.scipy.special import gammaln, stdtr

__getattr__ = rest_of("stats.t")


def logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the density."""
    z = (x - loc) / scale
    constant = gammaln((df + 1.0) / 2) - gammaln(df / 2.0) - np.log(df * np.pi) / 2 - np.log(scale)
    return constant - (df + 1.0) / 2 * np.log1p(z**2 / df)


def pdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The density."""
    return np.exp(logpdf(x, df, loc, scale))


def cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The distribution function; `df` must not require grad."""
    return stdtr(df, (x - loc) / scale)


def logcdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the distribution function."""
    return np.log(cdf(x, df, loc, scale))


def sf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """One minus the distribution function."""
    return stdtr(df, -(x - loc) / scale)
