"""Special functions that SciPy computes: powers and logarithms, angles, losses.

Invariant: a rule is finite wherever the derivative is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd import _core
from ferrograd.extend import Primitive
from ferrograd.scipy._scipy_primitives import make_scipy_primitive
from ferrograd.scipy._wrappers import wrap_operation
from ferrograd.scipy.special._parameter_derivatives import make_parameter_rule

np: Any = _ferrograd_numpy
_DEGREE = math.pi / 180

cbrt = wrap_operation(_core.cbrt, "cbrt")
exp2 = wrap_operation(_core.exp2, "exp2")
sinc = wrap_operation(_core.sinc, "sinc")

exp10: Primitive = make_scipy_primitive(
    "special.exp10", lambda ans, x: lambda g: g * ans * math.log(10)
)
cosm1: Primitive = make_scipy_primitive("special.cosm1", lambda ans, x: lambda g: -g * np.sin(x))
erfcx: Primitive = make_scipy_primitive(
    "special.erfcx", lambda ans, x: lambda g: g * _erfcx_derivative(ans, x)
)
exprel: Primitive = make_scipy_primitive(
    "special.exprel", lambda ans, x: lambda g: g * _exprel_derivative(ans, x)
)
spence: Primitive = make_scipy_primitive(
    "special.spence", lambda ans, x: lambda g: g * _spence_derivative(x)
)


def _erfcx_derivative(ans: Any, x: Any) -> Any:
    """`2 x erfcx(x) - 2 / √π`, for large `x` by the asymptotic series of DLMF 7.12.1."""
    far = np.real(x) > 50.0
    square = 1.0 / np.where(far, x, 1.0) ** 2
    series = square * (1 - square * (3 / 2 - square * (15 / 4 - square * 105 / 8)))
    near = 2 * np.where(far, 0.0, x) * ans - 2 / math.sqrt(math.pi)
    return np.where(far, -series / math.sqrt(math.pi), near)


def _exprel_derivative(ans: Any, x: Any) -> Any:
    """`(eˣ - exprel(x)) / x`, by its series near 0."""
    near = abs(x) < 1e-2
    far = np.where(near, 1.0, x)
    series = 1 / 2 + x * (1 / 3 + x * (1 / 8 + x * (1 / 30 + x * (1 / 144 + x / 840))))
    return np.where(near, series, (np.exp(x) - ans) / far)


def _spence_derivative(x: Any) -> Any:
    """`log x / (1 - x)`, -1 at 1."""
    at_one = x == 1
    return np.where(at_one, -1.0, np.log(x) / (1 - np.where(at_one, 0.0, x)))


boxcox: Primitive = make_scipy_primitive(
    "special.boxcox",
    lambda ans, x, power: lambda g: g * x ** (power - 1),
    lambda ans, x, power: lambda g: g * _boxcox_derivative(ans, np.log(x), power),
)
boxcox1p: Primitive = make_scipy_primitive(
    "special.boxcox1p",
    lambda ans, x, power: lambda g: g * (1 + x) ** (power - 1),
    lambda ans, x, power: lambda g: g * _boxcox_derivative(ans, np.log1p(x), power),
)
inv_boxcox: Primitive = make_scipy_primitive(
    "special.inv_boxcox",
    lambda ans, y, power: lambda g: g * ans ** (1 - power),
    lambda ans, y, power: lambda g: g * _inv_boxcox_derivative(ans, y, power),
)
inv_boxcox1p: Primitive = make_scipy_primitive(
    "special.inv_boxcox1p",
    lambda ans, y, power: lambda g: g * (1 + ans) ** (1 - power),
    lambda ans, y, power: lambda g: g * _inv_boxcox_derivative(1 + ans, y, power),
)


def _boxcox_derivative(ans: Any, log: Any, power: Any) -> Any:
    """The derivative of `(e^(power log) - 1) / power` by the power."""
    at_zero = power == 0
    safe = np.where(at_zero, 1.0, power)
    # An infinite logarithm, that of 0, has no part where the power is positive.
    grown = np.where((log == -numpy.inf) & (power > 0), 0.0, np.exp(power * log) * log)
    return np.where(at_zero, log * log / 2, (grown - ans) / safe)


def _inv_boxcox_derivative(ans: Any, y: Any, power: Any) -> Any:
    """The derivative of `(1 + power y)^(1 / power)` by the power."""
    at_zero = power == 0
    safe = np.where(at_zero, 1.0, power)
    inside = y / (safe * (1 + safe * y)) - np.log1p(safe * y) / safe**2
    return ans * np.where(at_zero, -y * y / 2, inside)


def radian(d: Any, m: Any, s: Any) -> Any:
    """Degrees, minutes and seconds of an angle in radians."""
    return (d + m / 60 + s / 3600) * _DEGREE


sindg: Primitive = make_scipy_primitive(
    "special.sindg", lambda ans, x: lambda g: g * cosdg(x) * _DEGREE
)
cosdg: Primitive = make_scipy_primitive(
    "special.cosdg", lambda ans, x: lambda g: -g * sindg(x) * _DEGREE
)
tandg: Primitive = make_scipy_primitive(
    "special.tandg", lambda ans, x: lambda g: g * (1 + ans * ans) * _DEGREE
)
cotdg: Primitive = make_scipy_primitive(
    "special.cotdg", lambda ans, x: lambda g: -g * (1 + ans * ans) * _DEGREE
)

huber: Primitive = make_scipy_primitive(
    "special.huber",
    lambda ans, delta, r: lambda g: g * np.where(abs(r) > delta, abs(r) - delta, 0.0),
    lambda ans, delta, r: lambda g: g * np.clip(r, -delta, delta),
)
pseudo_huber: Primitive = make_scipy_primitive(
    "special.pseudo_huber",
    lambda ans, delta, r: lambda g: g * _pseudo_huber_derivative(delta, r),
    lambda ans, delta, r: lambda g: g * r / np.sqrt(1 + (r / delta) ** 2),
)


def _pseudo_huber_derivative(delta: Any, r: Any) -> Any:
    """The derivative of `delta² (sqrt(1 + (r / delta)²) - 1)` by delta."""
    root = np.sqrt(1 + (r / delta) ** 2)
    return delta * (root - 1) ** 2 / root


expn: Primitive = make_scipy_primitive(
    "special.expn", None, lambda ans, n, x: lambda g: -g * _lower_expn(np.trunc(n), x)
)


def _lower_expn(n: Any, x: Any) -> Any:
    """`expn(n - 1, x)`, also for `n` of 0."""
    at_zero = n == 0
    below = np.exp(-x) * (1 + 1 / x) / x
    return np.where(at_zero, below, expn(np.where(at_zero, 0, n - 1), x))


hyp1f1: Primitive = make_scipy_primitive(
    "special.hyp1f1",
    make_parameter_rule("hyp1f1", 0),
    make_parameter_rule("hyp1f1", 1),
    lambda ans, a, b, x: lambda g: g * a / b * hyp1f1(a + 1, b + 1, x),
)
lpmv: Primitive = make_scipy_primitive(
    "special.lpmv",
    None,
    None,
    lambda ans, m, v, x: lambda g: g * _lpmv_derivative(ans, m, v, x),
)


def _lpmv_derivative(ans: Any, m: Any, v: Any, x: Any) -> Any:
    """By the degree below, which has no part where the order is minus the degree."""
    sum_ = np.asarray(v + m)
    below = np.where(sum_ == 0, 0.0, sum_ * lpmv(m, np.where(sum_ == 0, v, v - 1), x))
    return (v * x * ans - below) / (x * x - 1)
