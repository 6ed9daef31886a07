"""Student's t distribution."""

from math import pi as _pi
from typing import Any as _Any

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.scipy._scipy_primitives import make_scipy_getattr
from ferrograd.scipy.special import gammaln as _gammaln, stdtr as _stdtr
from ferrograd.scipy.stats._continuous import ContinuousDistribution as _ContinuousDistribution
from ferrograd.scipy.stats._frozen import make_callable as _make_callable
from ferrograd.scipy.stats._supports import log1p_square as _log1p_square

_np: _Any = _ferrograd_numpy

__getattr__ = make_scipy_getattr("stats.t")
_make_callable(__name__)

_distribution = _ContinuousDistribution(
    "t",
    "df",
    lambda z, df: (
        _gammaln((df + 1.0) / 2)
        - _gammaln(df / 2.0)
        - _np.log(df * _pi) / 2
        - (df + 1.0) / 2 * _log1p_square(z / _np.sqrt(df))
    ),
    lambda z, df: _stdtr(df, z),
    sf=lambda z, df: _stdtr(df, -z),
)
logpdf, pdf, cdf, logcdf, sf, logsf, ppf, isf, rvs = _distribution.get_methods()
interval = _distribution.interval
