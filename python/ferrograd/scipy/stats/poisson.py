"""The Poisson distribution."""

from ferrograd.scipy._scipy_primitives import make_scipy_getattr
from ferrograd.scipy.stats._families.discrete import poisson as _distribution
from ferrograd.scipy.stats._frozen import make_callable as _make_callable

__getattr__ = make_scipy_getattr("stats.poisson")
_make_callable(__name__)

logpmf, pmf, cdf, logcdf, sf, logsf = _distribution.get_methods()
