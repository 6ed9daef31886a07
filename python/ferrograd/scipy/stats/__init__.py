"""Distributions of `scipy.stats`: their densities, and distribution functions where known."""

from typing import Any

from ferrograd.scipy._library import rest_of as _rest_of
from ferrograd.scipy.stats import (
    beta as beta,
    chi2 as chi2,
    dirichlet as dirichlet,
    gamma as gamma,
    multivariate_normal as multivariate_normal,
    norm as norm,
    poisson as poisson,
    t as t,
)


def __getattr__(name: str) -> Any:
    """A name we do not have is SciPy's own, on arrays."""
    return _rest_of("stats")(name)
