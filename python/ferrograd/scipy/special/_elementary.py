"""Functions of `scipy.special` that are operations, or short formulas of operations."""

from __future__ import annotations

import math
from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._tensor.creation import parse_shape
from ferrograd.errors import ArgumentError
from ferrograd.numpy.numpy_vjps import unbroadcast
from ferrograd.scipy._conversions import as_floats, to_float_array
from ferrograd.scipy._wrappers import wrap_operation
from ferrograd.scipy.special._complex import add_complex_support, trigamma

np: Any = _ferrograd_numpy

_TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)

digamma = psi = add_complex_support(
    wrap_operation(_core.digamma, "digamma"), "digamma", lambda ans, z: lambda g: g * trigamma(z)
)
erf = add_complex_support(
    wrap_operation(_core.erf, "erf"),
    "erf",
    lambda ans, x: lambda g: _TWO_OVER_ROOT_PI * g * np.exp(-x * x),
)
erfc = add_complex_support(
    wrap_operation(_core.erfc, "erfc"),
    "erfc",
    lambda ans, x: lambda g: -_TWO_OVER_ROOT_PI * g * np.exp(-x * x),
)
erfinv = wrap_operation(_core.erfinv, "erfinv")
expit = wrap_operation(_core.sigmoid, "expit")
gammaln = wrap_operation(_core.lgamma, "gammaln")
log_expit = wrap_operation(_core.logsigmoid, "log_expit")
logit = wrap_operation(_core._logit, "logit")
_polygamma = wrap_operation(_core.polygamma, "polygamma")
xlogy = add_complex_support(
    wrap_operation(_core.xlogy, "xlogy"),
    "xlogy",
    lambda ans, x, y: lambda g: unbroadcast(g * np.log(y), np.shape(x)),
    lambda ans, x, y: lambda g: unbroadcast(g * x / y, np.shape(y)),
)
_logsumexp = wrap_operation(_core.logsumexp, "logsumexp")


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log Σ b eᵃ over axes, without overflow; with `return_sign`, `(log |Σ|, sign)`."""
    a = np.asarray(a)
    if axis is None:
        axis = tuple(range(max(np.ndim(a), np.ndim(b) if b is not None else 0)))
    if b is None and not return_sign:
        return _logsumexp(a, axis, keepdims=keepdims)
    known = a.detach().numpy() if isinstance(a, Tensor) else np.asarray(a)
    top = np.max(known.real, axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    terms = np.exp(a - top) if b is None else b * np.exp(a - top)
    total = np.sum(terms, axis, keepdims=keepdims)
    offset = top if keepdims else np.squeeze(top, axis)
    if not return_sign:
        return np.log(total) + offset
    return np.log(np.abs(total)) + offset, np.sign(total)


def _loggamma(z: Any) -> Any:
    """The principal branch of the logarithm of Γ; NaN for negative real numbers."""
    z = np.asarray(z)
    return np.where(z < 0, numpy.nan, gammaln(z))


loggamma = add_complex_support(_loggamma, "loggamma", lambda ans, z: lambda g: g * digamma(z))


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of `softmax`, without overflow."""
    return x - logsumexp(x, axis, keepdims=True)


def softmax(x: Any, axis: Any = None) -> Any:
    """eˣ over its sum along axes, by default over all elements."""
    return np.exp(log_softmax(x, axis))


def xlog1py(x: Any, y: Any) -> Any:
    """`x log(1 + y)`, 0 where `x` is 0 and `y` no NaN, exact for small `y`."""
    x, y = as_floats(x), as_floats(y)
    nothing = (x == 0) & ((y <= -1) | (y == math.inf))
    with numpy.errstate(divide="ignore"):
        logs = np.log1p(np.where(nothing, 0.0, y))
    return np.where(nothing, 0.0 * x, x * logs)


def entr(x: Any) -> Any:
    """`-x log x`, 0 at 0 and -∞ below."""
    x = np.asarray(x)
    inside = x >= 0
    found = -xlogy(x, np.where(inside, x, 1.0))
    outside = np.where(np.isnan(x), numpy.nan, -numpy.inf)
    return np.where(inside, found, outside.astype(found.dtype))


def rel_entr(x: Any, y: Any) -> Any:
    """`x log(x / y)`, 0 where `x` is 0 and `y` is not negative, ∞ where either is negative."""
    x, y = as_floats(x), as_floats(y)
    defined = (x > 0) & (y > 0)
    found = np.where(defined, x, 1.0) * np.log(
        np.where(defined, x, 1.0) / np.where(defined, y, 1.0)
    )
    rest = np.where((x == 0) & (y >= 0), 0.0, numpy.inf)
    rest = np.where(np.isnan(x) | np.isnan(y), numpy.nan, rest)
    return np.where(defined, found, rest.astype(found.dtype))


