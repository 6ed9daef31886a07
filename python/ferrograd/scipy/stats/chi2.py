"""The chi-squared distribution."""

from math import log as _log

from ferrograd.scipy._scipy_primitives import make_scipy_getattr
from ferrograd.scipy.special import (
    gammainc as _gammainc,
    gammaincc as _gammaincc,
    gammaln as _gammaln,
)
from ferrograd.scipy.stats._continuous import ContinuousDistribution as _ContinuousDistribution
from ferrograd.scipy.stats._frozen import make_callable as _make_callable

__getattr__ = make_scipy_getattr("stats.chi2")
_make_callable(__name__)

_distribution = _ContinuousDistribution(
    "chi2",
    "df",
    lambda z, df: -z / 2 - _gammaln(df / 2.0) - df * (_log(2) / 2),
    lambda z, df: _gammainc(df / 2.0, z / 2),
    sf=lambda z, df: _gammaincc(df / 2.0, z / 2),
    low=0.0,
    low_power=lambda df: df / 2.0 - 1.0,
)
logpdf, pdf, cdf, logcdf, sf, logsf, ppf, isf, rvs = _distribution.get_methods()
interval = _distribution.interval
