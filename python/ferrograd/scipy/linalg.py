"""`scipy.linalg` as far as ferrograd has derivatives."""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as np
from ferrograd import _core
from ferrograd.errors import MatrixError
from ferrograd.extend import Primitive as _Primitive
from ferrograd.scipy._decompositions import (
    cossin as cossin,
    hessenberg as hessenberg,
    ldl as ldl,
    qz as qz,
    rq as rq,
)
from ferrograd.scipy._linalg_options import (
    check_options as _no_options,
    compute_rank as _compute_rank,
    select_eigenvalues as _select_eigenvalues,
)
from ferrograd.scipy._lu_polar import (
    adjoint as _adjoint,
    lu as lu,
    lu_factor as lu_factor,
    lu_solve as lu_solve,
    null_space as null_space,
    orth as orth,
    orthogonal_procrustes as orthogonal_procrustes,
    polar as polar,
    solve_sylvester as solve_sylvester,
    sqrtm_on_branch_cut as _sqrtm_on_branch_cut,
)
from ferrograd.scipy._matrix_equations import (
    circulant as circulant,
    companion as companion,
    coshm as coshm,
    cosm as cosm,
    eigh_tridiagonal as eigh_tridiagonal,
    eigvalsh_tridiagonal as eigvalsh_tridiagonal,
    expm_frechet as expm_frechet,
    fiedler as fiedler,
    hankel as hankel,
    khatri_rao as khatri_rao,
    leslie as leslie,
    matmul_toeplitz as matmul_toeplitz,
    sinhm as sinhm,
    sinm as sinm,
    solve_continuous_are as solve_continuous_are,
    solve_continuous_lyapunov as solve_continuous_lyapunov,
    solve_discrete_are as solve_discrete_are,
    solve_discrete_lyapunov as solve_discrete_lyapunov,
    solve_lyapunov as solve_lyapunov,
    solve_toeplitz as solve_toeplitz,
    tanhm as tanhm,
    tanm as tanm,
    toeplitz as toeplitz,
)
from ferrograd.scipy._scipy_primitives import (
    make_scipy_getattr as _make_scipy_getattr,
    make_scipy_primitive as _make_scipy_primitive,
)
from ferrograd.scipy._wrappers import wrap_operation as _wrap_operation

__getattr__ = _make_scipy_getattr("linalg")

_namespace = _core._namespaces["linalg"]
_cholesky = _wrap_operation(_namespace["cholesky"], "cholesky")
_triangular = _wrap_operation(_namespace["solve_triangular"], "solve_triangular")

_det = _wrap_operation(_namespace["det"], "det")
_inv = _wrap_operation(_namespace["inv"], "inv")
_lstsq = _wrap_operation(_namespace["lstsq"], "lstsq")
_pinv = _wrap_operation(_namespace["pinv"], "pinv")
_svdvals = _wrap_operation(_namespace["svdvals"], "svdvals")
_eig = _wrap_operation(_namespace["eig"], "eig")
_eigvals = _wrap_operation(_namespace["eigvals"], "eigvals")
expm = _wrap_operation(_namespace["expm"], "expm")
_schur = _wrap_operation(_namespace["schur"], "schur")
_sqrtm = _wrap_operation(_namespace["sqrtm"], "sqrtm")
_logm = _wrap_operation(_namespace["logm"], "logm")


def det(a: Any, overwrite_a: bool = False, **options: Any) -> Any:
    """The determinant of a matrix."""
    _no_options("det", options, a)
    return _det(a)


def inv(a: Any, overwrite_a: bool = False, **options: Any) -> Any:
    """The inverse of a matrix."""
    _no_options("inv", options, a)
    return _inv(a)


def pinv(
    a: Any,
    rcond: Any = None,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: bool = False,
    **options: Any,
) -> Any:
    """The pseudoinverse; singular values up to `atol + rtol * s[0]` count as 0."""
    _no_options("pinv", options, a)
    rtol = rcond if rtol is None else rtol
    if atol is None and not return_rank:
        return _pinv(a, rtol)
    rank, least = _compute_rank("pinv", a, atol, rtol)
    return (_pinv(a, least), rank) if return_rank else _pinv(a, least)


def svdvals(a: Any, overwrite_a: bool = False, **options: Any) -> Any:
    """The singular values of a matrix."""
    _no_options("svdvals", options, a)
    return _svdvals(a)


def lstsq(a: Any, b: Any, cond: Any = None, **options: Any) -> Any:
    """`(x, residues, rank, s)`: the least-squares solution of `a x = b`."""
    _no_options("lstsq", options, a, b)
    return _lstsq(a, b, cond)


