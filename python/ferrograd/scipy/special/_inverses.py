"""Distribution functions of `scipy.special`, their complements and their inverses.

Invariant: the function that is differentiated in a rule has the values of SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd.numpy as _face
from ferrograd.extend import Primitive
from ferrograd.scipy._closed_over import floats
from ferrograd.scipy._computed_by_scipy import of_scipy
from ferrograd.scipy.special._distributions import betainc, gammainc, gammaincc, stdtr
from ferrograd.transforms import make_vjp

np: Any = _face

_Function = Callable[..., Any]


def _f(dfn: Any, dfd: Any, x: Any) -> Any:
    """The function of F: `dfn x / (dfn x + dfd)` has a beta distribution."""
    return betainc(dfn / 2.0, dfd / 2.0, dfn * x / (dfn * x + dfd))


def _gamma(a: Any, b: Any, x: Any) -> Any:
    return gammainc(b, a * x)


def _chi2(v: Any, x: Any) -> Any:
    return gammaincc(v / 2.0, x / 2.0)


def chdtr(v: Any, x: Any) -> Any:
    """The distribution function of chi-squared: `gammainc(v / 2, x / 2)`."""
    # A sum saves no values, so tests of SciPy may change the result in place.
    return gammainc(floats(v) / 2.0, floats(x) / 2.0) + 0.0


def chdtrc(v: Any, x: Any) -> Any:
    """One minus `chdtr`, exact where it is small: `gammaincc(v / 2, x / 2)`."""
    return gammaincc(floats(v) / 2.0, floats(x) / 2.0) + 0.0


def _poisson(k: Any, m: Any) -> Any:
    return gammaincc(np.floor(k) + 1.0, m)


def _poisson_truncated(k: Any, m: Any) -> Any:
    return gammaincc(np.trunc(k) + 1.0, m)


def _binomial(k: Any, n: Any, p: Any) -> Any:
    known = np.maximum(np.floor(k), 0.0)
    found = betainc(np.trunc(n) - known, known + 1.0, 1.0 - p)
    return np.where(np.floor(k) < 0, 0.0, found)


def _negative_binomial(k: Any, n: Any, p: Any) -> Any:
    return betainc(np.trunc(n) * 1.0, np.trunc(k) + 1.0, p)


def _pulled(function: _Function, place: int, args: Any, g: Any) -> Any:
    """The gradient of a function by one of its arguments."""

    def moved(value: Any) -> Any:
        return function(*args[:place], value, *args[place + 1 :])

    return make_vjp(moved)(args[place] * 1.0)[0](g)


def _direct(
    name: str, function: _Function, count: int, sign: float = 1.0, whole: int | None = None
) -> Primitive:
    """SciPy's function with the derivatives of another one, which it is, or 1 less which it is.

    The argument `whole` is a count, which SciPy truncates: a gradient by it is refused.
    """

    def rule(place: int) -> Any:
        if place == whole:
            return None
        return lambda ans, *args: lambda g: _pulled(function, place, args, sign * g)

    return of_scipy(f"special.{name}", *(rule(place) for place in range(count)))


def _inverse(name: str, function: _Function, count: int, whole: int | None = None) -> Primitive:
    """SciPy's inverse of a function with respect to its last argument.

    From `F(θ, y) = p` follows `dy = (dp - F_θ dθ) / F_y`; `whole` as in `_direct`.
    """

    def rule(place: int) -> Any:
        if place == whole:
            return None

        def pull(ans: Any, *args: Any) -> Any:
            inner = (*args[:-1], ans)

            def back(g: Any) -> Any:
                slope = _pulled(function, count - 1, inner, np.ones_like(ans * 1.0))
                if place == count - 1:
                    return g / slope
                return _pulled(function, place, inner, -g / slope)

            return back

        return pull

    return of_scipy(f"special.{name}", *(rule(place) for place in range(count)))


gammaincinv = _inverse("gammaincinv", gammainc, 2)
gammainccinv = _inverse("gammainccinv", gammaincc, 2)
betaincinv = _inverse("betaincinv", betainc, 3)
betaincc = _direct("betaincc", betainc, 3, -1.0)
chdtri = _inverse("chdtri", _chi2, 2)
gdtr = _direct("gdtr", _gamma, 3)
gdtrc = _direct("gdtrc", _gamma, 3, -1.0)
fdtr = _direct("fdtr", _f, 3)
fdtrc = _direct("fdtrc", _f, 3, -1.0)
fdtri = _inverse("fdtri", _f, 3)
pdtr = _direct("pdtr", _poisson, 2)
pdtrc = _direct("pdtrc", _poisson, 2, -1.0)
pdtri = _inverse("pdtri", _poisson_truncated, 2)
bdtr = _direct("bdtr", _binomial, 3, whole=1)
bdtrc = _direct("bdtrc", _binomial, 3, -1.0, whole=1)
bdtri = _inverse("bdtri", _binomial, 3, whole=1)
nbdtr = _direct("nbdtr", _negative_binomial, 3, whole=1)
nbdtrc = _direct("nbdtrc", _negative_binomial, 3, -1.0, whole=1)
nbdtri = _inverse("nbdtri", _negative_binomial, 3, whole=1)
stdtrit = _inverse("stdtrit", stdtr, 2)
