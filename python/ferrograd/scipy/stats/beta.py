"""The beta distribution."""

from ferrograd.scipy._scipy_primitives import make_scipy_getattr
from ferrograd.scipy.special import (
    betainc as _betainc,
    betaln as _betaln,
)
from ferrograd.scipy.stats._continuous import ContinuousDistribution as _ContinuousDistribution
from ferrograd.scipy.stats._frozen import make_callable as _make_callable

__getattr__ = make_scipy_getattr("stats.beta")
_make_callable(__name__)

_distribution = _ContinuousDistribution(
    "beta",
    "a b",
    lambda z, a, b: 0.0 * z - _betaln(a, b),
    lambda z, a, b: _betainc(a, b, z),
    sf=lambda z, a, b: _betainc(b, a, 1.0 - z),
    low=0.0,
    high=1.0,
    low_power=lambda a, b: a - 1.0,
    high_power=lambda a, b: b - 1.0,
)
logpdf, pdf, cdf, logcdf, sf, logsf, ppf, isf, rvs = _distribution.get_methods()
interval = _distribution.interval
