"""Derivatives of hypergeometric and zeta functions with respect to real parameters.

The error is 1e-8 of the function or of the derivative. If the terms cancel further, or more than
`_MAX_TERMS` of them are needed, the derivative is refused. Invariant: everything is composed of
operations, so derivatives of every order exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.errors import NotDifferentiableError
from ferrograd.scipy._conversions import detach, to_float_array
from ferrograd.scipy.special._elementary import gammaln
from ferrograd.transforms import make_vjp

np: Any = _ferrograd_numpy

#: Terms at most.
_MAX_TERMS = 20000


def _hypergeometric_series(over: Sequence[Any], under: Sequence[Any], z: Any, count: int) -> Any:
    """`Σ (a)_k … / ((b)_k … k!) zᵏ` of the parameters over and under the line."""
    k = numpy.arange(count, dtype=float)
    factors = z[..., None] / (k + 1.0)
    for a in over:
        factors = factors * (a[..., None] + k)
    for b in under:
        factors = factors / (b[..., None] + k)
    return 1.0 + np.sum(np.cumprod(factors, -1), -1)


def _max_abs(*values: Any) -> float:
    return max(
        float(numpy.abs(to_float_array(v)[numpy.isfinite(to_float_array(v))]).max(initial=0.0))
        for v in values
    )


def _check_term_count(name: str, count: float, what: str) -> int:
    if not count <= _MAX_TERMS:
        raise NotDifferentiableError(
            f"{name}: the derivative by a parameter needs more than {_MAX_TERMS} terms of its"
            f" series where {what}; pass the parameters detached"
        )
    return math.ceil(count)


def _hyp2f1(a: Any, b: Any, c: Any, z: Any) -> Any:
    """`hyp2f1`: the series, of `z / (z - 1)` where `z` is negative."""
    low = detach(z) < 0
    w = np.where(low, z / (z - 1.0), z)
    far = _max_abs(w)
    if far >= 1:
        count = math.inf
    else:
        falls = max(-math.log(max(far, 1e-16)), 1e-9)
        count = 40 + 2 * _max_abs(a, b, c) + 45 / falls
        # The terms of the derivative grow as this power of their number before they fall.
        count += (_max_abs(a + b - c, c - a - b) + 2) * math.log(count) / falls
    count = _check_term_count("hyp2f1", count, f"z / (z - 1) or z is {far:.6g}")
    found = _hypergeometric_series((a, np.where(low, c - b, b)), (c,), w, count)
    return np.where(low, np.where(low, 1.0 - z, 1.0) ** -a, 1.0) * found


def _hyp1f1(a: Any, b: Any, z: Any) -> Any:
    """`hyp1f1`: the series, of `-z` where `z` is negative."""
    low = detach(z) < 0
    count = 60 + 3 * _max_abs(z) + _max_abs(a, b)
    count = _check_term_count("hyp1f1", count, f"x is {_max_abs(z):.6g}")
    found = _hypergeometric_series((np.where(low, b - a, a),), (b,), np.abs(z), count)
    return np.where(low, np.exp(np.where(low, z, 0.0)), 1.0) * found


def _check_digits(name: str, value: Any, ans: Any) -> None:
    """Refuses a series with cancelling terms: its value would differ from SciPy's."""
    ours, theirs = to_float_array(value), to_float_array(ans)
    wrong = ~(numpy.abs(ours - theirs) <= 1e-8 * numpy.abs(theirs)) & numpy.isfinite(theirs)
    if numpy.any(wrong):
        raise NotDifferentiableError(
            f"{name}: the series of the derivative by a parameter loses its digits: it gives"
            f" {ours[wrong].flat[0]} where the function is {theirs[wrong].flat[0]}; pass the"
            " parameters detached"
        )


def _hyp0f1(v: Any, z: Any) -> Any:
    """`hyp0f1`: the series."""
    count = 60 + 4 * math.sqrt(_max_abs(z)) + 2 * _max_abs(v)
    count = _check_term_count("hyp0f1", count, f"z is {_max_abs(z):.6g}")
    return _hypergeometric_series((), (v,), z, count)


#: Double exponential quadrature on the half line: nodes and weights.
_STEP = 0.03
_TAU = numpy.arange(-5.6, 2.2, _STEP)
_NODES = numpy.exp(math.pi / 2 * numpy.sinh(_TAU))
_WEIGHTS = _STEP * math.pi / 2 * numpy.cosh(_TAU) * _NODES


def _hyperu(a: Any, b: Any, x: Any) -> Any:
    """`hyperu`: `x**-a / Γ(a) ∫ e**-u u**(a - 1) (1 + u / x)**(b - a - 1) du` (DLMF 13.4.4).

    For `a` of 0 and below by DLMF 13.2.40, where `a - b + 1` is positive, else NaN.
    """
    turn = detach(a) <= 0
    first, second = np.where(turn, a - b + 1.0, a), np.where(turn, 2.0 - b, b)
    inside = (detach(x) > 0) & (detach(first) > 0)
    first, at = np.where(inside, first, 1.0), np.where(inside, x, 1.0)
    power = (second - first - 1.0)[..., None]
    logs = (first[..., None] - 1.0) * numpy.log(_NODES) - gammaln(first)[..., None]
    term = np.exp(logs - _NODES + power * np.log1p(_NODES / at[..., None]))
    found = np.sum(_WEIGHTS * term, -1) * at**-first
    return np.where(inside, np.where(turn, at ** (1.0 - b), 1.0) * found, numpy.nan)


#: Even Bernoulli numbers over factorials.
_BERNOULLI = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
)


def _zeta(s: Any, q: Any) -> Any:
    """`zeta` by Euler and Maclaurin's formula (DLMF 25.11.5)."""
    count = 12 + _check_term_count("zeta", _max_abs(s) / 2, f"x is {_max_abs(s):.6g}")
    places = q[..., None] + numpy.arange(count, dtype=float)
    end = q + float(count)
    found = np.sum(places ** -s[..., None], -1) + end ** (1.0 - s) / (s - 1.0) + end**-s / 2
    factor, power = s, end ** (-s - 1.0)
    for k, number in enumerate(_BERNOULLI):
        found = found + number * factor * power
        factor = factor * (s + 2.0 * k + 1.0) * (s + 2.0 * k + 2.0)
        power = power / (end * end)
    return found


_FORMULAS: dict[str, Callable[..., Any]] = {
    "hyp2f1": _hyp2f1,
    "hyp1f1": _hyp1f1,
    "hyp0f1": _hyp0f1,
    "hyperu": _hyperu,
    "zeta": _zeta,
}


def make_parameter_rule(name: str, argnum: int) -> Callable[..., Any]:
    """Makes the derivative rule of a function by one of its parameters."""

    def rule(ans: Any, *args: Any) -> Callable[[Any], Any]:
        def pull(g: Any) -> Any:
            if any(numpy.iscomplexobj(detach(value)) for value in args):
                raise NotDifferentiableError(
                    f"{name}: a parameter requires grad and an argument is complex; the derivative"
                    " by parameters is written for real numbers only, pass them detached"
                )
            wide = np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in args))

            def of_one(value: Any) -> Any:
                given = [*wide[:argnum], value, *wide[argnum + 1 :]]
                return _FORMULAS[name](*given)

            back, value = make_vjp(of_one)(wide[argnum])
            _check_digits(name, value, ans)
            return back(g)

        return pull

    return rule
