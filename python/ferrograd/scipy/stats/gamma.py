"""The gamma distribution."""

from ferrograd.scipy._scipy_primitives import make_scipy_getattr
from ferrograd.scipy.special import (
    gammainc as _gammainc,
    gammaincc as _gammaincc,
    gammaln as _gammaln,
)
from ferrograd.scipy.stats._continuous import ContinuousDistribution as _ContinuousDistribution
from ferrograd.scipy.stats._frozen import make_callable as _make_callable

__getattr__ = make_scipy_getattr("stats.gamma")
_make_callable(__name__)

_distribution = _ContinuousDistribution(
    "gamma",
    "a",
    lambda z, a: -z - _gammaln(a),
    lambda z, a: _gammainc(a, z),
    sf=lambda z, a: _gammaincc(a, z),
    low=0.0,
    low_power=lambda a: a - 1.0,
)
logpdf, pdf, cdf, logcdf, sf, logsf, ppf, isf, rvs = _distribution.get_methods()
interval = _distribution.interval
