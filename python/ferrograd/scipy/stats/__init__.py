"""Distributions of `scipy.stats`: densities, distribution functions, quantiles and draws."""

from typing import Any

from ferrograd.scipy._scipy_primitives import make_scipy_getattr as _make_scipy_getattr
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
from ferrograd.scipy.stats._families.bounded import (
    powerlaw as powerlaw,
    triang as triang,
    uniform as uniform,
)
from ferrograd.scipy.stats._families.circular import vonmises as vonmises
from ferrograd.scipy.stats._families.discrete import (
    bernoulli as bernoulli,
    binom as binom,
    geom as geom,
    nbinom as nbinom,
)
from ferrograd.scipy.stats._families.further import (
    arcsine as arcsine,
    betaprime as betaprime,
    burr12 as burr12,
    chi as chi,
    fisk as fisk,
    gengamma as gengamma,
    genlogistic as genlogistic,
    gompertz as gompertz,
    halflogistic as halflogistic,
    hypsecant as hypsecant,
    invgauss as invgauss,
    invweibull as invweibull,
    johnsonsu as johnsonsu,
    levy as levy,
    moyal as moyal,
    nakagami as nakagami,
    skewnorm as skewnorm,
)
from ferrograd.scipy.stats._families.half_line import (
    expon as expon,
    f as f,
    halfcauchy as halfcauchy,
    halfnorm as halfnorm,
    invgamma as invgamma,
    lognorm as lognorm,
    lomax as lomax,
    maxwell as maxwell,
    pareto as pareto,
    rayleigh as rayleigh,
    weibull_min as weibull_min,
)
from ferrograd.scipy.stats._families.real_line import (
    cauchy as cauchy,
    gumbel_l as gumbel_l,
    gumbel_r as gumbel_r,
    laplace as laplace,
    logistic as logistic,
)
from ferrograd.scipy.stats._families.truncated import truncnorm as truncnorm


def __getattr__(name: str) -> Any:
    """A name we do not have is SciPy's own, on arrays."""
    return _make_scipy_getattr("stats")(name)
