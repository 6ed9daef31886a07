"""The rows of the operation table that factorise, solve and measure matrices.

Where the other triangle is not read, or signs of vectors are free, a row compares a function of the
operation that is smooth and unique. What a row says: `cases.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from case_model import A, Case, call, op

MAT, TALL, WIDE = A(3, 3), A(4, 2), A(2, 4)
STACK = A(2, 3, 3)
STACKS = (call(MAT), call(STACK), call(A(1, 1)), call(A(2, 1, 2, 2)))
ANY = (call(MAT), call(TALL), call(WIDE), call(A(2, 3, 2)), call(A(3, 1)))

Function = Callable[..., Any]


def identity(x: Any) -> Any:
    """The identity in the dtype of square matrices."""
    return np.eye(x.shape[-1], dtype=x.dtype)


def firm(f: Function) -> Function:
    """Of matrices far from singular ones."""
    return lambda x, *rest, **options: f(x + 7 * identity(x), *rest, **options)


def positive(f: Function) -> Function:
    """Of symmetric positive definite matrices."""
    return lambda x, **options: f(x @ x.mT + identity(x), **options)


def apart(f: Function) -> Function:
    """Of matrices whose singular values are well apart."""

    def changed(x: Any, *rest: Any, **options: Any) -> Any:
        rows, columns = x.shape[-2:]
        lines = np.arange(1, rows + 1)[:, None] * np.eye(rows, columns)
        return f(x + (20 * lines**2).astype(x.dtype), *rest, **options)

    return changed


def symmetric(f: Function) -> Function:
    """Of symmetric matrices whose eigenvalues are well apart."""

    def changed(x: Any, **options: Any) -> Any:
        n = x.shape[-1]
        lines = np.diag(20.0 * np.arange(n) ** 2).astype(x.dtype)
        return f((x + x.mT) / 2 + lines, **options)

    return changed


def signless(f: Function) -> Function:
    """Products in which the free signs of singular vectors cancel."""

    def whole(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
        if not compute_uv:
            return f(x, full_matrices=full_matrices, compute_uv=False)
        u, s, vt = f(x, full_matrices=full_matrices)
        k = s.shape[-1]
        rest = u[..., k:], vt[..., k:, :]
        first = u[..., :1] @ vt[..., :1, :]
        return s, first, rest[0] @ rest[0].mT, rest[1].mT @ rest[1]

    return apart(whole)


def unsigned(f: Function) -> Function:
    """Eigenvalues, and projectors in which the free signs of eigenvectors cancel."""

    def whole(x: Any, **options: Any) -> Any:
        w, v = f(x, **options)
        return w, v[..., :1] @ v[..., :1].mT, v[..., -1:] @ v[..., -1:].mT

    return symmetric(whole)


def completed(f: Function) -> Function:
    """The parts of a QR factorisation that are unique: the rest of a complete basis is not."""

    def whole(x: Any, mode: str = "reduced") -> Any:
        if mode != "complete":
            return f(x, mode=mode)
        q, r = f(x, mode=mode)
        k = min(x.shape[-2:])
        rest = q[..., k:]
        return q[..., :k], r, rest @ rest.mT

    return apart(whole)


def solved(f: Function) -> Function:
    """Solutions of systems far from singular ones."""
    return lambda a, b, **options: f(a + 7 * identity(a), b, **options)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond=rcond)
    return x, residuals, np.int64(rank), s


def least(f: Function) -> Function:
    """Least squares without the rank and without empty residuals, which have no derivative."""

    def whole(a: Any, b: Any) -> Any:
        x, residuals, _, s = f(a, b)
        return (x, residuals, s) if residuals.size else (x, s)

    return apart(whole)


def solve_triangular(a: Any, b: Any, **options: Any) -> Any:
    upper = options.pop("upper", None)
    if upper is not None:
        options["lower"] = not upper
    if not options.pop("left", True):
        trans = 1 - min(options.pop("trans", 0), 1)
        return linalg.solve_triangular(a, b.T, trans=trans, **options).T
    return linalg.solve_triangular(a, b, **options)


def firm_rows(f: Function) -> Function:
    """Of matrices, not all square, whose rows stay in their order."""
    return lambda x: f(x + 20 * np.eye(*x.shape[-2:], dtype=x.dtype))


def rows_of(factors: Any) -> Any:
    """Pivots that exchange the first row with the last."""
    n = factors.shape[-1]
    return np.array([n, *range(2, n + 1)])


def lu_solve(factors: Any, pivots: Any, b: Any, left: bool = True, adjoint: bool = False) -> Any:
    lower = np.tril(factors, -1) + np.eye(factors.shape[-1])
    matrix = (lower @ np.triu(factors)).astype(factors.dtype)
    order = np.arange(len(pivots))
    for k, pivot in enumerate(pivots):
        order[[k, pivot - 1]] = order[[pivot - 1, k]]
    matrix = matrix[..., np.argsort(order), :]
    matrix = matrix.mT if adjoint else matrix
    return np.linalg.solve(matrix, b) if left else np.linalg.solve(matrix.mT, b.mT).mT


def unordered(f: Function) -> Function:
    """What depends neither on the order of eigenvalues nor on the phases of vectors."""

    def whole(x: Any) -> Any:
        found = f(x)
        if isinstance(found, tuple):
            w, v = found
            return (abs(v) ** 2 * abs(w)[..., None, :]).sum(-1)
        return (abs(found) ** 2).sum(-1)

    return symmetric(lambda x: firm(whole)(x + 3 * np.tri(x.shape[-1], dtype=x.dtype)))


def multiplied(f: Function) -> Function:
    """The product of the factors of Schur's form, of matrices with real eigenvalues."""

    def whole(x: Any) -> Any:
        t, z = f(x)
        return z @ t @ z.mT

    return symmetric(whole)


