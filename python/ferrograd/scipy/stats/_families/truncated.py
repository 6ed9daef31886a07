"""The normal distribution between two ends, which are its shapes.

Invariant: outside of the ends densities and probabilities are constants, and at an end a derivative
is the limit from inside.
"""

from math import inf, log, pi, sqrt
from typing import Any

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.scipy._conversions import detach
from ferrograd.scipy.special import erf, log_ndtr
from ferrograd.scipy.stats._continuous import ContinuousDistribution

np: Any = _ferrograd_numpy

_HALF_LOG_2PI = log(2 * pi) / 2
_ROOT_2 = sqrt(2.0)


def _normal_mass(a: Any, b: Any, log_unit: Any) -> Any:
    """The normal probability between `a` and `b ≥ a`, divided by `exp(log_unit)`.

    In one tail it uses logarithms; across 0 it is a sum of two parts if small, else 1 minus the
    tails.
    """
    turned = detach(a) > 0
    low, high = np.where(turned, -b, a), np.where(turned, -a, b)
    tail = detach(high) <= 0
    upper, lower = log_ndtr(np.where(tail, high, -1.0)), _log_ndtr(np.where(tail, low, -2.0))
    in_tail = -np.exp(upper - log_unit) * np.expm1(lower - upper)
    parts = (erf(np.where(tail, 1.0, high) / _ROOT_2) - erf(np.where(tail, 0.0, low) / _ROOT_2)) / 2
    return np.where(tail, in_tail, parts * np.exp(-np.where(tail, 0.0, log_unit)))


def _log_normal_mass(a: Any, b: Any) -> Any:
    """The logarithm of the normal probability between `a` and `b`."""
    near = _estimate_log_mass(a, b)
    return near + np.log(_normal_mass(a, b, near))


def _estimate_log_mass(a: Any, b: Any) -> Any:
    """A constant near the logarithm of the mass: that of the tail from the nearer end on."""
    return detach(log_ndtr(np.where(detach(a) > 0, -detach(a), np.minimum(detach(b), 0.0))))


def _log_ndtr(x: Any) -> Any:
    """`log_ndtr` without a derivative at minus infinity."""
    end = detach(x) == -inf
    return np.where(end, -inf, log_ndtr(np.where(end, -1.0, x)))


def _logpdf(z: Any, a: Any, b: Any) -> Any:
    inside = (detach(z) >= detach(a)) & (detach(z) <= detach(b))
    z = np.where(inside, z, 0.0)
    return np.where(inside, -z * z / 2 - _HALF_LOG_2PI - _log_normal_mass(a, b), -inf)


def _compute_probability(z: Any, a: Any, b: Any, upper: bool) -> Any:
    """The probability below or above a point."""
    inside = (detach(z) >= detach(a)) & (detach(z) <= detach(b))
    inner, unit = np.where(inside, z, a if upper else b), _estimate_log_mass(a, b)
    part = _normal_mass(inner, b, unit) if upper else _normal_mass(a, inner, unit)
    found = part / _normal_mass(a, b, unit)
    outside = np.where((detach(z) > detach(b)) != upper, 1.0, 0.0)
    return np.where(inside, found, outside)


def _compute_log_probability(z: Any, a: Any, b: Any, upper: bool) -> Any:
    """The logarithm of the probability below or above a point."""
    known, low, high = detach(z), detach(a), detach(b)
    some = (known >= low) & (known < high) if upper else (known > low) & (known <= high)
    inner = np.where(some, z, a if upper else b)
    found = (
        _log_normal_mass(inner, b) if upper else _log_normal_mass(a, inner)
    ) - _log_normal_mass(a, b)
    gone = known >= high if upper else known <= low
    return np.where(some, found, np.where(gone, -inf, 0.0))


#: A normal variable between `a` and `b`.
truncnorm = ContinuousDistribution(
    "truncnorm",
    "a b",
    _logpdf,
    lambda z, a, b: _compute_probability(z, a, b, False),
    sf=lambda z, a, b: _compute_probability(z, a, b, True),
    logcdf=lambda z, a, b: _compute_log_probability(z, a, b, False),
    logsf=lambda z, a, b: _compute_log_probability(z, a, b, True),
    own_ends=True,
    valid=lambda a, b: np.asarray(a) < np.asarray(b),
)