def eig(a: Any, b: Any = None, left: bool = False, right: bool = True, **options: Any) -> Any:
    """Eigenvalues and eigenvectors of a matrix, without `right` only the values."""
    _no_options("eig", {**options, "b": b, "left": left}, a)
    return _eig(a) if right else _eigvals(a)


def eigvals(a: Any, b: Any = None, overwrite_a: bool = False, **options: Any) -> Any:
    """The eigenvalues of a matrix."""
    _no_options("eigvals", {**options, "b": b}, a)
    return _eigvals(a)


def schur(a: Any, output: str = "real", lwork: Any = None, **options: Any) -> Any:
    """Schur decomposition `(t, z)` with `a = z t zᴴ`."""
    _no_options("schur", options, a)
    return _schur(a, output)


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, **options: Any) -> Any:
    """The triangular factor of a positive definite matrix, by default the upper one."""
    _no_options("cholesky", options, a)
    return _cholesky(a, upper=not lower)


#: The values of `assume_a`, and the triangle that is read.
_STRUCTURES = {
    **dict.fromkeys(("pos", "positive definite", "her", "hermitian"), "her"),
    **dict.fromkeys(("sym", "symmetric"), "sym"),
    **dict.fromkeys(("gen", "general", "diagonal", "tridiagonal", "banded"), "gen"),
    **dict.fromkeys(("upper triangular", "lower triangular"), "triangular"),
}


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    *,
    assume_a: Any = None,
    transposed: bool = False,
    **options: Any,
) -> Any:
    """The solution of `a x = b`, or of `aᵀ x = b`.

    If `assume_a` says that the matrix is symmetric, Hermitian, positive definite or triangular,
    only one triangle is read; other values change nothing.
    """
    _no_options("solve", options, a, b)
    a, b = np.asarray(a), np.asarray(b)
    if assume_a is not None and assume_a not in _STRUCTURES:
        raise ValueError(f"solve: assume_a is {assume_a!r}; give one of {', '.join(_STRUCTURES)}")
    kind = _STRUCTURES.get(assume_a)
    if kind in ("her", "sym"):
        a = _symmetrize(a, lower, kind == "her")
    elif kind == "triangular":
        a = np.triu(a) if assume_a[0] == "u" else np.tril(a)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, **options: Any
) -> Any:
    """The solution of `a x = b` for triangular `a`."""
    _no_options("solve_triangular", options, a, b)
    trans = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    return _triangular(a, b, trans, lower, unit_diagonal)


def cho_factor(a: Any, lower: bool = False, **options: Any) -> tuple[Any, bool]:
    """`(c, lower)` for `cho_solve`: the triangular factor, the other triangle zero."""
    _no_options("cho_factor", options, a)
    return cholesky(a, lower=lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, **options: Any) -> Any:
    """The solution of `a x = b` from the result of `cho_factor`."""
    c, lower = c_and_lower
    _no_options("cho_solve", options, c, b)
    half = solve_triangular(c, b, trans=0 if lower else 2, lower=lower)
    return solve_triangular(c, half, trans=2 if lower else 0, lower=lower)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, **options: Any) -> Any:
    """Singular value decomposition `(u, s, vh)`."""
    _no_options("svd", options, a)
    return np.linalg.svd(a, full_matrices, compute_uv)


def qr(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", **options: Any
) -> Any:
    """QR decomposition `(q, r)`, with `mode="r"` only `(r,)`."""
    _no_options("qr", options, a)
    if mode == "r":
        return (np.linalg.qr(a, "complete")[1],)
    return np.linalg.qr(a, {"full": "complete", "economic": "reduced"}.get(mode, mode))


def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    type: int = 1,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    **options: Any,
) -> Any:
    """Eigenvalues and eigenvectors of a Hermitian matrix, or of `a v = w b v`.

    A subset has the indices from `subset_by_index[0]` to `subset_by_index[1]`, or the values above
    `subset_by_value[0]` and up to `subset_by_value[1]`.
    """
    _no_options("eigh", {**options, "type": None if type == 1 else type}, a, b)
    values, vectors = _compute_eigh(a, b, lower, eigvals_only)
    return _select_eigenvalues(values, vectors, subset_by_index, subset_by_value)


def _compute_eigh(a: Any, b: Any, lower: bool, eigvals_only: bool) -> tuple[Any, Any]:
    """All eigenvalues, with eigenvectors unless only values are needed."""
    triangle = "L" if lower else "U"
    if b is None:
        if eigvals_only:
            return np.linalg.eigvalsh(a, triangle), None
        values, vectors = np.linalg.eigh(a, triangle)
        return values, vectors
    factor = _cholesky(_symmetrize(np.asarray(b), lower), upper=False)
    half = _triangular(factor, _symmetrize(np.asarray(a), lower), 0, True)
    inner = _adjoint(_triangular(factor, _adjoint(half), 0, True))
    if eigvals_only:
        return np.linalg.eigvalsh(inner), None
    values, vectors = np.linalg.eigh(inner)
    return values, _triangular(factor, vectors, 2, True)


