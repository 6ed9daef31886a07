"""Factors of `scipy.linalg`: LU, polar, bases of spaces.

SciPy computes; pivots are constants. Invariant: a rule is composed of operations, so derivatives of
every order exist, for real and complex matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd import _core
from ferrograd.errors import ArgumentError
from ferrograd.extend import defvjp, primitive
from ferrograd.scipy._conversions import as_floats, detach
from ferrograd.scipy._linalg_options import check_options
from ferrograd.scipy._scipy_primitives import get_scipy_function, make_scipy_primitive
from ferrograd.scipy._wrappers import wrap_operation

_triangular = wrap_operation(_core._namespaces["linalg"]["solve_triangular"], "solve_triangular")
_pinv = wrap_operation(_core._namespaces["linalg"]["pinv"], "pinv")
_lu = wrap_operation(_core._namespaces["linalg"]["lu"], "lu")

_sylvester: Any = make_scipy_primitive(
    "linalg.solve_sylvester",
    lambda ans, a, b, q: lambda g: -_sylvester(a.T, b.T, g) @ ans.T,
    lambda ans, a, b, q: lambda g: -ans.T @ _sylvester(a.T, b.T, g),
    lambda ans, a, b, q: lambda g: _sylvester(a.T, b.T, g),
)


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """The solution of `a x + x b = q`.

    SciPy's function is wrong for a real matrix with complex eigenvalues and complex operands, so
    all three are converted to one dtype.
    """
    matrices = [as_floats(m) for m in (a, b, q)]
    if any(map(np.iscomplexobj, matrices)):
        matrices = [m if np.iscomplexobj(m) else m + 0j for m in matrices]
    return _sylvester(*matrices)


@primitive
def _sqrtm(a: Any) -> Any:
    return get_scipy_function("linalg.sqrtm")(a)


def _sqrtm_vjp(ans: Any, a: Any) -> Callable[[Any], Any]:
    """`yᵀ s + s yᵀ = g`: unlike the root of a block matrix, it holds on the branch cut."""
    return lambda g: _sylvester(ans.T, ans.T, g)


defvjp(_sqrtm, _sqrtm_vjp)


def sqrtm_on_branch_cut(a: Any) -> Any:
    """The complex root of one matrix, or of each in a stack, with negative eigenvalues."""
    if np.ndim(a) == 2:
        return _sqrtm(a)
    return np.stack([sqrtm_on_branch_cut(m) for m in a])


def adjoint(a: Any) -> Any:
    """The conjugate transposes of matrices."""
    return np.conj(np.swapaxes(a, -1, -2))


def _conjugate_rule(rule: Callable[..., Callable[[Any], Any]]) -> Callable[..., Any]:
    """Converts a rule for conjugated gradients (steepest ascent) to the convention used here."""

    def conjugated_rule(*args: Any) -> Callable[[Any], Any]:
        pull = rule(*args)
        return lambda g: np.conj(pull(np.conj(g)))

    return conjugated_rule


def _compute_lu(name: str, a: Any) -> tuple[Any, Any, Any]:
    """The factors of the permuted rows, and the permutation."""
    a = as_floats(a)
    if np.ndim(a) != 2:
        raise ArgumentError(f"{name}: a has shape {np.shape(a)}; give one matrix")
    order = get_scipy_function("linalg.lu")(numpy.asarray(detach(a)), p_indices=True)[0]
    order = numpy.argsort(order)
    return *_lu(a[order], pivot=False)[1:], order


def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Any, ...]:
    """`(p, l, u)` with `a = p @ l @ u`, or `(p @ l, u)` with `permute_l`.

    Pivots are constants: the derivative is that of the factors with their rows in this order.
    """
    lower, upper, order = _compute_lu("lu", a)
    back = numpy.argsort(order)
    if permute_l:
        return lower[back], upper
    if p_indices:
        return back, lower, upper
    return numpy.eye(len(back))[back], lower, upper


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """`(lu, piv)` for `lu_solve`: both factors of a square matrix in one, and LAPACK's pivots."""
    lower, upper, _ = _compute_lu("lu_factor", a)
    if np.shape(lower) != np.shape(upper):
        raise ArgumentError(f"lu_factor: a has shape {np.shape(a)}; give a square matrix")
    pivots = get_scipy_function("linalg.lu_factor")(numpy.asarray(detach(as_floats(a))))[1]
    return np.tril(lower, -1) + upper, pivots


