"""Decompositions of `scipy.linalg` that are recorded step by step: RQ, Hessenberg, LDL.

Invariant: everything is composed of operations, so derivatives of every order exist, for real and
complex matrices. An error for a missing derivative says what to use instead.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd import _core
from ferrograd._core import Tensor, asarray, is_grad_enabled
from ferrograd._dispatch.detach import detach_tensors
from ferrograd.errors import ArgumentError, NotDifferentiableError, ShapeError
from ferrograd.scipy._conversions import as_floats, detach
from ferrograd.scipy._lu_polar import adjoint
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy._wrappers import wrap_operation

_qr = wrap_operation(_core._namespaces["linalg"]["qr"], "qr")


def _check_matrix(name: str, a: Any, square: bool = False) -> Any:
    a = as_floats(a)
    if np.ndim(a) != 2 or (square and np.shape(a)[0] != np.shape(a)[1]):
        kind = "square matrix" if square else "matrix"
        raise ShapeError(f"{name}: a has shape {np.shape(a)}; give one {kind}")
    return a


def _to_array(a: Any) -> Any:
    return numpy.asarray(detach_tensors(detach(a)))


def rq(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    check_finite: bool = True,
) -> Any:
    """`(r, q)` with `a = r @ q`: r is upper triangular at the right, q has orthonormal rows.

    Modes are "full", "economic" and "r", which returns only `r`. Differentiable if the last rows of
    `a` are independent. Errors: `NotDifferentiableError` for the full factors of a matrix with more
    columns than rows, because the additional rows of `q` are arbitrary.

    >>> from ferrograd.scipy import linalg
    >>> r, q = linalg.rq(fg.tensor([[1.0, 2.0], [0.0, 4.0]]))
    >>> bool(np.allclose(r @ q, [[1.0, 2.0], [0.0, 4.0]]))
    True
    """
    if mode not in ("full", "economic", "r"):
        raise ArgumentError(f"rq: mode is {mode!r}; give 'full', 'economic' or 'r'")
    a = _check_matrix("rq", a)
    if not isinstance(a, Tensor):
        return get_scipy_function("linalg.rq")(a, overwrite_a, lwork, mode, check_finite)
    rows, columns = a.shape
    if rows < columns and mode != "economic":
        raise NotDifferentiableError(
            f"rq: a of shape {tuple(a.shape)} has more columns than rows, and mode {mode!r} asks"
            " for rows of q that no derivative determines; use mode='economic'"
        )
    part = a[rows - min(rows, columns) :]
    first, second = _qr(adjoint(np.flip(part, 0)))
    q, r = np.flip(adjoint(first), 0), np.flip(adjoint(second), (0, 1))
    theirs = get_scipy_function("linalg.rq")(_to_array(part), mode="economic")[0]
    mine = numpy.diagonal(_to_array(r))
    turn = numpy.where(mine == 0, 1.0, numpy.diagonal(theirs) / numpy.where(mine == 0, 1.0, mine))
    q = (turn.conj() / abs(turn) ** 2)[:, None] * q
    r = np.triu(a @ adjoint(q), min(rows, columns) - rows)
    return r if mode == "r" else (r, q)


def _compute_reflector(x: Any) -> tuple[Any, Any] | None:
    """LAPACK's `tau` and `v` of the Householder reflection that maps a vector to its first axis."""
    known = _to_array(x)
    if not numpy.any(known[1:]) and not numpy.any(known[0].imag):
        return None
    sign = -1.0 if known[0].real >= 0 else 1.0
    beta = sign * np.sqrt(np.sum(np.real(x * np.conj(x))))
    v = np.concatenate([np.ones(1, x.dtype), x[1:] / (x[0] - beta)])
    return (beta - x[0]) / beta, v


