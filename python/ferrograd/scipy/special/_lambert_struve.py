"""Special functions that SciPy computes: Lambert, Struve, Hankel, Kelvin, Voigt, Owen.

Where a formula by an order is not known, a gradient by it is refused.
"""

from __future__ import annotations

import math
from typing import Any

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.extend import Primitive
from ferrograd.scipy._scipy_primitives import make_scipy_primitive
from ferrograd.scipy.special._distributions import rgamma
from ferrograd.scipy.special._elementary import erf, xlogy

np: Any = _ferrograd_numpy
_ROOT_2, _ROOT_PI = math.sqrt(2.0), math.sqrt(math.pi)

_lambertw: Primitive = make_scipy_primitive(
    "special.lambertw", lambda ans, z, k, tol: lambda g: g * np.exp(-ans) / (1.0 + ans)
)


def lambertw(z: Any, k: int = 0, tol: float = 1e-8) -> Any:
    """The `w` with `w exp(w) = z` on the branch `k`, complex; derivative `exp(-w) / (1 + w)`.

    >>> from ferrograd.scipy import special
    >>> round(fg.grad(lambda z: special.lambertw(z).real)(0.0), 9)
    1.0
    """
    return _lambertw(z, k, tol)


wrightomega: Primitive = make_scipy_primitive(
    "special.wrightomega", lambda ans, z: lambda g: g * ans / (1.0 + ans)
)
wofz: Primitive = make_scipy_primitive(
    "special.wofz", lambda ans, z: lambda g: g * (2j / _ROOT_PI - 2.0 * z * ans)
)
powm1: Primitive = make_scipy_primitive(
    "special.powm1",
    lambda ans, x, y: lambda g: g * np.where(y == 0, 0.0, y * x ** (y - 1.0)),
    lambda ans, x, y: lambda g: g * xlogy(1.0 + ans, x),
)
owens_t: Primitive = make_scipy_primitive(
    "special.owens_t",
    lambda ans, h, a: (
        lambda g: -g * np.exp(-h * h / 2.0) * erf(a * h / _ROOT_2) / (2.0 * _ROOT_2 * _ROOT_PI)
    ),
    lambda ans, h, a: (
        lambda g: g * np.exp(-h * h * (1.0 + a * a) / 2.0) / (2.0 * math.pi * (1.0 + a * a))
    ),
)


def _compute_voigt_terms(x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any, Any]:
    """The complex argument, the slope of `wofz` there, and the width that divides both."""
    width = sigma * _ROOT_2
    place = np.divide(x + 1j * gamma, width)
    return place, 2j / _ROOT_PI - 2.0 * place * wofz(place), width * width * _ROOT_PI


voigt_profile: Primitive = make_scipy_primitive(
    "special.voigt_profile",
    lambda ans, *given: (
        lambda g: g * np.real(_compute_voigt_terms(*given)[1]) / _compute_voigt_terms(*given)[2]
    ),
    lambda ans, *given: (
        lambda g: (
            -g
            * (
                ans / given[1]
                + _ROOT_2
                * np.real(_compute_voigt_terms(*given)[0] * _compute_voigt_terms(*given)[1])
                / _compute_voigt_terms(*given)[2]
            )
        )
    ),
    lambda ans, *given: (
        lambda g: -g * np.imag(_compute_voigt_terms(*given)[1]) / _compute_voigt_terms(*given)[2]
    ),
)
struve: Primitive = make_scipy_primitive(
    "special.struve",
    None,
    lambda ans, v, x: lambda g: g * _struve_derivative(struve, ans, v, x, -1.0),
)
modstruve: Primitive = make_scipy_primitive(
    "special.modstruve",
    None,
    lambda ans, v, x: lambda g: g * _struve_derivative(modstruve, ans, v, x, 1.0),
)


def _struve_derivative(call: Any, ans: Any, v: Any, x: Any, sign: float) -> Any:
    """By the order below, near 0 by both neighbours: there nothing is divided by `x`.

    Source: DLMF 11.4.23 to 11.4.26.
    """
    near = abs(x) < 1.0
    small, far = np.where(near, x, 0.5), np.where(near, 1.0, x)
    rest = (small / 2.0) ** v * rgamma(v + 1.5) / _ROOT_PI
    inner = (call(v - 1.0, small) + sign * call(v + 1.0, small) + rest) / 2.0
    return np.where(near, inner, call(v - 1.0, far) - v / far * ans)


hankel1: Primitive = make_scipy_primitive(
    "special.hankel1",
    None,
    lambda ans, v, z: lambda g: g * (hankel1(v - 1.0, z) - hankel1(v + 1.0, z)) / 2.0,
)
hankel2: Primitive = make_scipy_primitive(
    "special.hankel2",
    None,
    lambda ans, v, z: lambda g: g * (hankel2(v - 1.0, z) - hankel2(v + 1.0, z)) / 2.0,
)


#: Of `berp(x) / x` and `beip(x) / x`, in powers of `(x / 2)²`, which are enough below 1.
_BERP = (0.0, -1 / 4, 0.0, 2 / 24**2, 0.0, -3 / 720**2, 0.0, 4 / 40320**2)
_BEIP = (1 / 2, 0.0, -3 / 72, 0.0, 5 / 28800, 0.0, -7 / (2 * 5040**2))


def _divide_by_x(ans: Any, x: Any, series: tuple[float, ...]) -> Any:
    """The quotient, near 0 by its series."""
    near = abs(x) < 1.0
    half = np.where(near, x, 0.0) / 2.0
    square, found = half * half, 0.0
    for factor in reversed(series):
        found = found * square + factor
    return np.where(near, found, ans / np.where(near, 1.0, x))


ber: Primitive = make_scipy_primitive("special.ber", lambda ans, x: lambda g: g * berp(x))
bei: Primitive = make_scipy_primitive("special.bei", lambda ans, x: lambda g: g * beip(x))
ker: Primitive = make_scipy_primitive("special.ker", lambda ans, x: lambda g: g * kerp(x))
kei: Primitive = make_scipy_primitive("special.kei", lambda ans, x: lambda g: g * keip(x))
berp: Primitive = make_scipy_primitive(
    "special.berp", lambda ans, x: lambda g: -g * (bei(x) + _divide_by_x(ans, x, _BERP))
)
beip: Primitive = make_scipy_primitive(
    "special.beip", lambda ans, x: lambda g: g * (ber(x) - _divide_by_x(ans, x, _BEIP))
)
kerp: Primitive = make_scipy_primitive(
    "special.kerp", lambda ans, x: lambda g: -g * (kei(x) + ans / x)
)
keip: Primitive = make_scipy_primitive(
    "special.keip", lambda ans, x: lambda g: g * (ker(x) - ans / x)
)
