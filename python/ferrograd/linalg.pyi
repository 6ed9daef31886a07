# Written by tools/stubs.py from the registry and tools/_core_classes.pyi; edit those.

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import DTypeLike

from ferrograd._core import Tensor, _Axes, _Shape, _TensorLike

from ferrograd._pytorch.linalg_ex import (
    cholesky_ex as cholesky_ex,
    inv_ex as inv_ex,
    lu_factor_ex as lu_factor_ex,
    solve_ex as solve_ex,
)
from ferrograd._pytorch.vander import vander as vander

class _Eig(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor
class _Eigh(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor
class _Lu(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor
class _Lu_factor(NamedTuple):
    LU: Tensor
    pivots: Tensor
class _Slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor
def cholesky(x: _TensorLike, upper: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """The triangular factor of positive definite Hermitian matrices: `l lᴴ = x`, or `uᴴ u = x` with upper=True; the other triangle of `x` is not read. Derivative: `l⁻ᴴ φ(lᴴ g) l⁻¹` made Hermitian, `φ` being the lower triangle with half its diagonal."""
def det(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Determinant of square matrices. Derivative: `g` times the conjugates of the cofactors, `det(x) x⁻ᵀ` where `x` is invertible."""
def eig(x: _TensorLike, *, out: Any = None, name: str | None = None) -> _Eig: """`(w, v)`: eigenvalues and eigenvectors (columns of length 1, their largest component positive) of square matrices, complex also for real ones; in no order. Derivative: `v⁻ᴴ (diag(g_w) + (vᴴ g_v - vᴴ v diag(Re vᴴ g_v)) / conj(w_k - w_i)) vᴴ`; NaN in vectors of equal eigenvalues unless their gradient is zero, refused where it depends on the vectors' phases or the matrix has no basis of eigenvectors."""
def eigh(x: _TensorLike, uplo: str = "L", *, out: Any = None, name: str | None = None) -> _Eigh: """`(w, v)`: rising eigenvalues and eigenvectors (columns) of symmetric or Hermitian matrices, of which the triangle `uplo` is read. Derivative: symmetric (under `ferrograd.numpy`: zero in the triangle that is not read); finite in `w`; NaN in vectors of equal eigenvalues, which have none, unless their gradient is zero. Signs and phases of vectors are arbitrary: a complex gradient that depends on a phase is refused."""
def eigvals(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Eigenvalues of square matrices, complex also for real ones; in no order. Derivative: `v⁻ᴴ diag(g) vᴴ`."""
def eigvalsh(x: _TensorLike, uplo: str = "L", *, out: Any = None, name: str | None = None) -> Tensor: """Rising eigenvalues of symmetric or Hermitian matrices. Derivative: `v diag(g) vᴴ`."""
def expm(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Exponential of square matrices, by a Padé approximant with scaling and squaring. Derivative: the upper right block of the exponential of `[[x, gᴴ], [0, x]]`, transposed."""
def matrix_exp(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Exponential of square matrices, by a Padé approximant with scaling and squaring. Derivative: the upper right block of the exponential of `[[x, gᴴ], [0, x]]`, transposed."""
def inv(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse of square matrices. Derivative: `-yᴴ g yᴴ`."""
def logm(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Principal logarithm of invertible matrices, `expm(y) = x`. A real matrix with a negative eigenvalue has no real one and is refused: convert it to a complex dtype. Derivative: the upper right block of the logarithm of `[[x, gᴴ], [0, x]]`, transposed."""
def lstsq(a: _TensorLike, b: _TensorLike, rcond: _float | None = None, *, out: Any = None, name: str | None = None) -> Any: """`(x, residuals, rank, s)`: the `x` of least norm that minimises `|a x - b|²`, the minima where `a` has full column rank and more rows than columns (else empty), the rank, the singular values of `a`; of stacks, each for every matrix. Derivatives: those of `pinv(a) b`."""
def lu(x: _TensorLike, pivot: _bool = True, *, out: Any = None, name: str | None = None) -> _Lu: """`(P, L, U)` with `x = P L U` of matrices (…, m, n): a permutation, a unit lower and an upper triangle; without `pivot` rows stay as they stand and P is empty. Derivative: that of the factors in this order of rows, which is constant."""
def lu_factor(x: _TensorLike, pivot: _bool = True, *, out: Any = None, name: str | None = None) -> _Lu_factor: """`(LU, pivots)` of matrices (…, m, n): both triangles of `lu` in one, and for each step the row, from 1 on, that it was exchanged with (int32); a singular matrix keeps zeros on its diagonal. Derivative: that of the factors in this order of rows; of square ones `l⁻ᴴ (tril(lᴴ g, -1) + triu(triu(g) uᴴ)) u⁻ᴴ`."""
def lu_solve(factors: _TensorLike, pivots: _TensorLike, b: _TensorLike, left: _bool = True, adjoint: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """The solution of `a x = b` (…, n, k) from what `lu_factor` gives for `a`, of `x a = b` with left=False, of `aᴴ x = b` with adjoint. Derivatives: as those of `solve`, for the factors in place of `a`."""
def matrix_power(x: _TensorLike, n: _int, *, out: Any = None, name: str | None = None) -> Tensor: """Square matrices to an integer power; the inverse's for a negative one, the identity for 0. Derivative: that of the product."""
def multi_dot(arrays: Sequence[_TensorLike], *, out: Any = None, name: str | None = None) -> Tensor: """The product of two or more matrices in the order of least work; the first and last may be vectors. Derivatives: those of `matmul`."""
def pinv(x: _TensorLike, rcond: _float | None = None, hermitian: _bool = False, atol: _float | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The Moore-Penrose inverse; singular values up to `rcond` times the largest, or up to `atol`, count as zero (the larger dimension times the machine epsilon if both are None). With `hermitian`, only the lower triangle is read. Derivative: that of a matrix of constant rank."""
def qr(x: _TensorLike, mode: str = "reduced", *, out: Any = None, name: str | None = None) -> Any: """`(q, r)` with orthonormal columns `q` and upper triangular `r`, `q r = x`; mode "reduced" (q is m×k, k the smaller dimension), "complete" (q is m×m) or "r" (`r` alone). Derivative: `(g_q + q L) r⁻ᴴ`, `L` the mirrored lower triangle of `r g_rᴴ - g_qᴴ q`."""
def schur(x: _TensorLike, output: str = "real", *, out: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]: """Schur's form `(t, z)`: `z t zᴴ = x` with unitary `z` and upper triangular `t`; of real matrices with output "real" both are real, and `t` has blocks of two rows for pairs of complex eigenvalues. Derivative: `z (g_t + m) zᴴ` with the strictly lower `m` of `m tᴴ - tᴴ m = w`, `w` the part below the diagonal of `p - pᴴ`, `p = zᴴ g_z + tᴴ g_t - g_t tᴴ`; refused where it depends on the vectors' phases, of an eigenvalue that is there twice, and for blocks of two rows."""
def slogdet(x: _TensorLike, *, out: Any = None, name: str | None = None) -> _Slogdet: """`(sign, logabsdet)` of square matrices; 0 and -inf for a singular one. The sign of a complex determinant is its direction. Derivative: `g x⁻ᴴ` of the logarithm, none of a real sign, `i Im(g conj(sign)) x⁻ᴴ` of a complex one; a singular matrix is refused."""
def solve(a: _TensorLike, b: _TensorLike, left: _bool = True, *, out: Any = None, name: str | None = None) -> Tensor: """The solution of `a x = b` for square `a`, of `x a = b` with left=False; `b` is a vector or a stack of matrices. Derivatives: `a⁻ᴴ g` for `b`, and minus its product with `xᴴ` for `a`."""
def solve_triangular(a: _TensorLike, b: _TensorLike, trans: _int = 0, lower: _bool = False, unit_diagonal: _bool = False, upper: _bool | None = None, left: _bool = True, *, out: Any = None, name: str | None = None) -> Tensor: """The solution of `a x = b` (of `aᵀ x = b` with trans=1, of `aᴴ x = b` with trans=2) for triangular `a`, of which the other triangle is not read; `upper` is PyTorch's word for not `lower`, left=False is for `x a = b`. Derivatives: as those of `solve`, the triangle of it for `a`."""
def sqrtm(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Principal square root of square matrices, `y y = x`. A real matrix with a negative eigenvalue has no real one and is refused: convert it to a complex dtype. Derivative: the upper right block of the root of `[[x, gᴴ], [0, x]]`, transposed."""
def svd(x: _TensorLike, full_matrices: _bool = True, compute_uv: _bool = True, *, out: Any = None, name: str | None = None) -> Any: """`(u, s, vh)` with `u diag(s) vh = x`, singular values falling; square `u` and `vh` unless full_matrices=False; `s` alone with compute_uv=False. Derivative: finite in `s`; NaN in vectors of equal singular values, which have none, unless their gradient is zero; an error where a gradient tells bases of the null space apart. Signs and phases of vectors are arbitrary: a complex gradient that depends on a phase is refused."""
def svdvals(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Singular values, falling. Derivative: `u diag(g) vh`."""
def matrix_norm(x: _TensorLike, ord: _float | str | None = None, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """The norm of the matrices in the last two axes, or in the two named; Frobenius by default. Derivative: 0 where the norm is 0."""
def norm(x: _TensorLike, ord: _float | str | None = None, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """NumPy's norm: of the flattened tensor by default; with an order, of a vector or a matrix; along one axis, or of the matrices of two. Derivative: 0 where the norm is 0."""
def vector_norm(x: _TensorLike, ord: _float = 2.0, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """The norm of all elements over the axes, `sum(|x|^ord)^(1/ord)`. Derivative: 0 where the norm is 0."""

__all__ = [
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "inv",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "schur",
    "slogdet",
    "solve",
    "solve_triangular",
    "sqrtm",
    "svd",
    "svdvals",
    "vector_norm",
]
