"""The Poisson distribution."""

from ferrograd.scipy._computed_by_scipy import rest_of
from ferrograd.scipy.stats._families.discrete import poisson as _own
from ferrograd.scipy.stats._frozen import make_callable as _make_callable

__getattr__ = rest_of("stats.poisson")
_make_callable(__name__)

logpmf, pmf, cdf, logcdf, sf, logsf = _own.methods()
