"""Elliptic integrals, hypergeometric functions and Hurwitz's zeta function.

Parameters have derivatives by series and integrals (`_series`). The derivatives of complete
elliptic integrals are hypergeometric functions, which are regular where `m` is 0.
"""

from __future__ import annotations

import math
from typing import Any

import ferrograd.numpy as _face
from ferrograd.extend import Primitive
from ferrograd.scipy._computed_by_scipy import of_scipy
from ferrograd.scipy.special._parameter_derivatives import by_parameter

np: Any = _face

hyp2f1: Primitive = of_scipy(
    "special.hyp2f1",
    by_parameter("hyp2f1", 0),
    by_parameter("hyp2f1", 1),
    by_parameter("hyp2f1", 2),
    lambda ans, a, b, c, z: lambda g: g * a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, z),
)
hyp0f1: Primitive = of_scipy(
    "special.hyp0f1",
    by_parameter("hyp0f1", 0),
    lambda ans, v, z: lambda g: g * hyp0f1(v + 1.0, z) / v,
)
hyperu: Primitive = of_scipy(
    "special.hyperu",
    by_parameter("hyperu", 0),
    by_parameter("hyperu", 1),
    lambda ans, a, b, x: lambda g: -g * a * hyperu(a + 1.0, b + 1.0, x),
)
ellipk: Primitive = of_scipy(
    "special.ellipk", lambda ans, m: lambda g: g * (math.pi / 8) * hyp2f1(1.5, 1.5, 2.0, m)
)
ellipe: Primitive = of_scipy(
    "special.ellipe", lambda ans, m: lambda g: g * (-math.pi / 8) * hyp2f1(0.5, 1.5, 2.0, m)
)
ellipkm1: Primitive = of_scipy(
    "special.ellipkm1", lambda ans, p: lambda g: g * (-math.pi / 8) * hyp2f1(1.5, 1.5, 2.0, 1.0 - p)
)


def _root(phi: Any, m: Any) -> Any:
    return np.sqrt(1.0 - m * np.sin(phi) ** 2)


def _first_by_m(ans: Any, phi: Any, m: Any) -> Any:
    edge = np.sin(2 * phi) / (4 * (1.0 - m) * _root(phi, m))
    return ellipeinc(phi, m) / (2 * m * (1.0 - m)) - ans / (2 * m) - edge


ellipkinc: Primitive = of_scipy(
    "special.ellipkinc",
    lambda ans, phi, m: lambda g: g / _root(phi, m),
    lambda ans, phi, m: lambda g: g * _first_by_m(ans, phi, m),
)
ellipeinc: Primitive = of_scipy(
    "special.ellipeinc",
    lambda ans, phi, m: lambda g: g * _root(phi, m),
    lambda ans, phi, m: lambda g: g * (ans - ellipkinc(phi, m)) / (2 * m),
)

_hurwitz: Primitive = of_scipy(
    "special.zeta",
    by_parameter("zeta", 0),
    lambda ans, x, q: lambda g: -g * x * _hurwitz(x + 1.0, q),
)


_riemann: Primitive = of_scipy("special.zeta", lambda ans, x: by_parameter("zeta", 0)(ans, x, 1.0))


def zeta(x: Any, q: Any = None) -> Any:
    """`Σ (k + q)**-x` over `k` from 0 on, differentiable by both.

    Without `q` it is Riemann's function, also below 1.
    """
    return _riemann(x) if q is None else _hurwitz(x, q)


zetac: Primitive = of_scipy(
    "special.zetac", lambda ans, x: by_parameter("zeta", 0)(ans + 1.0, x, 1.0)
)
