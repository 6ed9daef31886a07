"""Functions of `scipy.special` that are operations of ours, or short formulas of these.

Owns: SciPy's names and arguments.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._tensor.creation import shape_of
from ferrograd.errors import ArgumentError
from ferrograd.scipy._closures import floats
from ferrograd.scipy._face import face

digamma = psi = face(_core.digamma, "digamma")
erf = face(_core.erf, "erf")
erfc = face(_core.erfc, "erfc")
erfinv = face(_core.erfinv, "erfinv")
expit = face(_core.sigmoid, "expit")
gammaln = face(_core.lgamma, "gammaln")
log_expit = face(_core.logsigmoid, "log_expit")
logit = face(_core.logit, "logit")
polygamma = face(_core.polygamma, "polygamma")
xlogy = face(_core.xlogy, "xlogy")
_every = face(_core.logsumexp, "logsumexp")


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log Σ b eᵃ over axes, without overflow; with `return_sign`, `(log |Σ|, sign)`."""
    a = np.asarray(a)
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


def loggamma(z: Any) -> Any:
    """The principal branch of the logarithm of Γ: of real numbers NaN below 0."""
    z = np.asarray(z)
    if z.dtype.kind == "c":
        return gammaln(z)
    return np.where(z < 0, numpy.nan, gammaln(z))


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
    x = np.asarray(x)
    inside = x >= 0
    outside = np.where(np.isnan(x), numpy.nan, -numpy.inf)
    return np.where(inside, -xlogy(x, np.where(inside, x, 1.0)), outside)


def rel_entr(x: Any, y: Any) -> Any:
    """`x log(x / y)`, 0 where `x` is 0 and `y` is not negative, ∞ where either is negative."""
    x, y = floats(x), floats(y)
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


def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the beta function."""
    return gammaln(a) + gammaln(b) - gammaln(a + b)


def beta(a: Any, b: Any) -> Any:
    """The beta function of positive arguments."""
    return np.exp(betaln(a, b))


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function of dimension `d`."""
    if not isinstance(d, int | float | np.number) or d < 1 or int(d) != d:
        raise ArgumentError(f"multigammaln: d is {d!r}; give a positive whole number")
    if np.any(a <= 0.5 * (d - 1)):
        raise ArgumentError(f"multigammaln: a is not above (d - 1) / 2 = {0.5 * (d - 1)}")
    a = np.asarray(a)
    halves = np.arange(shape_of("multigammaln", (int(d),))[0]) / 2
    return d * (d - 1) / 4 * np.log(np.pi) + np.sum(gammaln(a[..., None] - halves), -1)
