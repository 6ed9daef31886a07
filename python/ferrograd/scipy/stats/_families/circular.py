"""Von Mises' distribution of angles.

Invariant: a turn more is a probability of 1 more.
"""

from math import log, pi
from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.extend import defvjp, primitive
from ferrograd.scipy._conversions import detach
from ferrograd.scipy._scipy_primitives import get_scipy_function, make_quiet_rule
from ferrograd.scipy.special import cosm1, i0e, i1e
from ferrograd.scipy.stats._continuous import ContinuousDistribution

np: Any = _ferrograd_numpy

#: Nodes and weights of Gauss-Legendre quadrature from 0 to 1.
_NODES, _WEIGHTS = (numpy.polynomial.legendre.leggauss(96)[k] / 2 for k in (0, 1))
_NODES = _NODES + 0.5

#: The density is negligible this many widths away, and where its exponent has fallen this far.
_WIDTHS, _DEPTH = 12.0, 45.0


def _logpdf(z: Any, kappa: Any) -> Any:
    return kappa * cosm1(z) - log(2 * pi) - np.log(i0e(kappa))


@primitive
def _cdf(z: Any, kappa: Any) -> Any:
    """The distribution function, which SciPy computes; derivatives by both."""
    return get_scipy_function("stats.vonmises").cdf(z, kappa)


def _cdf_kappa_derivative(z: Any, kappa: Any) -> Any:
    """The integral of `(cos t - I₁ / I₀) f(t)` from 0 to the angle, which is odd and periodic.

    The one to π is 0: away from the middle it is minus the integral from the angle on.
    """
    z, kappa = np.broadcast_arrays(np.asarray(z, dtype=float), np.asarray(kappa, dtype=float))
    angle = z - 2 * pi * np.round(detach(z) / (2 * pi))
    sign = np.where(detach(angle) < 0, -1.0, 1.0)
    size, width = sign * angle, np.maximum(detach(kappa), 1e-3)
    known = detach(size)
    tail = width * known * known > 1.0
    reach = np.minimum(_WIDTHS / np.sqrt(width), _DEPTH / (width * np.maximum(np.sin(known), 1e-3)))
    start = np.where(tail, size, 0.0)
    length = np.where(tail, np.minimum(known + reach, pi), size) - start
    place, wide = start[..., None] + length[..., None] * _NODES, kappa[..., None]
    slope = cosm1(place) + 1.0 - i1e(wide) / i0e(wide)
    found = length * np.sum(_WEIGHTS * slope * np.exp(_logpdf(place, wide)), -1)
    return np.where(tail, -sign, sign) * found


defvjp(
    _cdf,
    make_quiet_rule(lambda ans, z, kappa: lambda g: g * np.exp(_logpdf(z, kappa))),
    make_quiet_rule(lambda ans, z, kappa: lambda g: g * _cdf_kappa_derivative(z, kappa)),
)


class _CircularDistribution(ContinuousDistribution):
    """Angles: draws are between -π and π, wherever the location is."""

    def rvs(self, *args: Any, size: Any = None, random_state: Any = None, **kwargs: Any) -> Any:
        """Random angles; each moves with the parameters as the quantile that it is."""
        found = super().rvs(*args, size=size, random_state=random_state, **kwargs)
        return found - 2 * pi * np.floor((detach(found) + pi) / (2 * pi))


#: The density `exp(kappa cos z) / (2π I₀(kappa))` on every turn.
vonmises = _CircularDistribution(
    "vonmises",
    "kappa",
    _logpdf,
    _cdf,
    sf=lambda z, kappa: _cdf(-z, kappa),
    valid=lambda kappa: np.asarray(kappa) >= 0,
)