def kl_div(x: Any, y: Any) -> Any:
    """`x log(x / y) - x + y`, `y` where `x` is 0, ∞ where either is negative."""
    return rel_entr(x, y) - x + y


def polygamma(n: Any, x: Any) -> Any:
    """The derivatives of `digamma` of whole orders `n`, one or an array of them: NaN where an order
    is negative or not whole. Differentiable by `x`; float64 for every `x`, as SciPy computes it.
    """
    x = as_floats(x)
    x = x if x.dtype == numpy.float64 else x.astype(numpy.float64)
    if isinstance(n, int | numpy.integer) and n >= 0:
        return _polygamma(n, x)
    orders = to_float_array(n)
    found = np.where(numpy.ones(orders.shape, bool), numpy.nan, x)
    for order in numpy.unique(orders[(orders >= 0) & (orders == numpy.floor(orders))]):
        found = np.where(orders == order, _polygamma(int(order), x), found)
    return found


#: From here on logarithms of the gamma function are Stirling's formula and a short series.
_STIRLING_MIN = 20.0


def _stirling_remainder(x: Any) -> Any:
    """The remainder of Stirling's formula for log Γ(x), for `x` of at least 20 (DLMF 5.11.1)."""
    square = 1.0 / (x * x)
    series = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
    found = 0.0
    for factor in reversed(series):
        found = found * square + factor
    return found / x


def _sort_pair(a: Any, b: Any) -> tuple[Any, Any]:
    """The smaller and the larger argument.

    Equal ones are swapped, so that derivatives of every order are right.
    """
    return np.where(a < b, a, b), np.where(a < b, b, a)


def _is_pole(x: Any) -> Any:
    """A mask of the poles of the gamma function."""
    return (x <= 0) & (x == np.floor(x)) & np.isfinite(x)


def _betaln_positive(a: Any, b: Any) -> Any:
    """For a large argument, the difference of two large logarithms is never formed.

    Source: A. R. DiDonato and A. H. Morris, ACM Trans. Math. Softw. 18 (1992).
    """
    low, high = _sort_pair(a, b)
    far = (high >= _STIRLING_MIN) & (low > 0) & np.isfinite(high)
    big, small = np.where(far, high, _STIRLING_MIN), np.where(far, low, 1.0)
    drop = (big - 0.5) * np.log1p(small / big) + small * np.log(big + small) - small
    apart = gammaln(small) - drop + _stirling_remainder(big) - _stirling_remainder(big + small)
    near = gammaln(low) + gammaln(np.where(far, 1.0, high)) - gammaln(np.where(far, 1.0, a + b))
    found = np.where(far, apart, near)
    return np.where((high == numpy.inf) & (low > 0), -numpy.inf, found)


def betaln(a: Any, b: Any) -> Any:
    """log |B(a, b)|, without cancellation for large positive arguments.

    >>> from ferrograd.scipy import special
    >>> round(float(special.betaln(1e10, 2.0)), 10)
    -46.05170186
    """
    a, b = as_floats(a), as_floats(b)
    low, high = _sort_pair(a, b)
    pole = _is_pole(low)
    rest = 1.0 - a - b
    finite = pole & (high == np.floor(high)) & (rest > 0) & (high > 0)
    found = _betaln_positive(np.where(pole, 1.0, a), np.where(pole, 1.0, b))
    mirrored = _betaln_positive(np.where(finite, rest, 1.0), np.where(finite, high, 1.0))
    return np.where(pole, np.where(finite, mirrored, numpy.inf), found)


def _is_gamma_negative(x: Any) -> Any:
    return (x < 0) & (np.floor(x) % 2 != 0)


def beta(a: Any, b: Any) -> Any:
    """The beta function `Γ(a) Γ(b) / Γ(a + b)`."""
    a, b = as_floats(a), as_floats(b)
    negative = _is_gamma_negative(a) ^ _is_gamma_negative(b) ^ _is_gamma_negative(a + b)
    # Beside a pole that another cancels, the sign is that of (-1)^b.
    low, high = _sort_pair(a, b)
    negative = np.where(_is_pole(low), high % 2 == 1, negative)
    size = np.exp(betaln(a, b))
    return np.where(negative & np.isfinite(size), -size, size)


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function of dimension `d`."""
    if not isinstance(d, int | float | np.number) or d < 1 or int(d) != d:
        raise ArgumentError(f"multigammaln: d is {d!r}; give a positive whole number")
    if np.any(a <= 0.5 * (d - 1)):
        raise ArgumentError(f"multigammaln: a is not above (d - 1) / 2 = {0.5 * (d - 1)}")
    a = np.asarray(a)
    halves = np.arange(parse_shape("multigammaln", (int(d),))[0]) / 2
    return d * (d - 1) / 4 * np.log(np.pi) + np.sum(gammaln(a[..., None] - halves), -1)
