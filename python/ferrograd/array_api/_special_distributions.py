"""Distribution functions of `scipy.special`, their complements and their inverses.

Owns: their derivatives by the variable, which are densities; by parameters where one follows from
the density. Never computes: SciPy does. By the other parameters a gradient is refused.
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as _numpy
from ferrograd.extend import Primitive as _Primitive
from ferrograd.scipy import special as _special
from ferrograd.scipy._library import of_scipy as _of_scipy

_np: Any = _numpy


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    logs = _special.xlogy(a - 1.0, x) + _special.xlogy(b - 1.0, 1.0 - x)
    return _np.exp(logs - _special.betaln(a, b))


def _gamma_density(shape: Any, x: Any) -> Any:
    return _np.exp(_special.xlogy(shape - 1.0, x) - x - _special.gammaln(shape))


def _f_density(dfn: Any, dfd: Any, x: Any) -> Any:
    """The density of F: that of `dfn x / (dfn x + dfd)`, which has a beta distribution."""
    total = dfn * x + dfd
    return _beta_density(dfn / 2.0, dfd / 2.0, dfn * x / total) * dfn * dfd / total**2


def _floor(k: Any) -> Any:
    return _np.floor(k)


def _zero(ans: Any, *args: Any) -> Any:
    """The rule of a parameter that is rounded down to an integer."""
    return lambda g: 0.0 * g


gammaincinv: _Primitive = _of_scipy(
    "special.gammaincinv", None, lambda ans, a, y: lambda g: g / _gamma_density(a, ans)
)
gammainccinv: _Primitive = _of_scipy(
    "special.gammainccinv", None, lambda ans, a, y: lambda g: -g / _gamma_density(a, ans)
)
betaincinv: _Primitive = _of_scipy(
    "special.betaincinv", None, None, lambda ans, a, b, y: lambda g: g / _beta_density(a, b, ans)
)
chdtri: _Primitive = _of_scipy(
    "special.chdtri", None, lambda ans, v, p: lambda g: -2 * g / _gamma_density(v / 2.0, ans / 2)
)

gdtr: _Primitive = _of_scipy(
    "special.gdtr",
    lambda ans, a, b, x: lambda g: g * x * _gamma_density(b, a * x),
    None,
    lambda ans, a, b, x: lambda g: g * a * _gamma_density(b, a * x),
)
gdtrc: _Primitive = _of_scipy(
    "special.gdtrc",
    lambda ans, a, b, x: lambda g: -g * x * _gamma_density(b, a * x),
    None,
    lambda ans, a, b, x: lambda g: -g * a * _gamma_density(b, a * x),
)

fdtr: _Primitive = _of_scipy(
    "special.fdtr", None, None, lambda ans, n, d, x: lambda g: g * _f_density(n, d, x)
)
fdtrc: _Primitive = _of_scipy(
    "special.fdtrc", None, None, lambda ans, n, d, x: lambda g: -g * _f_density(n, d, x)
)
fdtri: _Primitive = _of_scipy(
    "special.fdtri", None, None, lambda ans, n, d, p: lambda g: g / _f_density(n, d, ans)
)

pdtr: _Primitive = _of_scipy(
    "special.pdtr", _zero, lambda ans, k, m: lambda g: -g * _gamma_density(_floor(k) + 1.0, m)
)
pdtrc: _Primitive = _of_scipy(
    "special.pdtrc", _zero, lambda ans, k, m: lambda g: g * _gamma_density(_floor(k) + 1.0, m)
)
pdtri: _Primitive = _of_scipy(
    "special.pdtri", _zero, lambda ans, k, y: lambda g: -g / _gamma_density(_floor(k) + 1.0, ans)
)


def _binomial_slope(k: Any, n: Any, p: Any) -> Any:
    """Minus the derivative of `bdtr` by `p`."""
    return _beta_density(_floor(k) + 1.0, n - _floor(k), p)


bdtr: _Primitive = _of_scipy(
    "special.bdtr", _zero, None, lambda ans, k, n, p: lambda g: -g * _binomial_slope(k, n, p)
)
bdtrc: _Primitive = _of_scipy(
    "special.bdtrc", _zero, None, lambda ans, k, n, p: lambda g: g * _binomial_slope(k, n, p)
)
bdtri: _Primitive = _of_scipy(
    "special.bdtri", _zero, None, lambda ans, k, n, y: lambda g: -g / _binomial_slope(k, n, ans)
)


def _negative_binomial_slope(k: Any, n: Any, p: Any) -> Any:
    return _beta_density(n * 1.0, _floor(k) + 1.0, p)


nbdtr: _Primitive = _of_scipy(
    "special.nbdtr",
    _zero,
    None,
    lambda ans, k, n, p: lambda g: g * _negative_binomial_slope(k, n, p),
)
nbdtrc: _Primitive = _of_scipy(
    "special.nbdtrc",
    _zero,
    None,
    lambda ans, k, n, p: lambda g: -g * _negative_binomial_slope(k, n, p),
)
nbdtri: _Primitive = _of_scipy(
    "special.nbdtri",
    _zero,
    None,
    lambda ans, k, n, y: lambda g: g / _negative_binomial_slope(k, n, ans),
)
