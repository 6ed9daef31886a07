"""Special functions that SciPy computes: binomial coefficients, rising factorials and counts.

Invariant: a rule is finite wherever the derivative is, also where a gamma function has a pole.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd._core import is_grad_enabled
from ferrograd.errors import NotDifferentiableError
from ferrograd.extend import Primitive
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy._scipy_primitives import get_scipy_function, make_scipy_primitive
from ferrograd.scipy.special._distributions import gamma
from ferrograd.scipy.special._elementary import beta, psi

np: Any = _ferrograd_numpy

binom: Primitive = make_scipy_primitive(
    "special.binom",
    lambda ans, n, k: lambda g: g * _binom_derivatives(ans, n, k)[0],
    lambda ans, n, k: lambda g: g * _binom_derivatives(ans, n, k)[1],
)
poch: Primitive = make_scipy_primitive(
    "special.poch",
    lambda ans, z, m: lambda g: g * _poch_derivative(ans, z, m),
    lambda ans, z, m: lambda g: g * ans * _psi_of_sum(z, m),
)


def _is_pole(x: Any) -> Any:
    """Whether the gamma function has a pole."""
    return (x <= 0) & (x == np.floor(x))


def _binom_derivatives(ans: Any, n: Any, k: Any) -> tuple[Any, Any]:
    """The derivatives by both arguments; if a factor `1 / Γ` is 0, only it is differentiated.

    At `-j` that of `1 / Γ` is `cos(π j) Γ(j + 1)`, and the gamma functions together are a beta one.
    """
    ends, begins = _is_pole(n - k + 1.0), _is_pole(k + 1.0)
    # The distances of both from the nearest pole, for arguments that are not poles.
    rest, own = np.where(ends, 1.0, n - k + 1.0), np.where(begins, 1.0, k + 1.0)
    by_n, by_k = ans * (psi(n + 1.0) - psi(rest)), ans * (psi(rest) - psi(own))
    above = np.where(ends, k - n, 1.0)
    at_end = np.cos(math.pi * (above - 1.0)) * beta(np.where(ends, n, 0.0) + 1.0, above)
    below = np.where(begins, -k, 1.0)
    at_begin = np.cos(math.pi * (below - 1.0)) * beta(np.where(begins, n, 0.0) + 1.0, below)
    by_k = np.where(begins, at_begin, np.where(ends, -at_end, by_k))
    return np.where(ends, at_end, by_n), by_k


def _uses_reflection(z: Any, m: Any) -> Any:
    """Whether `ψ` is taken at `1 - z` and `1 - z - m`: by reflection a whole `m` adds nothing."""
    return (m == np.trunc(m)) & (z < 0.5) & (z + m < 0.5)


def _poch_derivative(ans: Any, z: Any, m: Any) -> Any:
    """The derivative by `z`, also where `1 / Γ(z)` is 0."""
    low = _uses_reflection(z, m)
    alone = _is_pole(z) & ~low
    first = np.where(low, z, 0.0)
    reflected = psi(1.0 - first - np.where(low, m, 0.0)) - psi(1.0 - first)
    plain = np.where(low | alone, 1.0, z)
    direct = psi(plain + np.where(low | alone, 1.0, m)) - psi(plain)
    pole = np.where(alone, z, 0.0)
    at_pole = np.cos(math.pi * pole) * gamma(1.0 - pole) * gamma(pole + np.where(alone, m, 1.0))
    return np.where(alone, at_pole, ans * np.where(low, reflected, direct))


def _psi_of_sum(z: Any, m: Any) -> Any:
    """`ψ(z + m)`, by the distance of `z` from a pole where that of the sum is the same."""
    low = _uses_reflection(z, m)
    first = np.where(low, z, 0.25)
    reflected = psi(1.0 - first - np.where(low, m, 0.0))
    reflected = reflected - math.pi / np.tan(math.pi * (first - np.rint(first)))
    return np.where(low, reflected, psi(np.where(low, 1.0, z) + np.where(low, 0.0, m)))


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """The number of combinations of `k` out of `N`, 0 if there are none; differentiable by both.

    With `exact`, SciPy's integers, without a derivative.
    """
    if exact:
        _check_constant("comb", N, k)
        return get_scipy_function("special.comb")(N, k, exact=True, repetition=repetition)
    N, k = as_floats(N), as_floats(k)
    if repetition:
        empty = (k == 0) & (N >= 0)
        found = binom(np.where(empty, 1.0, N + k - 1.0), np.where(empty, 0.0, k))
    else:
        found = _count_where_valid(binom, N, k)
    return found[()] if isinstance(found, numpy.ndarray) else found


def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """The number of permutations of `k` out of `N`; the rest is as in `comb`."""
    if exact:
        _check_constant("perm", N, k)
        return get_scipy_function("special.perm")(N, k, exact=True)
    found = _count_where_valid(lambda n, m: poch(n - m + 1.0, m), as_floats(N), as_floats(k))
    return found[()] if isinstance(found, numpy.ndarray) else found


def _check_constant(name: str, *numbers: Any) -> None:
    """Refuses arguments that require grad for integer results."""
    if is_grad_enabled() and any(getattr(number, "requires_grad", False) for number in numbers):
        raise NotDifferentiableError(
            f"{name}: exact=True gives whole numbers, which have no derivative, and an argument"
            " requires grad; leave exact out, or pass x.detach()"
        )


def _count_where_valid(count: Any, n: Any, k: Any) -> Any:
    there = (k <= n) & (n >= 0) & (k >= 0)
    return np.where(there, count(np.where(there, n, 1.0), np.where(there, k, 0.0)), 0.0)
