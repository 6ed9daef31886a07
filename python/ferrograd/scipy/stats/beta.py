"""The beta distribution."""

from typing import Any

import ferrograd.numpy as np
from ferrograd.scipy.special import betaln, xlogy


def logpdf(x: Any, a: Any, b: Any) -> Any:
    """The logarithm of the density."""
    return xlogy(a - 1.0, x) + xlogy(b - 1.0, 1.0 - x) - betaln(a, b)


def pdf(x: Any, a: Any, b: Any) -> Any:
    """The density."""
    return np.exp(logpdf(x, a, b))
