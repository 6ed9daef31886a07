"""Von Mises' distribution of angles.

Invariant: a turn more is a probability of 1 more.
"""

from math import log, pi
from typing import Any

import numpy

import ferrograd.numpy as _face
from ferrograd.extend import defvjp, primitive
from ferrograd.scipy._closed_over import fixed
from ferrograd.scipy._computed_by_scipy import library, quietly
from ferrograd.scipy.special import cosm1, i0e, i1e
from ferrograd.scipy.stats._continuous import Continuous

np: Any = _face

#: Nodes and weights of Gauss-Legendre quadrature from 0 to 1.
_PLACES, _WEIGHTS = (numpy.polynomial.legendre.leggauss(96)[k] / 2 for k in (0, 1))
_PLACES = _PLACES + 0.5

#: The density is negligible this many widths away, and where its exponent has fallen this far.
_WIDTHS, _DEPTH = 12.0, 45.0


def _logpdf(z: Any, kappa: Any) -> Any:
    return kappa * cosm1(z) - log(2 * pi) - np.log(i0e(kappa))


@primitive
def _cdf(z: Any, kappa: Any) -> Any:
    """The distribution function, which SciPy computes; derivatives by both."""
    return library("stats.vonmises").cdf(z, kappa)


def _by_kappa(z: Any, kappa: Any) -> Any:
    """The integral of `(cos t - I₁ / I₀) f(t)` from 0 to the angle, which is odd and periodic.

    The one to π is 0: away from the middle it is minus the integral from the angle on.
    """
    z, kappa = np.broadcast_arrays(np.asarray(z, dtype=float), np.asarray(kappa, dtype=float))
    angle = z - 2 * pi * np.round(fixed(z) / (2 * pi))
    sign = np.where(fixed(angle) < 0, -1.0, 1.0)
    size, width = sign * angle, np.maximum(fixed(kappa), 1e-3)
    known = fixed(size)
    tail = width * known * known > 1.0
    reach = np.minimum(_WIDTHS / np.sqrt(width), _DEPTH / (width * np.maximum(np.sin(known), 1e-3)))
    start = np.where(tail, size, 0.0)
    length = np.where(tail, np.minimum(known + reach, pi), size) - start
    place, wide = start[..., None] + length[..., None] * _PLACES, kappa[..., None]
    slope = cosm1(place) + 1.0 - i1e(wide) / i0e(wide)
    found = length * np.sum(_WEIGHTS * slope * np.exp(_logpdf(place, wide)), -1)
    return np.where(tail, -sign, sign) * found


defvjp(
    _cdf,
    quietly(lambda ans, z, kappa: lambda g: g * np.exp(_logpdf(z, kappa))),
    quietly(lambda ans, z, kappa: lambda g: g * _by_kappa(z, kappa)),
)


class _Circular(Continuous):
    """Angles: draws are between -π and π, wherever the location is."""

    def rvs(self, *args: Any, size: Any = None, random_state: Any = None, **kwargs: Any) -> Any:
        """Random angles; each moves with the parameters as the quantile that it is."""
        found = super().rvs(*args, size=size, random_state=random_state, **kwargs)
        return found - 2 * pi * np.floor((fixed(found) + pi) / (2 * pi))


#: The density `exp(kappa cos z) / (2π I₀(kappa))` on every turn.
vonmises = _Circular(
    "vonmises",
    "kappa",
    _logpdf,
    _cdf,
    sf=lambda z, kappa: _cdf(-z, kappa),
    valid=lambda kappa: np.asarray(kappa) >= 0,
)
