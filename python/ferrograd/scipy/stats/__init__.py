"""Densities of `scipy.stats`: `norm t gamma beta dirichlet multivariate_normal`."""

from ferrograd.scipy.stats import (
    beta as beta,
    dirichlet as dirichlet,
    gamma as gamma,
    multivariate_normal as multivariate_normal,
    norm as norm,
    t as t,
)