def hessenberg(
    a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """`h` with zeros below its first subdiagonal, or `(h, q)` with `a = q @ h @ q.conj().T`.

    By Householder's reflections with LAPACK's signs. Differentiable where no column below the
    subdiagonal vanishes beforehand.

    >>> from ferrograd.scipy import linalg
    >>> a = fg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [3.0, 8.0, 9.0]])
    >>> linalg.hessenberg(a)[1, 0].item()
    -5.0
    """
    h = _check_matrix("hessenberg", a, square=True)
    if not isinstance(h, Tensor):
        return get_scipy_function("linalg.hessenberg")(h, calc_q, overwrite_a, check_finite)
    n = h.shape[0]
    q = asarray(numpy.eye(n, dtype=h.dtype))
    for k in range(n - 1 if n > 2 else 0):
        found = _compute_reflector(h[k + 1 :, k])
        if found is None:
            continue
        tau, v = found
        below = h[k + 1 :]
        h = np.concatenate([h[: k + 1], below - np.conj(tau) * np.outer(v, np.conj(v) @ below)])
        right = h[:, k + 1 :]
        h = np.concatenate([h[:, : k + 1], right - tau * np.outer(right @ v, np.conj(v))], 1)
        turned = q[:, k + 1 :]
        q = np.concatenate([q[:, : k + 1], turned - tau * np.outer(turned @ v, np.conj(v))], 1)
    h = np.triu(h, -1)
    return (h, q) if calc_q else h


def ldl(
    A: Any,
    lower: bool = True,
    hermitian: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[Any, Any, Any]:
    """`(lu, d, perm)` with `A = lu @ d @ lu.conj().T`, of a symmetric or hermitian matrix.

    `lu[perm]` is triangular and `d` has blocks of one or two rows; both, and the pivots, are
    LAPACK's, which are constants for the derivative. One triangle of `A` is read.

    >>> from ferrograd.scipy import linalg
    >>> a = fg.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> linalg.ldl(a)[1].tolist()
    [[2.0, 0.0], [0.0, 2.5]]
    """
    a = _check_matrix("ldl", A, square=True)
    if not isinstance(a, Tensor):
        return tuple(
            get_scipy_function("linalg.ldl")(a, lower, hermitian, overwrite_a, check_finite)
        )

    def transpose(m: Any) -> Any:
        return adjoint(m) if hermitian else m.T

    strict = np.tril(a, -1) if lower else np.triu(a, 1)
    middle = np.diag(np.real(np.diag(a)).astype(a.dtype) if hermitian else np.diag(a))
    whole = strict + middle + transpose(strict)
    _, blocks, order = get_scipy_function("linalg.ldl")(_to_array(whole), lower, hermitian)
    rest = whole[order][:, order]
    if not lower:
        rest, blocks = np.flip(rest, (0, 1)), blocks[::-1, ::-1]
    low, d = _eliminate(rest, blocks, transpose)
    if not lower:
        low, d = np.flip(low, (0, 1)), np.flip(d, (0, 1))
    return low[numpy.argsort(order)], d, order


def _eliminate(rest: Any, blocks: Any, transpose: Any) -> tuple[Any, Any]:
    """The unit triangular factor and the diagonal blocks, at LAPACK's positions."""
    n = len(blocks)
    columns, diagonal, k = [], [], 0
    while k < n:
        size = 2 if k + 1 < n and (blocks[k + 1, k] != 0 or blocks[k, k + 1] != 0) else 1
        own, below = rest[:size, :size], rest[size:, :size]
        step = np.linalg.solve(own.T, below.T).T
        unit = np.concatenate([np.eye(size, dtype=rest.dtype), step])
        columns.append(np.pad(unit, ((k, 0), (0, 0))))
        diagonal.append(np.pad(own, ((k, n - k - size), (0, 0))))
        rest = rest[size:, size:] - step @ own @ transpose(step)
        k += size
    return np.concatenate(columns, 1), np.concatenate(diagonal, 1)


def _check_constant(name: str, instead: str, *values: Any) -> None:
    if is_grad_enabled() and any(isinstance(v, Tensor) and v.requires_grad for v in values):
        raise NotDifferentiableError(
            f"{name}: a matrix requires grad, and its factors have no derivative here; use"
            f" {instead}, or pass t.detach()"
        )


def qz(A: Any, B: Any, *args: Any, **options: Any) -> Any:
    """SciPy's generalised Schur form, of constants."""
    _check_constant("qz", "linalg.schur(linalg.solve(B, A)) or linalg.eigvals of that", A, B)
    return get_scipy_function("linalg.qz")(_to_array(A), _to_array(B), *args, **options)


def cossin(X: Any, *args: Any, **options: Any) -> Any:
    """SciPy's cosine-sine decomposition, of constants."""
    blocks = X if isinstance(X, tuple | list) else [X]
    _check_constant("cossin", "linalg.svdvals of a block, whose values are the cosines", *blocks)
    given = tuple(map(_to_array, X)) if isinstance(X, tuple) else _to_array(X)
    return get_scipy_function("linalg.cossin")(given, *args, **options)
