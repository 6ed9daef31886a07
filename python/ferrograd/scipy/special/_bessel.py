"""Bessel functions of `scipy.special`, of real orders.

A derivative by the argument is a combination of neighbouring orders (DLMF 10.6, 10.29, 10.51), so
every order follows; one by the order is an integral (`_orders`). Where the order is whole by
definition (`jn` excepted, which is `jv`), a gradient by it is refused.
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.extend import Primitive
from ferrograd.scipy._scipy_primitives import make_scipy_primitive
from ferrograd.scipy.special._bessel_orders import differentiate_by_order

np: Any = _ferrograd_numpy


def _combine_neighbours(call: Any, v: Any, x: Any, sign: float) -> Any:
    """Half of the function of order `v - 1`, plus or minus half of that of order `v + 1`."""
    return (call(v - 1, x) + sign * call(v + 1, x)) / 2


def _get_functions() -> dict[str, Any]:
    return {"jv": jv, "yv": yv, "kv": kv}


def _make_order_rule(name: str, scale: Any = None) -> Any:
    """Makes the derivative rule for the order of a function, or of one times `scale(x)`."""

    def rule(ans: Any, v: Any, x: Any) -> Any:
        def pull(g: Any) -> Any:
            slope = differentiate_by_order(name, v, x, _get_functions)
            return g * slope if scale is None else g * slope * scale(x)

        return pull

    return rule


iv: Primitive = make_scipy_primitive(
    "special.iv",
    _make_order_rule("iv"),
    lambda ans, v, x: lambda g: g * (iv(v - 1, x) + iv(v + 1, x)) / 2,
)
ive: Primitive = make_scipy_primitive(
    "special.ive",
    _make_order_rule("iv", lambda x: np.exp(-np.abs(x))),
    lambda ans, v, x: lambda g: g * ((ive(v - 1, x) + ive(v + 1, x)) / 2 - np.sign(x) * ans),
    real=True,
)
i0: Primitive = make_scipy_primitive("special.i0", lambda ans, x: lambda g: g * i1(x))
i1: Primitive = make_scipy_primitive(
    "special.i1", lambda ans, x: lambda g: g * (i0(x) + iv(2, x)) / 2
)
i0e: Primitive = make_scipy_primitive(
    "special.i0e", lambda ans, x: lambda g: g * (i1e(x) - np.sign(x) * ans)
)
i1e: Primitive = make_scipy_primitive(
    "special.i1e",
    lambda ans, x: lambda g: g * ((i0e(x) + ive(2, x)) / 2 - np.sign(x) * ans),
)
jv: Primitive = make_scipy_primitive(
    "special.jv",
    _make_order_rule("jv"),
    lambda ans, v, x: lambda g: g * (jv(v - 1, x) - jv(v + 1, x)) / 2,
)
jn = jv
yn: Primitive = make_scipy_primitive(
    "special.yn",
    None,
    lambda ans, n, x: lambda g: g * _combine_neighbours(yn, np.trunc(n), x, -1.0),
)
j0: Primitive = make_scipy_primitive("special.j0", lambda ans, x: lambda g: -g * j1(x))
j1: Primitive = make_scipy_primitive(
    "special.j1", lambda ans, x: lambda g: g * (j0(x) - jv(2, x)) / 2
)
y0: Primitive = make_scipy_primitive("special.y0", lambda ans, x: lambda g: -g * y1(x))
y1: Primitive = make_scipy_primitive(
    "special.y1", lambda ans, x: lambda g: g * (y0(x) - yn(2, x)) / 2
)
yv: Primitive = make_scipy_primitive(
    "special.yv",
    _make_order_rule("yv"),
    lambda ans, v, x: lambda g: g * _combine_neighbours(yv, v, x, -1.0),
)
yve: Primitive = make_scipy_primitive(
    "special.yve",
    _make_order_rule("yv"),
    lambda ans, v, x: lambda g: g * _combine_neighbours(yve, v, x, -1.0),
    real=True,
)
jve: Primitive = make_scipy_primitive(
    "special.jve",
    _make_order_rule("jv"),
    lambda ans, v, x: lambda g: g * _combine_neighbours(jve, v, x, -1.0),
    real=True,
)
kv: Primitive = make_scipy_primitive(
    "special.kv",
    _make_order_rule("kv"),
    lambda ans, v, x: lambda g: -g * _combine_neighbours(kv, v, x, 1.0),
)
kn: Primitive = make_scipy_primitive(
    "special.kn",
    None,
    lambda ans, n, x: lambda g: -g * _combine_neighbours(kv, np.trunc(n), x, 1.0),
)
kve: Primitive = make_scipy_primitive(
    "special.kve",
    _make_order_rule("kv", np.exp),
    lambda ans, v, x: lambda g: g * (ans - _combine_neighbours(kve, v, x, 1.0)),
)
k0: Primitive = make_scipy_primitive("special.k0", lambda ans, x: lambda g: -g * k1(x))
k1: Primitive = make_scipy_primitive(
    "special.k1", lambda ans, x: lambda g: -g * (k0(x) + kv(2, x)) / 2
)
k0e: Primitive = make_scipy_primitive("special.k0e", lambda ans, x: lambda g: g * (ans - k1e(x)))
k1e: Primitive = make_scipy_primitive(
    "special.k1e", lambda ans, x: lambda g: g * (ans - (k0e(x) + kve(2, x)) / 2)
)


def _spherical_derivative(call: Any, n: Any, z: Any, low: float, high: float) -> Any:
    """`(low n f(n - 1) + high (n + 1) f(n + 1)) / (2 n + 1)`."""
    below = np.maximum(n - 1, 0)
    return (low * n * call(below, z) + high * (n + 1) * call(n + 1, z)) / (2 * n + 1)


def _make_spherical(name: str, low: float, high: float) -> tuple[Any, Primitive]:
    """A spherical Bessel function with SciPy's arguments, and its operation."""
    made: Primitive = make_scipy_primitive(
        f"special.{name}",
        None,
        lambda ans, n, z: lambda g: g * _spherical_derivative(made, n, z, low, high),
    )

    def call(n: Any, z: Any, derivative: bool = False) -> Any:
        if not getattr(n, "requires_grad", False):
            # SciPy truncates orders as well; the rule refuses one that is to have a derivative.
            n = np.trunc(n).astype(int)
        return _spherical_derivative(made, n, z, low, high) if derivative else made(n, z)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`scipy.special.{name}`, differentiable by `z`."
    return call, made


spherical_jn = _make_spherical("spherical_jn", 1.0, -1.0)[0]
spherical_yn = _make_spherical("spherical_yn", 1.0, -1.0)[0]
spherical_in = _make_spherical("spherical_in", 1.0, 1.0)[0]
spherical_kn = _make_spherical("spherical_kn", -1.0, -1.0)[0]
