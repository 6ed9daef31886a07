"""The normal distribution between two ends, which are its shapes.

Invariant: outside of the ends densities and probabilities are constants, and at an end a derivative
is the limit from inside.
"""

from math import inf, log, pi, sqrt
from typing import Any

import ferrograd.numpy as _face
from ferrograd.scipy._closed_over import fixed
from ferrograd.scipy.special import erf, log_ndtr
from ferrograd.scipy.stats._continuous import Continuous

np: Any = _face

_HALF_LOG_2PI = log(2 * pi) / 2
_ROOT_2 = sqrt(2.0)


def _mass(a: Any, b: Any, log_unit: Any) -> Any:
    """The normal probability between `a` and `b ≥ a`, divided by `exp(log_unit)`.

    In one tail it uses logarithms; across 0 it is a sum of two parts if small, else 1 minus the
    tails.
    """
    turned = fixed(a) > 0
    low, high = np.where(turned, -b, a), np.where(turned, -a, b)
    tail = fixed(high) <= 0
    upper, lower = log_ndtr(np.where(tail, high, -1.0)), _log_ndtr(np.where(tail, low, -2.0))
    in_tail = -np.exp(upper - log_unit) * np.expm1(lower - upper)
    parts = (erf(np.where(tail, 1.0, high) / _ROOT_2) - erf(np.where(tail, 0.0, low) / _ROOT_2)) / 2
    return np.where(tail, in_tail, parts * np.exp(-np.where(tail, 0.0, log_unit)))


def _log_mass(a: Any, b: Any) -> Any:
    """Its logarithm."""
    near = _near(a, b)
    return near + np.log(_mass(a, b, near))


def _near(a: Any, b: Any) -> Any:
    """About that logarithm, a constant: that of the tail from the nearer end on."""
    return fixed(log_ndtr(np.where(fixed(a) > 0, -fixed(a), np.minimum(fixed(b), 0.0))))


def _log_ndtr(x: Any) -> Any:
    """`log_ndtr` without a derivative at minus infinity."""
    end = fixed(x) == -inf
    return np.where(end, -inf, log_ndtr(np.where(end, -1.0, x)))


def _logpdf(z: Any, a: Any, b: Any) -> Any:
    inside = (fixed(z) >= fixed(a)) & (fixed(z) <= fixed(b))
    z = np.where(inside, z, 0.0)
    return np.where(inside, -z * z / 2 - _HALF_LOG_2PI - _log_mass(a, b), -inf)


def _share(z: Any, a: Any, b: Any, upper: bool) -> Any:
    """The probability below or above a point."""
    inside = (fixed(z) >= fixed(a)) & (fixed(z) <= fixed(b))
    inner, unit = np.where(inside, z, a if upper else b), _near(a, b)
    part = _mass(inner, b, unit) if upper else _mass(a, inner, unit)
    found = part / _mass(a, b, unit)
    outside = np.where((fixed(z) > fixed(b)) != upper, 1.0, 0.0)
    return np.where(inside, found, outside)


def _log_share(z: Any, a: Any, b: Any, upper: bool) -> Any:
    """Its logarithm."""
    known, low, high = fixed(z), fixed(a), fixed(b)
    some = (known >= low) & (known < high) if upper else (known > low) & (known <= high)
    inner = np.where(some, z, a if upper else b)
    found = (_log_mass(inner, b) if upper else _log_mass(a, inner)) - _log_mass(a, b)
    gone = known >= high if upper else known <= low
    return np.where(some, found, np.where(gone, -inf, 0.0))


#: A normal variable between `a` and `b`.
truncnorm = Continuous(
    "truncnorm",
    "a b",
    _logpdf,
    lambda z, a, b: _share(z, a, b, False),
    sf=lambda z, a, b: _share(z, a, b, True),
    logcdf=lambda z, a, b: _log_share(z, a, b, False),
    logsf=lambda z, a, b: _log_share(z, a, b, True),
    own_ends=True,
    valid=lambda a, b: np.asarray(a) < np.asarray(b),
)