def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0, **options: Any) -> Any:
    """The solution of `a x = b`, `aᵀ x = b` or `aᴴ x = b` from the result of `lu_factor`."""
    factors, pivots = lu_and_piv
    check_options("lu_solve", options, factors, b)
    order = numpy.arange(len(pivots))
    for k, pivot in enumerate(numpy.asarray(pivots)):
        order[[k, pivot]] = order[[pivot, k]]
    b = as_floats(b)
    if trans == 0:
        half = _triangular(factors, b[order], 0, True, True)
        return _triangular(factors, half, 0, False, False)
    half = _triangular(factors, b, trans, False, False)
    return _triangular(factors, half, trans, True, True)[numpy.argsort(order)]


@primitive
def compute_unitary_factor(a: Any) -> Any:
    """The factor with orthonormal columns of a matrix with at least as many rows as columns."""
    return get_scipy_function("linalg.polar")(a)[0]


def _unitary_factor_vjp(ans: Any, a: Any) -> Callable[[Any], Any]:
    """By `z p + p z = uᴴ g`: `u (z - zᴴ) + (1 - u uᴴ) g p⁻¹`; no quotient of equal values."""

    def pull(g: Any) -> Any:
        p = adjoint(ans) @ a
        p = (p + adjoint(p)) / 2
        inner = adjoint(ans) @ g
        z = solve_sylvester(p, p, inner)
        rest = adjoint(np.linalg.solve(p, adjoint(g - ans @ inner)))
        return ans @ (z - adjoint(z)) + rest

    return pull


defvjp(compute_unitary_factor, _conjugate_rule(_unitary_factor_vjp))


def polar(a: Any, side: str = "right") -> tuple[Any, Any]:
    """`(u, p)` with `a = u p`, or `a = p u` for `side="left"`: unitary and positive semidefinite.

    Differentiable where `a` has full rank, equal singular values included.
    """
    if side not in ("left", "right"):
        raise ArgumentError(f"polar: side is {side!r}; give 'left' or 'right'")
    a = as_floats(a)
    tall = np.shape(a)[0] >= np.shape(a)[1]
    u = compute_unitary_factor(a) if tall else adjoint(compute_unitary_factor(adjoint(a)))
    p = adjoint(u) @ a if side == "right" else a @ adjoint(u)
    return u, (p + adjoint(p)) / 2


def orthogonal_procrustes(a: Any, b: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The orthogonal `r` that brings `a @ r` nearest to `b`, and the sum of singular values."""
    inner = (
        as_floats(a).T @ np.conj(as_floats(b))
        if np.iscomplexobj(a)
        else as_floats(a).T @ as_floats(b)
    )
    u = compute_unitary_factor(inner)
    return u, np.real(np.trace(adjoint(u) @ inner))


@primitive
def _null_space(a: Any, rcond: Any) -> Any:
    return get_scipy_function("linalg.null_space")(a, rcond)


defvjp(
    _null_space,
    _conjugate_rule(lambda ans, a, rcond: lambda g: -adjoint(_pinv(a)) @ g @ adjoint(ans)),
    argnums=[0],
)


def null_space(a: Any, rcond: Any = None, **options: Any) -> Any:
    """An orthonormal basis of the null space of `a`.

    The derivative is that of the space: the basis moves as little as possible. It is exact for
    functions that do not depend on the choice of a basis, such as the projector `n @ n.conj().T`.
    """
    check_options("null_space", options, a)
    return _null_space(as_floats(a), rcond)


@primitive
def _orth(a: Any, rcond: Any) -> Any:
    return get_scipy_function("linalg.orth")(a, rcond)


def _orth_vjp(ans: Any, a: Any, rcond: Any) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        moved = g - ans @ (adjoint(ans) @ g)
        return moved @ adjoint(_pinv(a) @ ans)

    return pull


defvjp(_orth, _conjugate_rule(_orth_vjp), argnums=[0])


def orth(a: Any, rcond: Any = None) -> Any:
    """An orthonormal basis of the range of `a`; the derivative is as for `null_space`."""
    return _orth(as_floats(a), rcond)
