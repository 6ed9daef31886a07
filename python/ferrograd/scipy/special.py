"""`scipy.special` as far as ferrograd has derivatives.

Owns: SciPy's names and arguments. The elementary functions are our operations; Bessel functions,
incomplete integrals and inverses are SciPy's with our rules.
"""

from __future__ import annotations

import math as _math
from typing import Any

import ferrograd.numpy as np
from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._dispatch import table as _table
from ferrograd._tensor.creation import shape_of as _shape_of
from ferrograd.errors import ArgumentError as _ArgumentError
from ferrograd.extend import Primitive as _Primitive
from ferrograd.scipy._face import face as _face
from ferrograd.scipy._library import of_scipy as _of_scipy, rest_of as _rest_of

__getattr__ = _rest_of("special")

digamma = psi = _face(_core.digamma, "digamma")
erf = _face(_core.erf, "erf")
erfc = _face(_core.erfc, "erfc")
erfinv = _face(_core.erfinv, "erfinv")
expit = _face(_core.sigmoid, "expit")
gammaln = loggamma = _face(_core.lgamma, "gammaln")
log_expit = _face(_core.logsigmoid, "log_expit")
logit = _face(_core.logit, "logit")
polygamma = _face(_core.polygamma, "polygamma")
xlogy = _face(_core.xlogy, "xlogy")
_every = _face(_core.logsumexp, "logsumexp")

_exp: Any = np.exp
_sign: Any = np.sign
_HALF_LOG_2PI = 0.5 * _math.log(2 * _math.pi)
_ROOT_2PI = _math.sqrt(2 * _math.pi)
_HALF_ROOT_PI = 0.5 * _math.sqrt(_math.pi)


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log Σ b eᵃ over axes, without overflow; with `return_sign`, `(log |Σ|, sign)`."""
    if axis is None:
        axis = tuple(range(max(np.ndim(a), np.ndim(b) if b is not None else 0)))
    if b is None and not return_sign:
        return _every(a, axis, keepdims=keepdims)
    plain = a.detach().numpy() if isinstance(a, Tensor) else np.asarray(a)
    top = np.max(plain, axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    terms = np.exp(a - top) if b is None else b * np.exp(a - top)
    total = np.sum(terms, axis, keepdims=keepdims)
    offset = top if keepdims else np.squeeze(top, axis)
    if not return_sign:
        return np.log(total) + offset
    return np.log(np.abs(total)) + offset, np.sign(total)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of `softmax`, without overflow."""
    return x - logsumexp(x, axis, keepdims=True)


def softmax(x: Any, axis: Any = None) -> Any:
    """eˣ over its sum along axes, by default over all elements."""
    return np.exp(log_softmax(x, axis))


def xlog1py(x: Any, y: Any) -> Any:
    """`x log(1 + y)`, 0 where `x` is 0."""
    return xlogy(x, 1.0 + y)


def entr(x: Any) -> Any:
    """`-x log x`, 0 at 0 and -∞ below."""
    inside = x >= 0
    return np.where(inside, -xlogy(x, np.where(inside, x, 1.0)), -np.inf)


def rel_entr(x: Any, y: Any) -> Any:
    """`x log(x / y)`, 0 where `x` is 0."""
    return xlogy(x, x) - xlogy(x, y)


def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the beta function."""
    return gammaln(a) + gammaln(b) - gammaln(a + b)


def beta(a: Any, b: Any) -> Any:
    """The beta function of positive arguments."""
    return np.exp(betaln(a, b))


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function of dimension `d`."""
    if not isinstance(d, int | float | np.number) or d < 1 or int(d) != d:
        raise _ArgumentError(f"multigammaln: d is {d!r}; give a positive whole number")
    if np.any(a <= 0.5 * (d - 1)):
        raise _ArgumentError(f"multigammaln: a is not above (d - 1) / 2 = {0.5 * (d - 1)}")
    a = np.asarray(a)
    halves = np.arange(_shape_of("multigammaln", (int(d),))[0]) / 2
    return d * (d - 1) / 4 * np.log(np.pi) + np.sum(gammaln(a[..., None] - halves), -1)


