"""The chi-squared distribution."""

from math import log as _log

from ferrograd.scipy._computed_by_scipy import rest_of
from ferrograd.scipy.special import (
    gammainc as _gammainc,
    gammaincc as _gammaincc,
    gammaln as _gammaln,
)
from ferrograd.scipy.stats._continuous import Continuous as _Continuous
from ferrograd.scipy.stats._frozen import make_callable as _make_callable

__getattr__ = rest_of("stats.chi2")
_make_callable(__name__)

_own = _Continuous(
    "chi2",
    "df",
    lambda z, df: -z / 2 - _gammaln(df / 2.0) - df * (_log(2) / 2),
    lambda z, df: _gammainc(df / 2.0, z / 2),
    sf=lambda z, df: _gammaincc(df / 2.0, z / 2),
    low=0.0,
    low_power=lambda df: df / 2.0 - 1.0,
)
logpdf, pdf, cdf, logcdf, sf, logsf, ppf, isf, rvs = _own.methods()
interval = _own.interval
