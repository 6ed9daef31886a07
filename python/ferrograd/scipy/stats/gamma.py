"""The gamma distribution."""

from typing import Any

import ferrograd.numpy as np
from ferrograd.scipy.special import gammaln, xlogy


def logpdf(x: Any, a: Any) -> Any:
    """The logarithm of the density."""
    return xlogy(a - 1.0, x) - x - gammaln(a)


def pdf(x: Any, a: Any) -> Any:
    """The density."""
    return np.exp(logpdf(x, a))
