"""The normal distribution."""

from math import inf as _inf, log as _log, pi as _pi
from typing import Any as _Any

import ferrograd.numpy as _np
from ferrograd.scipy._conversions import as_floats as _as_floats
from ferrograd.scipy._scipy_primitives import make_scipy_getattr
from ferrograd.scipy.special import log_ndtr as _log_ndtr, ndtr as _ndtr, ndtri as _ndtri
from ferrograd.scipy.stats._continuous import ContinuousDistribution as _ContinuousDistribution
from ferrograd.scipy.stats._frozen import make_callable as _make_callable

__getattr__ = make_scipy_getattr("stats.norm")
_make_callable(__name__)

_distribution = _ContinuousDistribution(
    "norm",
    "",
    lambda z: -z * z / 2 - _log(2 * _pi) / 2,
    _ndtr,
    sf=lambda z: _ndtr(-z),
    logcdf=_log_ndtr,
    logsf=lambda z: _log_ndtr(-z),
    ppf=_ndtri,
    isf=lambda q: -_ndtri(q),
    reach=_inf,
)
logpdf, pdf, cdf, logcdf, sf, logsf, ppf, isf, rvs = _distribution.get_methods()
interval = _distribution.interval


def entropy(loc: _Any = 0.0, scale: _Any = 1.0) -> _Any:
    """The differential entropy, NaN for a scale that is not positive."""
    loc, scale = _as_floats(loc), _as_floats(scale)
    found = _np.log(_np.where(scale > 0, scale, _np.nan)) + (1.0 + _log(2 * _pi)) / 2
    return (found + 0.0 * loc)[()]
