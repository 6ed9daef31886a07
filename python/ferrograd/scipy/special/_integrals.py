"""Integrals without an elementary form: exponential, sine and cosine integrals, Fresnel, Airy."""

from __future__ import annotations

import math
from typing import Any

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.extend import Primitive
from ferrograd.scipy._scipy_primitives import (
    get_scipy_function,
    make_quiet_rule,
    make_scipy_primitive,
)

np: Any = _ferrograd_numpy

exp1: Primitive = make_scipy_primitive("special.exp1", lambda ans, x: lambda g: -g * np.exp(-x) / x)
expi: Primitive = make_scipy_primitive("special.expi", lambda ans, x: lambda g: g * np.exp(x) / x)
dawsn: Primitive = make_scipy_primitive(
    "special.dawsn", lambda ans, x: lambda g: g * (1.0 - 2 * x * ans)
)
erfi: Primitive = make_scipy_primitive(
    "special.erfi", lambda ans, x: lambda g: g * (2 / math.sqrt(math.pi)) * np.exp(x * x)
)


def _make_output_primitive(name: str, k: int, rule: Any) -> Primitive:
    """Makes a primitive of one of the several outputs of a SciPy function."""

    def value(x: Any) -> Any:
        return get_scipy_function(f"special.{name}")(x)[k]

    value.__name__ = f"{name}[{k}]"
    made = Primitive(value)
    made.defgrad(make_quiet_rule(rule))
    return made


def _sinhc(x: Any) -> Any:
    there = x != 0
    return np.where(there, np.sinh(x) / np.where(there, x, 1.0), 1.0 + x * x / 6)


_si = _make_output_primitive("sici", 0, lambda ans, x: lambda g: g * np.sinc(x / math.pi))
_ci = _make_output_primitive("sici", 1, lambda ans, x: lambda g: g * np.cos(x) / x)
_shi = _make_output_primitive("shichi", 0, lambda ans, x: lambda g: g * _sinhc(x))
_chi = _make_output_primitive("shichi", 1, lambda ans, x: lambda g: g * np.cosh(x) / x)
_fresnel_s = _make_output_primitive(
    "fresnel", 0, lambda ans, x: lambda g: g * np.sin(math.pi / 2 * x * x)
)
_fresnel_c = _make_output_primitive(
    "fresnel", 1, lambda ans, x: lambda g: g * np.cos(math.pi / 2 * x * x)
)
_ai = _make_output_primitive("airy", 0, lambda ans, x: lambda g: g * _aip(x))
_aip: Primitive = _make_output_primitive("airy", 1, lambda ans, x: lambda g: g * x * _ai(x))
_bi = _make_output_primitive("airy", 2, lambda ans, x: lambda g: g * _bip(x))
_bip: Primitive = _make_output_primitive("airy", 3, lambda ans, x: lambda g: g * x * _bi(x))


def sici(x: Any) -> tuple[Any, Any]:
    """The sine and the cosine integral; derivatives `sin x / x` and `cos x / x`."""
    return _si(x), _ci(x)


def shichi(x: Any) -> tuple[Any, Any]:
    """The hyperbolic sine and cosine integral; derivatives `sinh x / x` and `cosh x / x`."""
    return _shi(x), _chi(x)


def fresnel(x: Any) -> tuple[Any, Any]:
    """Fresnel's sine and cosine integral, of `sin(π t² / 2)` and `cos(π t² / 2)`."""
    return _fresnel_s(x), _fresnel_c(x)


def airy(x: Any) -> tuple[Any, Any, Any, Any]:
    """`(Ai, Ai', Bi, Bi')`; the derivative of `Ai'` is `x Ai`."""
    return _ai(x), _aip(x), _bi(x), _bip(x)
