"""Functions that are real in ferrograd, extended to complex numbers as in SciPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ferrograd.numpy as np
from ferrograd.scipy._scipy_primitives import make_scipy_primitive


def add_complex_support(ours: Callable[..., Any], name: str, *rules: Any) -> Callable[..., Any]:
    """Calls `ours` with real arguments, SciPy's function if one is complex.

    `rules` are the derivatives of the latter, as in `make_scipy_primitive`.
    """
    theirs = make_scipy_primitive(f"special.{name}", *rules)

    @functools.wraps(ours)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if any(map(np.iscomplexobj, args)):
            return theirs(*args, **kwargs)
        return ours(*args, **kwargs)

    return wrapped


def trigamma(z: Any) -> Any:
    """The derivative of `digamma` at complex numbers, by DLMF 5.15.8 beyond a real part of 15.

    Arguments are moved there by 5.15.5, and from the left half-plane by 5.15.6. Composed of
    operations, so derivatives of every order exist.
    """
    left = np.real(z) < 0.5
    right = np.where(left, 1.0 - z, z)
    found = sum(1.0 / (right + k) ** 2 for k in range(15))
    inverse = 1.0 / (right + 15)
    square = inverse * inverse
    series = 0.0
    for factor in (5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6):
        series = series * square + factor
    found = found + inverse + square * (0.5 + series * inverse)
    turn = np.pi / np.sin(np.pi * np.where(left, z, 0.5))
    return np.where(left, turn * turn - found, found)
