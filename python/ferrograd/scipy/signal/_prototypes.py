"""Analog low passes of frequency 1, which filters are designed from.

Source: S. J. Orfanidis, Lecture Notes on Elliptic Filter Design, 2006.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.errors import NotDifferentiableError
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._scipy_primitives import get_scipy_function

np: Any = _ferrograd_numpy


def make_prototype(ftype: str, order: int, rp: Any, rs: Any) -> tuple[Any, Any, Any]:
    """`(z, p, k)` of one of SciPy's families."""
    if ftype in ("cheby1", "chebyshev1", "chebyshevi"):
        return _cheb1ap(order, rp)
    if ftype in ("cheby2", "chebyshev2", "chebyshevii"):
        return _cheb2ap(order, rs)
    if ftype.startswith("bessel"):
        return _call_scipy("besselap", order, ftype.partition("_")[2] or "phase")
    if ftype.startswith("butter"):
        return _call_scipy("buttap", order)
    if holds_tensor([rp, rs]):
        raise NotDifferentiableError(
            "ellip: the ripples rp and rs have no derivative here; pass numbers, or detach()"
        )
    return _call_scipy("ellipap", order, rp, rs)


def _call_scipy(name: str, *args: Any) -> tuple[Any, Any, Any]:
    z, p, k = get_scipy_function(f"signal.{name}")(*args)
    return numpy.atleast_1d(z), numpy.atleast_1d(p), k


def _cheb1ap(order: int, rp: Any) -> tuple[Any, Any, Any]:
    ripple = np.sqrt(10.0 ** (0.1 * rp) - 1.0)
    if order == 0:
        return numpy.array([]), numpy.array([]), 10.0 ** (-rp / 20)
    angle = numpy.pi * numpy.arange(1 - order, order, 2) / (2 * order)
    p = -np.sinh(np.arcsinh(1.0 / ripple) / order + 1j * angle)
    k = np.real(np.prod(-p))
    return numpy.array([]), p, k if order % 2 else k / np.sqrt(1.0 + ripple * ripple)


def _cheb2ap(order: int, rs: Any) -> tuple[Any, Any, Any]:
    if order == 0:
        return numpy.array([]), numpy.array([]), 1.0
    places = numpy.arange(1 - order, order, 2)
    depth = np.arcsinh(np.sqrt(10.0 ** (0.1 * rs) - 1.0)) / order
    # For an odd order, the middle zero is at infinity.
    z = 1j / numpy.sin(places[places != 0] * numpy.pi / (2 * order))
    angle = numpy.pi * places / (2 * order)
    p = -1.0 / (np.sinh(depth) * numpy.cos(angle) + 1j * np.cosh(depth) * numpy.sin(angle))
    return -numpy.conj(z), p, np.real(np.prod(-p) / numpy.prod(-numpy.conj(z)))