def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, **options: Any) -> Any:
    """Eigenvalues of a Hermitian matrix, or of `a v = w b v`; subsets as of `eigh`."""
    return eigh(a, b, lower=lower, eigvals_only=True, **options)


def _symmetrize(a: Any, lower: bool, hermitian: bool = True) -> Any:
    """The Hermitian or symmetric matrices with these triangles."""
    half, diagonal = np.tril(a, -1) if lower else np.triu(a, 1), np.tril(np.triu(a))
    if hermitian:
        return half + _adjoint(half) + np.real(diagonal)
    return half + np.swapaxes(half, -1, -2) + diagonal


def pinvh(
    a: Any,
    atol: Any = None,
    rtol: Any = None,
    lower: bool = True,
    return_rank: bool = False,
    **options: Any,
) -> Any:
    """The pseudoinverse of a Hermitian matrix, of which one triangle is read."""
    _no_options("pinvh", options, a)
    a = _symmetrize(np.asarray(a), lower)
    return pinv(a, atol=atol, rtol=rtol, return_rank=return_rank)


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """The norm of a vector or a matrix."""
    _no_options("norm", options, a)
    return np.linalg.norm(np.asarray(a), ord, axis, keepdims=keepdims)


def fractional_matrix_power(a: Any, t: Any) -> Any:
    """The power `expm(t logm(a))` of a matrix, differentiable by the matrix and by the power."""
    return expm(t * logm(a))


def signm(a: Any) -> Any:
    """The sign of a matrix, `a` over the principal root of `a²`."""
    return np.linalg.solve(sqrtm(a @ a), a)


def block_diag(*arrays: Any) -> Any:
    """The matrices along the diagonal of a larger one."""
    blocks = [np.atleast_2d(a) for a in arrays]
    widths = [np.shape(b)[1] for b in blocks]
    rows = [
        [
            block if k == j else np.zeros((np.shape(block)[0], width))
            for j, width in enumerate(widths)
        ]
        for k, block in enumerate(blocks)
    ]
    return np.block(rows)


def sqrtm(a: Any) -> Any:
    """The principal square root of a matrix, complex where a real one has a negative eigenvalue."""
    try:
        return _sqrtm(a)
    except MatrixError:
        if np.iscomplexobj(a):
            raise
        return _sqrtm_on_branch_cut(a + 0j)


def logm(a: Any) -> Any:
    """The principal logarithm of a matrix, complex where a real one has a negative eigenvalue."""
    try:
        return _logm(a)
    except MatrixError:
        if np.iscomplexobj(a):
            raise
        return _logm(a + 0j)


def solve_banded(l_and_u: Any, ab: Any, b: Any, **options: Any) -> Any:
    """The solution of `a x = b` for the matrix with diagonals `ab[u + i - j, j] = a[i, j]`."""
    _no_options("solve_banded", options, ab, b)
    return _solve_banded(tuple(map(int, l_and_u)), ab, b)


def _compute_band_rows(l_and_u: tuple[int, int], n: int) -> tuple[Any, Any]:
    """The row of each element of the stored diagonals, and whether it is inside the matrix."""
    lower, upper = l_and_u
    rows = np.arange(lower + upper + 1)[:, None] - upper + np.arange(n)
    return np.clip(rows, 0, n - 1), (rows >= 0) & (rows < n)


def _solve_banded_transposed(l_and_u: tuple[int, int], ab: Any, g: Any) -> Any:
    """Solves with the transposed matrix, whose diagonals are stored in reverse order."""
    turned = (l_and_u[1], l_and_u[0])
    rows, inside = _compute_band_rows(turned, np.shape(ab)[1])
    flipped = ab[np.arange(sum(l_and_u), -1, -1)[:, None], rows]
    return _solve_banded(turned, np.where(inside, flipped, 0.0), g)


def _banded_vjp(l_and_u: tuple[int, int], ab: Any, ans: Any, g: Any) -> Any:
    rows, inside = _compute_band_rows(l_and_u, np.shape(ab)[1])
    outer = _solve_banded_transposed(l_and_u, ab, g)[rows] * ans
    return -np.where(inside, outer if np.ndim(ans) == 1 else np.sum(outer, -1), 0.0)


_solve_banded: _Primitive = _make_scipy_primitive(
    "linalg.solve_banded",
    None,
    lambda ans, l_and_u, ab, b: lambda g: _banded_vjp(l_and_u, ab, ans, g),
    lambda ans, l_and_u, ab, b: lambda g: _solve_banded_transposed(l_and_u, ab, g),
)
