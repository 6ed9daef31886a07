"""Special functions that SciPy computes: powers and logarithms, angles, losses.

Invariant: a rule is finite wherever the derivative is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

import ferrograd.numpy as _face
from ferrograd import _core
from ferrograd.extend import Primitive
from ferrograd.scipy._computed_by_scipy import of_scipy
from ferrograd.scipy._wrappers import face
from ferrograd.scipy.special._parameter_derivatives import by_parameter

np: Any = _face
_DEGREE = math.pi / 180

cbrt = face(_core.cbrt, "cbrt")
exp2 = face(_core.exp2, "exp2")
sinc = face(_core.sinc, "sinc")

exp10: Primitive = of_scipy("special.exp10", lambda ans, x: lambda g: g * ans * math.log(10))
cosm1: Primitive = of_scipy("special.cosm1", lambda ans, x: lambda g: -g * np.sin(x))
erfcx: Primitive = of_scipy("special.erfcx", lambda ans, x: lambda g: g * _erfcx_slope(ans, x))
exprel: Primitive = of_scipy("special.exprel", lambda ans, x: lambda g: g * _exprel_slope(ans, x))
spence: Primitive = of_scipy("special.spence", lambda ans, x: lambda g: g * _spence_slope(x))


def _erfcx_slope(ans: Any, x: Any) -> Any:
    """`2 x erfcx(x) - 2 / √π`, for large `x` by the asymptotic series of DLMF 7.12.1."""
    far = np.real(x) > 50.0
    square = 1.0 / np.where(far, x, 1.0) ** 2
    series = square * (1 - square * (3 / 2 - square * (15 / 4 - square * 105 / 8)))
    near = 2 * np.where(far, 0.0, x) * ans - 2 / math.sqrt(math.pi)
    return np.where(far, -series / math.sqrt(math.pi), near)


def _exprel_slope(ans: Any, x: Any) -> Any:
    """`(eˣ - exprel(x)) / x`, by its series near 0."""
    near = abs(x) < 1e-2
    far = np.where(near, 1.0, x)
    series = 1 / 2 + x * (1 / 3 + x * (1 / 8 + x * (1 / 30 + x * (1 / 144 + x / 840))))
    return np.where(near, series, (np.exp(x) - ans) / far)


def _spence_slope(x: Any) -> Any:
    """`log x / (1 - x)`, -1 at 1."""
    at_one = x == 1
    return np.where(at_one, -1.0, np.log(x) / (1 - np.where(at_one, 0.0, x)))


boxcox: Primitive = of_scipy(
    "special.boxcox",
    lambda ans, x, power: lambda g: g * x ** (power - 1),
    lambda ans, x, power: lambda g: g * _boxcox_slope(ans, np.log(x), power),
)
boxcox1p: Primitive = of_scipy(
    "special.boxcox1p",
    lambda ans, x, power: lambda g: g * (1 + x) ** (power - 1),
    lambda ans, x, power: lambda g: g * _boxcox_slope(ans, np.log1p(x), power),
)
inv_boxcox: Primitive = of_scipy(
    "special.inv_boxcox",
    lambda ans, y, power: lambda g: g * ans ** (1 - power),
    lambda ans, y, power: lambda g: g * _inverse_slope(ans, y, power),
)
inv_boxcox1p: Primitive = of_scipy(
    "special.inv_boxcox1p",
    lambda ans, y, power: lambda g: g * (1 + ans) ** (1 - power),
    lambda ans, y, power: lambda g: g * _inverse_slope(1 + ans, y, power),
)


def _boxcox_slope(ans: Any, log: Any, power: Any) -> Any:
    """The derivative of `(e^(power log) - 1) / power` by the power."""
    at_zero = power == 0
    safe = np.where(at_zero, 1.0, power)
    # An infinite logarithm, that of 0, has no part where the power is positive.
    grown = np.where((log == -numpy.inf) & (power > 0), 0.0, np.exp(power * log) * log)
    return np.where(at_zero, log * log / 2, (grown - ans) / safe)


def _inverse_slope(ans: Any, y: Any, power: Any) -> Any:
    """The derivative of `(1 + power y)^(1 / power)` by the power."""
    at_zero = power == 0
    safe = np.where(at_zero, 1.0, power)
    inside = y / (safe * (1 + safe * y)) - np.log1p(safe * y) / safe**2
    return ans * np.where(at_zero, -y * y / 2, inside)


def radian(d: Any, m: Any, s: Any) -> Any:
    """Degrees, minutes and seconds of an angle in radians."""
    return (d + m / 60 + s / 3600) * _DEGREE


sindg: Primitive = of_scipy("special.sindg", lambda ans, x: lambda g: g * cosdg(x) * _DEGREE)
cosdg: Primitive = of_scipy("special.cosdg", lambda ans, x: lambda g: -g * sindg(x) * _DEGREE)
tandg: Primitive = of_scipy("special.tandg", lambda ans, x: lambda g: g * (1 + ans * ans) * _DEGREE)
cotdg: Primitive = of_scipy(
    "special.cotdg", lambda ans, x: lambda g: -g * (1 + ans * ans) * _DEGREE
)

huber: Primitive = of_scipy(
    "special.huber",
    lambda ans, delta, r: lambda g: g * np.where(abs(r) > delta, abs(r) - delta, 0.0),
    lambda ans, delta, r: lambda g: g * np.clip(r, -delta, delta),
)
pseudo_huber: Primitive = of_scipy(
    "special.pseudo_huber",
    lambda ans, delta, r: lambda g: g * _pseudo_slope(delta, r),
    lambda ans, delta, r: lambda g: g * r / np.sqrt(1 + (r / delta) ** 2),
)


def _pseudo_slope(delta: Any, r: Any) -> Any:
    """The derivative of `delta² (sqrt(1 + (r / delta)²) - 1)` by delta."""
    root = np.sqrt(1 + (r / delta) ** 2)
    return delta * (root - 1) ** 2 / root


expn: Primitive = of_scipy(
    "special.expn", None, lambda ans, n, x: lambda g: -g * _lower_expn(np.trunc(n), x)
)


def _lower_expn(n: Any, x: Any) -> Any:
    """`expn(n - 1, x)`, also for `n` of 0."""
    at_zero = n == 0
    below = np.exp(-x) * (1 + 1 / x) / x
    return np.where(at_zero, below, expn(np.where(at_zero, 0, n - 1), x))


hyp1f1: Primitive = of_scipy(
    "special.hyp1f1",
    by_parameter("hyp1f1", 0),
    by_parameter("hyp1f1", 1),
    lambda ans, a, b, x: lambda g: g * a / b * hyp1f1(a + 1, b + 1, x),
)
lpmv: Primitive = of_scipy(
    "special.lpmv",
    None,
    None,
    lambda ans, m, v, x: lambda g: g * _legendre_slope(ans, m, v, x),
)


def _legendre_slope(ans: Any, m: Any, v: Any, x: Any) -> Any:
    """By the degree below, which has no part where the order is minus the degree."""
    sum_ = np.asarray(v + m)
    below = np.where(sum_ == 0, 0.0, sum_ * lpmv(m, np.where(sum_ == 0, v, v - 1), x))
    return (v * x * ans - below) / (x * x - 1)