def stacked(f: Function) -> Function:
    """A function of one matrix for stacks of them."""

    def each(x: Any) -> Any:
        if x.ndim == 2:
            return f(x)
        parts = [each(part) for part in x]
        return (
            tuple(map(np.stack, zip(*parts, strict=True)))
            if isinstance(parts[0], tuple)
            else np.stack(parts)
        )

    return each


def chained(f: Function) -> Function:
    return lambda *xs: f(list(xs))


def row(name: str, ref: Function, *calls: Any, **over: Any) -> Case:
    """A row of `fg.linalg`."""
    loose = {"grown": 3000, "ints": None, "finite": True, "rtol": 1e-10, "f32": 1e-4}
    note = "conditioned by the matrix"
    return op(name, ref, *calls, path=f"linalg.{name}", note=note, **{**loose, **over})


# fmt: off
LINALG = (
    row("inv", np.linalg.inv, *STACKS, call(A(0, 0)), through=firm),
    row("det", np.linalg.det, *STACKS, call(A(0, 0)), call(A(2, 4, 4)), order=3,
        kinks=(((np.zeros((2, 2)),), (np.zeros((2, 2)),)),
               ((np.diag([2.0, 3.0, 0.0]),), (np.diag([0.0, 0.0, 6.0]),)))),
    row("slogdet", np.linalg.slogdet, *STACKS, call(A(0, 0)), through=lambda f: firm(
        lambda x: f(x)[1])),
    row("lu", stacked(linalg.lu), *STACKS, call(TALL), call(WIDE), through=lambda f: firm_rows(
        lambda x: f(x)[1:])),
    row("lu_factor", stacked(linalg.lu_factor), *STACKS, through=lambda f: firm(
        lambda x: f(x)[0])),
    row("lu_solve", lu_solve, call(MAT, A(3, 2)), call(STACK, A(2, 3, 2)),
        call(MAT, A(3, 2), adjoint=True), call(MAT, A(2, 3), left=False), through=lambda f: solved(
        lambda a, b, **options: f(a, rows_of(a), b, **options))),
    row("solve", np.linalg.solve, call(MAT, A(3)), call(MAT, A(3, 2)), call(STACK, A(3, 2)),
        call(MAT, A(2, 3, 2)), call(STACK, A(3)), call(A(0, 0), A(0)), call(MAT, A(3, 0)),
        through=solved),
    row("solve_triangular", solve_triangular, call(MAT, A(3)), call(MAT, A(3, 2), lower=True),
        call(MAT, A(3), trans=1), call(MAT, A(3, 2), trans=1, lower=True),
        call(MAT, A(3), unit_diagonal=True), call(MAT, A(3), upper=False),
        call(MAT, A(3), trans=1, lower=True, unit_diagonal=True), call(MAT, A(2, 3), left=False),
        call(MAT, A(2, 3), upper=False, left=False), call(MAT, A(2, 3), trans=1, left=False),
        call(A(40, 40), A(40, 3)), through=solved),
    row("cholesky", np.linalg.cholesky, *STACKS, call(MAT, upper=True), call(A(0, 0)),
        through=positive),
    row("qr", np.linalg.qr, *ANY, call(TALL, mode="complete"), call(WIDE, mode="complete"),
        call(TALL, mode="r"), through=completed),
    row("svd", np.linalg.svd, *ANY, call(TALL, full_matrices=False), call(WIDE, compute_uv=False),
        through=signless),
    row("svdvals", np.linalg.svdvals, *ANY, through=apart,
        kinks=(((np.eye(2),), (np.eye(2),)),)),
    row("pinv", np.linalg.pinv, *ANY, through=apart),
    row("eigh", np.linalg.eigh, *STACKS, call(MAT, UPLO="U"), through=unsigned),
    row("eigvalsh", np.linalg.eigvalsh, *STACKS, call(MAT, UPLO="U"), through=symmetric),
    row("eig", np.linalg.eig, *STACKS, through=unordered),
    row("eigvals", np.linalg.eigvals, *STACKS, through=unordered),
    row("schur", stacked(linalg.schur), *STACKS, through=multiplied),
    row("expm", linalg.expm, *STACKS),
    row("sqrtm", stacked(linalg.sqrtm), *STACKS, through=positive),
    row("logm", stacked(linalg.logm), *STACKS, through=positive),
    row("lstsq", lstsq, call(TALL, A(4)), call(TALL, A(4, 3)), call(WIDE, A(2)), call(MAT, A(3)),
        through=least),
    row("multi_dot", np.linalg.multi_dot, call(A(2, 3), A(3, 4)), call(A(2, 3), A(3, 4), A(4, 2)),
        call(A(3), A(3, 2), A(2)), call(A(3), A(3)), call(A(2, 3), A(3, 4), A(4, 2), A(2)),
        through=chained),
    row("matrix_power", np.linalg.matrix_power, call(STACK, 1), call(MAT, 2), call(MAT, 3),
        call(STACK, -1), call(MAT, -2), call(A(2, 2), 5), through=firm),
)
# fmt: on

CASES = LINALG
