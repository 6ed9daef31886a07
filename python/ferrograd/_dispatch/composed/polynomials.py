"""Composed functions of polynomials, which are vectors of coefficients, highest power first.

Invariant: results have the lengths of NumPy's results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray, concatenate
from ferrograd._dispatch.composed.registration import (
    check_unsupported,
    conjugate,
    make_refusal_error,
    register_composition,
    register_refusal,
    to_inexact,
)
from ferrograd._tensor.creation import parse_shape
from ferrograd.errors import ArgumentError, ShapeError

#: Integrals that one call of `polyint` takes: NumPy's recursion ends there as well.
MAX_INTEGRALS = 1000


def _to_coefficients(p: Any) -> Any:
    p = asarray(p)
    return p.reshape(-1) if p.ndim == 0 else p


def _make_zeros(count: int, like: Tensor) -> Tensor:
    return asarray(np.zeros(count, like.dtype))


def _pad_with_zeros(p: Tensor, size: int) -> Tensor:
    return p if len(p) == size else concatenate([_make_zeros(size - len(p), p), p])


def _check_order(name: str, m: Any) -> int:
    if m < 0:
        raise ArgumentError(f"numpy.{name}: m is {m}; give an order of at least 0")
    return int(m)


@register_composition("polyadd")
def polyadd(a1: Any, a2: Any) -> Tensor:
    """The sum of two polynomials."""
    a1, a2 = _to_coefficients(a1), _to_coefficients(a2)
    size = max(len(a1), len(a2))
    return _pad_with_zeros(a1, size) + _pad_with_zeros(a2, size)


@register_composition("polysub")
def polysub(a1: Any, a2: Any) -> Tensor:
    """The difference of two polynomials."""
    a1, a2 = _to_coefficients(a1), _to_coefficients(a2)
    size = max(len(a1), len(a2))
    return _pad_with_zeros(a1, size) - _pad_with_zeros(a2, size)


@register_composition("polymul")
def polymul(a1: Any, a2: Any) -> Tensor:
    """The product of two polynomials, which loses their leading zeros first."""
    return _core.convolve(
        _strip_leading_zeros(_to_coefficients(a1)), _strip_leading_zeros(_to_coefficients(a2))
    )


def _strip_leading_zeros(p: Tensor) -> Tensor:
    """Removes leading zeros; of zeros only, one is kept."""
    found = np.flatnonzero(p.detach().numpy())
    return p[int(found[0]) :] if len(found) else p[:1]


@register_composition("polydiv")
def polydiv(u: Any, v: Any) -> tuple[Tensor, Tensor]:
    """Quotient and remainder of two polynomials."""
    u, v = to_inexact(_to_coefficients(u)), to_inexact(_to_coefficients(v))
    if max(u.ndim, v.ndim) > 1:
        raise ShapeError(f"numpy.polydiv: shapes {u.shape} and {v.shape}; give vectors")
    steps = len(u) - len(v) + 1
    if steps < 1:
        return _make_zeros(1, u), u
    remainder, found = u, []
    for _ in range(steps):
        factor = remainder[0] / v[0]
        found.append(factor)
        remainder = concatenate([(remainder[: len(v)] - factor * v)[1:], remainder[len(v) :]])
    # NumPy cuts leading zeros of the remainder, to this tolerance.
    kept = remainder.detach().numpy()
    first = next((k for k, r in enumerate(kept) if not abs(r) <= 1e-8), max(len(kept) - 1, 0))
    rest = remainder[first:] if len(kept) else _make_zeros(1, u)
    return _core.stack(found), rest


@register_composition("polyder")
def polyder(p: Any, m: int = 1) -> Any:
    """The derivative of a polynomial."""
    p = _to_coefficients(p)
    # Beyond its degree a polynomial stays empty.
    for _ in range(min(_check_order("polyder", m), len(p))):
        p = p[:-1] * np.arange(len(p) - 1, 0, -1)
    return p


@register_composition("polyint")
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The integral of a polynomial, with constants."""
    p, m = to_inexact(_to_coefficients(p)), _check_order("polyint", m)
    if m > MAX_INTEGRALS:
        raise ArgumentError(
            f"numpy.polyint: m is {m}; integrate at most {MAX_INTEGRALS} times in one call"
        )
    constants = to_inexact(0.0 if k is None else k).reshape(-1)
    if len(constants) == 1 and m > 1:
        constants = constants * np.ones(m)
    if len(constants) < m:
        raise ValueError(
            f"numpy.polyint: {len(constants)} constants for {m} integrals; give one or one each"
        )
    for each in range(m):
        p = concatenate([p / np.arange(len(p), 0, -1), constants[each : each + 1]])
    return p


@register_composition("poly")
def poly(seq_of_zeros: Any) -> Tensor:
    """The polynomial with these roots."""
    roots = to_inexact(seq_of_zeros)
    if roots.ndim > 1:
        raise make_refusal_error(
            "poly",
            "of a matrix the characteristic polynomial is not written",
            "pass its eigenvalues, as np.linalg.eigvals gives them",
        )
    roots = roots.astype(np.mintypecode(roots.dtype.char))
    made = asarray(np.ones(1, roots.dtype))
    for root in roots.reshape(-1):
        made = concatenate([made, _make_zeros(1, made)]) - concatenate(
            [_make_zeros(1, made), root * made]
        )
    return made


@register_composition("vander")
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of a vector's elements as columns."""
    x = asarray(x)
    x = x.astype(np.promote_types(x.dtype, int))
    if x.ndim != 1:
        raise ShapeError(f"numpy.vander: x has {x.ndim} dimensions; give a vector")
    (count,) = parse_shape("numpy.vander", (len(x) if N is None else N,))
    made = compute_powers(x, count)
    return made if increasing else made.flip(1)


def compute_powers(x: Tensor, count: int) -> Tensor:
    """The powers 0 to `count` - 1 of each element in a further axis, by running products."""
    ones = asarray(np.ones((*x.shape, min(count, 1)), x.dtype))
    if count < 2:
        return ones
    rising = _core.cumprod(x[..., None].expand((*x.shape, count - 1)), -1)
    return concatenate([ones, rising.astype(x.dtype)], -1)


@register_composition("polyfit")
def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: Any = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """The polynomial of least squares through points."""
    check_unsupported("polyfit", full=full, cov=cov)
    x, y = to_inexact(x), to_inexact(y)
    columns = vander(x, deg + 1)
    if w is not None:
        weights = to_inexact(w)
        columns = columns * weights[:, None]
        y = y * (weights[:, None] if y.ndim > 1 else weights)
    scale = _core.sqrt((columns * conjugate(columns)).sum(0))
    tolerance = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    found = _core._namespaces["linalg"]["lstsq"](columns / scale, y, tolerance)[0]
    return found / (scale[:, None] if y.ndim > 1 else scale)


register_refusal(
    "roots",
    reason="roots are complex and have no derivative here; take np.linalg.eigvals of the companion"
    " matrix, or pass t.detach()",
)
