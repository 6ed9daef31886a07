"""Distribution functions of `scipy.special`, their complements and their inverses.

Invariant: the function that is differentiated in a rule has the values of SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.extend import Primitive
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy._scipy_primitives import make_scipy_primitive
from ferrograd.scipy.special._distributions import betainc, gammainc, gammaincc, stdtr
from ferrograd.transforms import make_vjp

np: Any = _ferrograd_numpy

_Function = Callable[..., Any]


def _f_cdf(dfn: Any, dfd: Any, x: Any) -> Any:
    """The function of F: `dfn x / (dfn x + dfd)` has a beta distribution."""
    return betainc(dfn / 2.0, dfd / 2.0, dfn * x / (dfn * x + dfd))


def _gamma_cdf(a: Any, b: Any, x: Any) -> Any:
    return gammainc(b, a * x)


def _chi2_sf(v: Any, x: Any) -> Any:
    return gammaincc(v / 2.0, x / 2.0)


def chdtr(v: Any, x: Any) -> Any:
    """The distribution function of chi-squared: `gammainc(v / 2, x / 2)`."""
    # A sum saves no values, so tests of SciPy may change the result in place.
    return gammainc(as_floats(v) / 2.0, as_floats(x) / 2.0) + 0.0


def chdtrc(v: Any, x: Any) -> Any:
    """One minus `chdtr`, exact where it is small: `gammaincc(v / 2, x / 2)`."""
    return gammaincc(as_floats(v) / 2.0, as_floats(x) / 2.0) + 0.0


def _poisson_cdf(k: Any, m: Any) -> Any:
    return gammaincc(np.floor(k) + 1.0, m)


def _poisson_cdf_truncated(k: Any, m: Any) -> Any:
    return gammaincc(np.trunc(k) + 1.0, m)


def _binomial_cdf(k: Any, n: Any, p: Any) -> Any:
    known = np.maximum(np.floor(k), 0.0)
    found = betainc(np.trunc(n) - known, known + 1.0, 1.0 - p)
    return np.where(np.floor(k) < 0, 0.0, found)


def _negative_binomial_cdf(k: Any, n: Any, p: Any) -> Any:
    return betainc(np.trunc(n) * 1.0, np.trunc(k) + 1.0, p)


def _pull_gradient(function: _Function, place: int, args: Any, g: Any) -> Any:
    """The vector-Jacobian product of a function by one of its arguments."""

    def call(value: Any) -> Any:
        return function(*args[:place], value, *args[place + 1 :])

    return make_vjp(call)(args[place] * 1.0)[0](g)


def _make_direct(
    name: str, function: _Function, count: int, sign: float = 1.0, whole: int | None = None
) -> Primitive:
    """Makes SciPy's function, which equals `function` or 1 minus it, with its derivatives.

    The argument `whole` is a count, which SciPy truncates: a gradient by it is refused.
    """

    def rule(place: int) -> Any:
        if place == whole:
            return None
        return lambda ans, *args: lambda g: _pull_gradient(function, place, args, sign * g)

    return make_scipy_primitive(f"special.{name}", *(rule(place) for place in range(count)))


def _make_inverse(
    name: str, function: _Function, count: int, whole: int | None = None
) -> Primitive:
    """Makes SciPy's inverse of a function with respect to its last argument.

    From `F(θ, y) = p` follows `dy = (dp - F_θ dθ) / F_y`; `whole` as in `_make_direct`.
    """

    def rule(place: int) -> Any:
        if place == whole:
            return None

        def pull(ans: Any, *args: Any) -> Any:
            inner = (*args[:-1], ans)

            def back(g: Any) -> Any:
                slope = _pull_gradient(function, count - 1, inner, np.ones_like(ans * 1.0))
                if place == count - 1:
                    return g / slope
                return _pull_gradient(function, place, inner, -g / slope)

            return back

        return pull

    return make_scipy_primitive(f"special.{name}", *(rule(place) for place in range(count)))


gammaincinv = _make_inverse("gammaincinv", gammainc, 2)
gammainccinv = _make_inverse("gammainccinv", gammaincc, 2)
betaincinv = _make_inverse("betaincinv", betainc, 3)
betaincc = _make_direct("betaincc", betainc, 3, -1.0)
chdtri = _make_inverse("chdtri", _chi2_sf, 2)
gdtr = _make_direct("gdtr", _gamma_cdf, 3)
gdtrc = _make_direct("gdtrc", _gamma_cdf, 3, -1.0)
fdtr = _make_direct("fdtr", _f_cdf, 3)
fdtrc = _make_direct("fdtrc", _f_cdf, 3, -1.0)
fdtri = _make_inverse("fdtri", _f_cdf, 3)
pdtr = _make_direct("pdtr", _poisson_cdf, 2)
pdtrc = _make_direct("pdtrc", _poisson_cdf, 2, -1.0)
pdtri = _make_inverse("pdtri", _poisson_cdf_truncated, 2)
bdtr = _make_direct("bdtr", _binomial_cdf, 3, whole=1)
bdtrc = _make_direct("bdtrc", _binomial_cdf, 3, -1.0, whole=1)
bdtri = _make_inverse("bdtri", _binomial_cdf, 3, whole=1)
nbdtr = _make_direct("nbdtr", _negative_binomial_cdf, 3, whole=1)
nbdtrc = _make_direct("nbdtrc", _negative_binomial_cdf, 3, -1.0, whole=1)
nbdtri = _make_inverse("nbdtri", _negative_binomial_cdf, 3, whole=1)
stdtrit = _make_inverse("stdtrit", stdtr, 2)
