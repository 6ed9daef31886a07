"""Elliptic integrals, hypergeometric functions and Hurwitz's zeta function.

Parameters have derivatives by series and integrals (`_series`). The derivatives of complete
elliptic integrals are hypergeometric functions, which are regular where `m` is 0.
"""

from __future__ import annotations

import math
from typing import Any

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.extend import Primitive
from ferrograd.scipy._scipy_primitives import make_scipy_primitive
from ferrograd.scipy.special._parameter_derivatives import make_parameter_rule

np: Any = _ferrograd_numpy

hyp2f1: Primitive = make_scipy_primitive(
    "special.hyp2f1",
    make_parameter_rule("hyp2f1", 0),
    make_parameter_rule("hyp2f1", 1),
    make_parameter_rule("hyp2f1", 2),
    lambda ans, a, b, c, z: lambda g: g * a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, z),
)
hyp0f1: Primitive = make_scipy_primitive(
    "special.hyp0f1",
    make_parameter_rule("hyp0f1", 0),
    lambda ans, v, z: lambda g: g * hyp0f1(v + 1.0, z) / v,
)
hyperu: Primitive = make_scipy_primitive(
    "special.hyperu",
    make_parameter_rule("hyperu", 0),
    make_parameter_rule("hyperu", 1),
    lambda ans, a, b, x: lambda g: -g * a * hyperu(a + 1.0, b + 1.0, x),
)
ellipk: Primitive = make_scipy_primitive(
    "special.ellipk", lambda ans, m: lambda g: g * (math.pi / 8) * hyp2f1(1.5, 1.5, 2.0, m)
)
ellipe: Primitive = make_scipy_primitive(
    "special.ellipe", lambda ans, m: lambda g: g * (-math.pi / 8) * hyp2f1(0.5, 1.5, 2.0, m)
)
ellipkm1: Primitive = make_scipy_primitive(
    "special.ellipkm1", lambda ans, p: lambda g: g * (-math.pi / 8) * hyp2f1(1.5, 1.5, 2.0, 1.0 - p)
)


def _delta_amplitude(phi: Any, m: Any) -> Any:
    return np.sqrt(1.0 - m * np.sin(phi) ** 2)


def _ellipkinc_m_derivative(ans: Any, phi: Any, m: Any) -> Any:
    edge = np.sin(2 * phi) / (4 * (1.0 - m) * _delta_amplitude(phi, m))
    return ellipeinc(phi, m) / (2 * m * (1.0 - m)) - ans / (2 * m) - edge


ellipkinc: Primitive = make_scipy_primitive(
    "special.ellipkinc",
    lambda ans, phi, m: lambda g: g / _delta_amplitude(phi, m),
    lambda ans, phi, m: lambda g: g * _ellipkinc_m_derivative(ans, phi, m),
)
ellipeinc: Primitive = make_scipy_primitive(
    "special.ellipeinc",
    lambda ans, phi, m: lambda g: g * _delta_amplitude(phi, m),
    lambda ans, phi, m: lambda g: g * (ans - ellipkinc(phi, m)) / (2 * m),
)

_hurwitz_zeta: Primitive = make_scipy_primitive(
    "special.zeta",
    make_parameter_rule("zeta", 0),
    lambda ans, x, q: lambda g: -g * x * _hurwitz_zeta(x + 1.0, q),
)


_riemann_zeta: Primitive = make_scipy_primitive(
    "special.zeta", lambda ans, x: make_parameter_rule("zeta", 0)(ans, x, 1.0)
)


def zeta(x: Any, q: Any = None) -> Any:
    """`Σ (k + q)**-x` over `k` from 0 on, differentiable by both.

    Without `q` it is Riemann's function, also below 1.
    """
    return _riemann_zeta(x) if q is None else _hurwitz_zeta(x, q)


zetac: Primitive = make_scipy_primitive(
    "special.zetac", lambda ans, x: make_parameter_rule("zeta", 0)(ans + 1.0, x, 1.0)
)
