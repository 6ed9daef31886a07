"""The chi-squared distribution."""

from typing import Any

from ferrograd.scipy._library import rest_of
from ferrograd.scipy.stats import gamma

__getattr__ = rest_of("stats.chi2")


def logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the density, -∞ below `loc`."""
    return gamma.logpdf(x, df / 2.0, loc, 2.0 * scale)


def pdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The density."""
    return gamma.pdf(x, df / 2.0, loc, 2.0 * scale)


def cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The distribution function; `df` must not require grad."""
    return gamma.cdf(x, df / 2.0, loc, 2.0 * scale)


def logcdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the distribution function."""
    return gamma.logcdf(x, df / 2.0, loc, 2.0 * scale)
