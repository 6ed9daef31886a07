"""Integrals without an elementary form: exponential, sine and cosine integrals, Fresnel, Airy."""

from __future__ import annotations

import math
from typing import Any

import ferrograd.numpy as _face
from ferrograd.extend import Primitive
from ferrograd.scipy._computed_by_scipy import library, of_scipy, quietly

np: Any = _face

exp1: Primitive = of_scipy("special.exp1", lambda ans, x: lambda g: -g * np.exp(-x) / x)
expi: Primitive = of_scipy("special.expi", lambda ans, x: lambda g: g * np.exp(x) / x)
dawsn: Primitive = of_scipy("special.dawsn", lambda ans, x: lambda g: g * (1.0 - 2 * x * ans))
erfi: Primitive = of_scipy(
    "special.erfi", lambda ans, x: lambda g: g * (2 / math.sqrt(math.pi)) * np.exp(x * x)
)


def _part(name: str, k: int, rule: Any) -> Primitive:
    """One of several values of a function of SciPy's, as an operation."""

    def value(x: Any) -> Any:
        return library(f"special.{name}")(x)[k]

    value.__name__ = f"{name}[{k}]"
    made = Primitive(value)
    made.defgrad(quietly(rule))
    return made


def _sinhc(x: Any) -> Any:
    there = x != 0
    return np.where(there, np.sinh(x) / np.where(there, x, 1.0), 1.0 + x * x / 6)


_si = _part("sici", 0, lambda ans, x: lambda g: g * np.sinc(x / math.pi))
_ci = _part("sici", 1, lambda ans, x: lambda g: g * np.cos(x) / x)
_shi = _part("shichi", 0, lambda ans, x: lambda g: g * _sinhc(x))
_chi = _part("shichi", 1, lambda ans, x: lambda g: g * np.cosh(x) / x)
_sine = _part("fresnel", 0, lambda ans, x: lambda g: g * np.sin(math.pi / 2 * x * x))
_cosine = _part("fresnel", 1, lambda ans, x: lambda g: g * np.cos(math.pi / 2 * x * x))
_ai = _part("airy", 0, lambda ans, x: lambda g: g * _aip(x))
_aip: Primitive = _part("airy", 1, lambda ans, x: lambda g: g * x * _ai(x))
_bi = _part("airy", 2, lambda ans, x: lambda g: g * _bip(x))
_bip: Primitive = _part("airy", 3, lambda ans, x: lambda g: g * x * _bi(x))


def sici(x: Any) -> tuple[Any, Any]:
    """The sine and the cosine integral; derivatives `sin x / x` and `cos x / x`."""
    return _si(x), _ci(x)


def shichi(x: Any) -> tuple[Any, Any]:
    """The hyperbolic sine and cosine integral; derivatives `sinh x / x` and `cosh x / x`."""
    return _shi(x), _chi(x)


def fresnel(x: Any) -> tuple[Any, Any]:
    """Fresnel's sine and cosine integral, of `sin(π t² / 2)` and `cos(π t² / 2)`."""
    return _sine(x), _cosine(x)


def airy(x: Any) -> tuple[Any, Any, Any, Any]:
    """`(Ai, Ai', Bi, Bi')`; the derivative of `Ai'` is `x Ai`."""
    return _ai(x), _aip(x), _bi(x), _bip(x)