gamma: _Primitive = _of_scipy("special.gamma", lambda ans, x: lambda g: g * ans * digamma(x))
rgamma: _Primitive = _of_scipy("special.rgamma", lambda ans, x: lambda g: -g * ans * digamma(x))
gammasgn: _Primitive = _of_scipy("special.gammasgn", lambda ans, x: lambda g: 0.0 * g)


def factorial(n: Any) -> Any:
    """`gamma(n + 1)`."""
    return gamma(n + 1.0)


def ndtr(x: Any) -> Any:
    """The distribution function of the standard normal."""
    return erfc(-x / 2**0.5) / 2


log_ndtr: _Primitive = _of_scipy(
    "special.log_ndtr",
    lambda ans, x: lambda g: g * _exp(-x * x / 2 - ans - _HALF_LOG_2PI),
)
ndtri: _Primitive = _of_scipy(
    "special.ndtri", lambda ans, x: lambda g: g * _ROOT_2PI * _exp(ans * ans / 2)
)
erfcinv: _Primitive = _of_scipy(
    "special.erfcinv", lambda ans, x: lambda g: -g * _HALF_ROOT_PI * _exp(ans * ans)
)

gammainc: _Primitive = _of_scipy(
    "special.gammainc", None, lambda ans, a, x: lambda g: g * _gamma_slope(a, x)
)
gammaincc: _Primitive = _of_scipy(
    "special.gammaincc", None, lambda ans, a, x: lambda g: -g * _gamma_slope(a, x)
)
betainc: _Primitive = _of_scipy(
    "special.betainc",
    None,
    None,
    lambda ans, a, b, x: (
        lambda g: g * _exp(xlogy(a - 1.0, x) + xlogy(b - 1.0, 1.0 - x) - betaln(a, b))
    ),
)
stdtr: _Primitive = _of_scipy(
    "special.stdtr", None, lambda ans, df, t: lambda g: g * _student(df, t)
)


def _gamma_slope(a: Any, x: Any) -> Any:
    return np.exp(xlogy(a - 1.0, x) - x - gammaln(a))


def _student(df: Any, t: Any) -> Any:
    """The density of Student's t distribution."""
    scale = gammaln((df + 1.0) / 2) - gammaln(df / 2.0) - np.log(df * np.pi) / 2
    return _exp(scale - (df + 1.0) / 2 * np.log1p(t * t / df))


iv: _Primitive = _of_scipy(
    "special.iv",
    None,
    lambda ans, v, x: lambda g: g * (iv(v - 1, x) + iv(v + 1, x)) / 2,
)
ive: _Primitive = _of_scipy(
    "special.ive",
    None,
    lambda ans, v, x: lambda g: g * ((ive(v - 1, x) + ive(v + 1, x)) / 2 - _sign(x) * ans),
)
i0: _Primitive = _of_scipy("special.i0", lambda ans, x: lambda g: g * i1(x))
i1: _Primitive = _of_scipy("special.i1", lambda ans, x: lambda g: g * (i0(x) + iv(2, x)) / 2)
i0e: _Primitive = _of_scipy("special.i0e", lambda ans, x: lambda g: g * (i1e(x) - _sign(x) * ans))
i1e: _Primitive = _of_scipy(
    "special.i1e",
    lambda ans, x: lambda g: g * ((i0e(x) + ive(2, x)) / 2 - _sign(x) * ans),
)
jv: _Primitive = _of_scipy(
    "special.jv", None, lambda ans, v, x: lambda g: g * (jv(v - 1, x) - jv(v + 1, x)) / 2
)
jn = jv
yn: _Primitive = _of_scipy(
    "special.yn", None, lambda ans, n, x: lambda g: g * (yn(n - 1, x) - yn(n + 1, x)) / 2
)
j0: _Primitive = _of_scipy("special.j0", lambda ans, x: lambda g: -g * j1(x))
j1: _Primitive = _of_scipy("special.j1", lambda ans, x: lambda g: g * (j0(x) - jv(2, x)) / 2)
y0: _Primitive = _of_scipy("special.y0", lambda ans, x: lambda g: -g * y1(x))
y1: _Primitive = _of_scipy("special.y1", lambda ans, x: lambda g: g * (y0(x) - yn(2, x)) / 2)

_table.register(i0, "i0")
_table.register_module("scipy.special", globals())
