"""Distributions on an interval: uniform, powers, triangles."""

from math import log
from typing import Any

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.scipy.special import xlog1py, xlogy
from ferrograd.scipy.stats._continuous import ContinuousDistribution

np: Any = _ferrograd_numpy

#: The density 1 from 0 to 1.
uniform = ContinuousDistribution(
    "uniform",
    "",
    lambda z: 0.0 * z,
    lambda z: z,
    sf=lambda z: 1.0 - z,
    ppf=lambda q: q,
    isf=lambda q: 1.0 - q,
    low=0.0,
    high=1.0,
)

#: The density `a z**(a - 1)`.
powerlaw = ContinuousDistribution(
    "powerlaw",
    "a",
    lambda z, a: np.log(a) + 0.0 * z,
    lambda z, a: z**a,
    logcdf=lambda z, a: xlogy(a, z),
    ppf=lambda q, a: q ** (1.0 / a),
    isf=lambda q, a: (1.0 - q) ** (1.0 / a),
    low=0.0,
    high=1.0,
    low_power=lambda a: a - 1.0,
)


def _is_below_mode(z: Any, c: Any) -> Any:
    """Whether the point is below the mode; the mode may be an end of the support."""
    return (z < c) | (c == 1.0)


def _has_rising_side(c: Any) -> Any:
    return np.where(c > 0, 1.0, 0.0)


def _has_falling_side(c: Any) -> Any:
    return np.where(c < 1, 1.0, 0.0)


def _triang_logpdf(z: Any, c: Any) -> Any:
    """The density without the powers of both ends, of which a side has one."""
    up = _is_below_mode(z, c)
    rising = np.log(np.where(up, c, 1.0)) + xlog1py(_has_falling_side(c), -np.where(up, z, 0.5))
    falling = np.log1p(-np.where(up, 0.0, c)) + xlogy(_has_rising_side(c), np.where(up, 0.5, z))
    return log(2) - np.where(up, rising, falling)


def _triang_cdf(z: Any, c: Any) -> Any:
    up = _is_below_mode(z, c)
    return np.where(
        up, z * z / np.where(up, c, 1.0), 1.0 - (1.0 - z) ** 2 / np.where(up, 1.0, 1.0 - c)
    )


#: The density that rises from 0 to its top at `c` and falls to 1.
triang = ContinuousDistribution(
    "triang",
    "c",
    _triang_logpdf,
    _triang_cdf,
    low=0.0,
    high=1.0,
    low_power=_has_rising_side,
    high_power=_has_falling_side,
    valid=lambda c: (np.asarray(c) >= 0) & (np.asarray(c) <= 1),
)
