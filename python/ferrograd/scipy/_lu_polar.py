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
from ferrograd.scipy._closed_over import fixed, floats
from ferrograd.scipy._computed_by_scipy import library, of_scipy
from ferrograd.scipy._options import plain_only
from ferrograd.scipy._wrappers import face

_triangular = face(_core._namespaces["linalg"]["solve_triangular"], "solve_triangular")
_pinv = face(_core._namespaces["linalg"]["pinv"], "pinv")
_split = face(_core._namespaces["linalg"]["lu"], "lu")

_sylvester: Any = of_scipy(
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
    matrices = [floats(m) for m in (a, b, q)]
    if any(map(np.iscomplexobj, matrices)):
        matrices = [m if np.iscomplexobj(m) else m + 0j for m in matrices]
    return _sylvester(*matrices)


@primitive
def _root(a: Any) -> Any:
    return library("linalg.sqrtm")(a)


def _of_root(ans: Any, a: Any) -> Callable[[Any], Any]:
    """`yᵀ s + s yᵀ = g`: unlike the root of a block matrix, it holds on the branch cut."""
    return lambda g: _sylvester(ans.T, ans.T, g)


defvjp(_root, _of_root)


def root_on_the_cut(a: Any) -> Any:
    """The complex root of one matrix, or of each in a stack, with negative eigenvalues."""
    if np.ndim(a) == 2:
        return _root(a)
    return np.stack([root_on_the_cut(m) for m in a])


def adjoint(a: Any) -> Any:
    """The conjugate transposes of matrices."""
    return np.conj(np.swapaxes(a, -1, -2))


def _along(rule: Callable[..., Callable[[Any], Any]]) -> Callable[..., Any]:
    """The rule of one that is written for gradients along the steepest ascent, with adjoints."""

    def rule_of(*args: Any) -> Callable[[Any], Any]:
        pull = rule(*args)
        return lambda g: np.conj(pull(np.conj(g)))

    return rule_of


def _triangles(name: str, a: Any) -> tuple[Any, Any, Any]:
    """The factors of the rows in their new order, and that order."""
    a = floats(a)
    if np.ndim(a) != 2:
        raise ArgumentError(f"{name}: a has shape {np.shape(a)}; give one matrix")
    order = library("linalg.lu")(numpy.asarray(fixed(a)), p_indices=True)[0]
    order = numpy.argsort(order)
    return *_split(a[order], pivot=False)[1:], order


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
    lower, upper, order = _triangles("lu", a)
    back = numpy.argsort(order)
    if permute_l:
        return lower[back], upper
    if p_indices:
        return back, lower, upper
    return numpy.eye(len(back))[back], lower, upper


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """`(lu, piv)` for `lu_solve`: both factors of a square matrix in one, and LAPACK's pivots."""
    lower, upper, _ = _triangles("lu_factor", a)
    if np.shape(lower) != np.shape(upper):
        raise ArgumentError(f"lu_factor: a has shape {np.shape(a)}; give a square matrix")
    pivots = library("linalg.lu_factor")(numpy.asarray(fixed(floats(a))))[1]
    return np.tril(lower, -1) + upper, pivots


def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0, **options: Any) -> Any:
    """The solution of `a x = b`, `aᵀ x = b` or `aᴴ x = b` from the result of `lu_factor`."""
    factors, pivots = lu_and_piv
    plain_only("lu_solve", options, factors, b)
    order = numpy.arange(len(pivots))
    for k, pivot in enumerate(numpy.asarray(pivots)):
        order[[k, pivot]] = order[[pivot, k]]
    b = floats(b)
    if trans == 0:
        half = _triangular(factors, b[order], 0, True, True)
        return _triangular(factors, half, 0, False, False)
    half = _triangular(factors, b, trans, False, False)
    return _triangular(factors, half, trans, True, True)[numpy.argsort(order)]


@primitive
def unitary_factor(a: Any) -> Any:
    """The factor with orthonormal columns of a matrix that has as many rows as columns or more."""
    return library("linalg.polar")(a)[0]


def _of_unitary(ans: Any, a: Any) -> Callable[[Any], Any]:
    """By `z p + p z = uᴴ g`: `u (z - zᴴ) + (1 - u uᴴ) g p⁻¹`; no quotient of equal values."""

    def pull(g: Any) -> Any:
        p = adjoint(ans) @ a
        p = (p + adjoint(p)) / 2
        inner = adjoint(ans) @ g
        z = solve_sylvester(p, p, inner)
        rest = adjoint(np.linalg.solve(p, adjoint(g - ans @ inner)))
        return ans @ (z - adjoint(z)) + rest

    return pull


defvjp(unitary_factor, _along(_of_unitary))


def polar(a: Any, side: str = "right") -> tuple[Any, Any]:
    """`(u, p)` with `a = u p`, or `a = p u` for `side="left"`: unitary and positive semidefinite.

    Differentiable where `a` has full rank, equal singular values included.
    """
    if side not in ("left", "right"):
        raise ArgumentError(f"polar: side is {side!r}; give 'left' or 'right'")
    a = floats(a)
    tall = np.shape(a)[0] >= np.shape(a)[1]
    u = unitary_factor(a) if tall else adjoint(unitary_factor(adjoint(a)))
    p = adjoint(u) @ a if side == "right" else a @ adjoint(u)
    return u, (p + adjoint(p)) / 2


def orthogonal_procrustes(a: Any, b: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The orthogonal `r` that brings `a @ r` nearest to `b`, and the sum of singular values."""
    inner = floats(a).T @ np.conj(floats(b)) if np.iscomplexobj(a) else floats(a).T @ floats(b)
    u = unitary_factor(inner)
    return u, np.real(np.trace(adjoint(u) @ inner))


@primitive
def _null_basis(a: Any, rcond: Any) -> Any:
    return library("linalg.null_space")(a, rcond)


defvjp(
    _null_basis,
    _along(lambda ans, a, rcond: lambda g: -adjoint(_pinv(a)) @ g @ adjoint(ans)),
    argnums=[0],
)


def null_space(a: Any, rcond: Any = None, **options: Any) -> Any:
    """An orthonormal basis of the null space of `a`.

    The derivative is that of the space: the basis moves as little as possible. It is exact for
    functions that do not depend on the choice of a basis, such as the projector `n @ n.conj().T`.
    """
    plain_only("null_space", options, a)
    return _null_basis(floats(a), rcond)


@primitive
def _range_basis(a: Any, rcond: Any) -> Any:
    return library("linalg.orth")(a, rcond)


def _of_range(ans: Any, a: Any, rcond: Any) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        moved = g - ans @ (adjoint(ans) @ g)
        return moved @ adjoint(_pinv(a) @ ans)

    return pull


defvjp(_range_basis, _along(_of_range), argnums=[0])


def orth(a: Any, rcond: Any = None) -> Any:
    """An orthonormal basis of the range of `a`; the derivative is as for `null_space`."""
    return _range_basis(floats(a), rcond)
