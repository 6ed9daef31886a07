"""The Dirichlet distribution."""

from typing import Any

import ferrograd.numpy as np
from ferrograd.scipy._scipy_primitives import make_scipy_getattr
from ferrograd.scipy.special import gammaln, xlogy
from ferrograd.scipy.stats._frozen import make_callable

__getattr__ = make_scipy_getattr("stats.dirichlet")
make_callable(__name__)


def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density."""
    alpha = np.asarray(alpha)
    constant = gammaln(np.sum(alpha)) - np.sum(gammaln(alpha))
    return constant + np.sum((xlogy(alpha - 1.0, np.asarray(x).T)).T, 0)


def pdf(x: Any, alpha: Any) -> Any:
    """The density."""
    return np.exp(logpdf(x, alpha))
