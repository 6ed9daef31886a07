"""LU factors and solutions under the names of `torch.linalg`.

Owns: pivots, the rule of the factors, and PyTorch's order of factors and arguments. Never solves:
that is the core. Invariant: pivots are constants, int32 and from 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core as core, linalg
from ferrograd._core import Function, Tensor, asarray
from ferrograd._dispatch.fields import named
from ferrograd._pytorch.checks import whole
from ferrograd.errors import ArgumentError, ShapeError


class _Packed(Function):
    """Both triangles of `a = l u` in one, for square matrices that need no pivots.

    Derivative: `l⁻ᴴ (tril(lᴴ g_l, -1) + triu(g_u uᴴ)) u⁻ᴴ`.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, packed: Any) -> Tensor:
        found = core.tensor(packed)
        ctx.save_for_backward(found)
        return found

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        (packed,) = ctx.saved_tensors
        lower, upper = _unit_lower(packed), core.triu(packed)
        inner = core.tril(core.matmul(lower.mH, core.tril(g, -1)), -1)
        inner = inner + core.triu(core.matmul(core.triu(g), upper.mH))
        left = linalg.solve_triangular(lower, inner, trans=2, lower=True, unit_diagonal=True)
        return linalg.solve_triangular(upper, left.mH).mH, None


def _unit_lower(packed: Tensor) -> Tensor:
    one = np.eye(packed.shape[-1], dtype=packed.dtype)
    return core.add(core.tril(packed, -1), one)


def triangles(turned: Any, packed: Any = None) -> tuple[Tensor, Tensor]:
    """The factors `l u` of matrices whose rows stand in the order of the pivots."""
    turned = asarray(turned)
    count = min(turned.shape[-2:])
    square = turned[..., :count, :count]
    if packed is None:
        packed, _, _ = _eliminated(square, False)
    packed = _Packed.apply(square, packed[..., :count, :count])
    lower, upper = _unit_lower(packed), core.triu(packed)
    if turned.shape[-2] > count:
        below = linalg.solve_triangular(upper, turned[..., count:, :].mH, trans=2).mH
        lower = core.concatenate([lower, below], -2)
    if turned.shape[-1] > count:
        rest = turned[..., count:]
        right = linalg.solve_triangular(lower, rest, lower=True, unit_diagonal=True)
        upper = core.concatenate([upper, right], -1)
    return lower, upper


def _eliminated(a: Tensor, pivot: bool) -> tuple[Any, Any, Any]:
    """Both triangles in one, (…, m, n), the row that each step takes, and the order of rows."""
    rest = a.detach().numpy().copy()
    rows, steps = rest.shape[-2], min(rest.shape[-2:])
    order = np.broadcast_to(np.arange(rows), rest.shape[:-1]).copy()
    pivots = np.broadcast_to(np.arange(steps), (*rest.shape[:-2], steps)).copy()
    with np.errstate(all="ignore"):
        for k in range(steps):
            if pivot:
                column = rest[..., k:, k]
                pivots[..., k] = best = k + np.argmax(_size(column), -1)
                _swap(rest, k, best)
                _swap(order[..., None], k, best)
            factor = rest[..., k + 1 :, k]
            factor /= rest[..., k, k, None]
            rest[..., k + 1 :, k + 1 :] -= factor[..., None] * rest[..., k, None, k + 1 :]
    return rest, pivots, order


def _size(column: Any) -> Any:
    """What LAPACK compares: of complex numbers, the sum of both parts' sizes."""
    return np.abs(column.real) + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column)


def _swap(rows: Any, k: int, best: Any) -> None:
    """Exchanges row k of each matrix with another."""
    if rows.ndim == 2:
        if best != k:
            rows[[k, best]] = rows[[best, k]]
        return
    place = np.asarray(best)[..., None, None]
    chosen = np.take_along_axis(rows, place, -2)
    np.put_along_axis(rows, place, rows[..., k : k + 1, :], -2)
    rows[..., k : k + 1, :] = chosen


def _factors(op: str, A: Any, pivot: bool) -> tuple[Tensor, Tensor, Any, Any]:
    a = asarray(A)
    if a.ndim < 2:
        raise ShapeError(f"{op}: a has shape {tuple(a.shape)}; give matrices (…, m, n)")
    a = a if a.dtype.kind in "fc" else a.astype(np.float64)
    packed, pivots, order = _eliminated(a, pivot)
    turned = core.take_along_axis(a, order[..., None], -2)
    return *triangles(turned, packed), pivots, order


def lu(A: Any, *, pivot: bool = True) -> Any:
    """`(P, L, U)` with `A = P L U` of matrices (…, m, n): a permutation and two triangles.

    Rows are chosen by their largest element; without `pivot` as they stand, and P is empty. The
    derivative is that of the factors in this order of rows, which is constant.

    >>> import ferrograd as fg
    >>> p, l, u = fg.linalg.lu([[0.0, 2.0], [4.0, 2.0]])
    >>> p.tolist(), u.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [[4.0, 2.0], [0.0, 2.0]])
    """
    lower, upper, _, order = _factors("lu", A, pivot)
    rows = np.eye(order.shape[-1], dtype=lower.dtype)[order]
    turned = core.tensor(np.swapaxes(rows, -1, -2) if pivot else rows[..., :0, :0].reshape(0))
    return named("lu", "P L U", (turned, lower, upper))


def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    """`(LU, pivots)` of matrices (…, m, n): both triangles in one, and for each row the one, from 1
    on, that it was exchanged with.

    The derivative is that of the factors in this order of rows, which is constant.

    >>> import ferrograd as fg
    >>> factors, pivots = fg.linalg.lu_factor([[0.0, 2.0], [4.0, 2.0]])
    >>> factors.tolist(), pivots.tolist()
    ([[4.0, 2.0], [0.0, 2.0]], [2, 2])
    """
    lower, upper, pivots, _ = _factors("lu_factor", A, pivot)
    rows, columns = lower.shape[-2], upper.shape[-1]
    strict = core.tril(lower, -1)
    if rows > columns:
        upper = core.concatenate([upper, core.zeros_like(strict[..., columns:, :])], -2)
    elif columns > rows:
        strict = core.concatenate([strict, core.zeros_like(upper[..., rows:])], -1)
    return named("lu_factor", "LU pivots", (strict + upper, core.tensor(pivots.astype("i4") + 1)))


def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """The solution X of `A X = B` (…, n, k) from what `lu_factor` gives, or of `X A = B`.

    With `adjoint` of `Aᴴ X = B`. Errors: `ShapeError` for what are no matrices, `ArgumentError` for
    pivots that are no rows.

    >>> import ferrograd as fg
    >>> factors, pivots = fg.linalg.lu_factor([[0.0, 2.0], [4.0, 2.0]])
    >>> fg.linalg.lu_solve(factors, pivots, [[2.0], [6.0]]).tolist()
    [[1.0], [1.0]]
    """
    LU, B = asarray(LU), asarray(B)
    if not left:
        turned = lu_solve(LU, pivots, B.mH, adjoint=not adjoint)
        return turned.mH
    if B.ndim < 2 or LU.ndim < 2:
        raise ShapeError(
            f"lu_solve: LU has shape {tuple(LU.shape)} and B {tuple(B.shape)}; give matrices"
        )
    if LU.shape[-1] != LU.shape[-2] or B.shape[-2] != LU.shape[-1]:
        raise ShapeError(
            f"lu_solve: LU has shape {tuple(LU.shape)} and B {tuple(B.shape)}; give a square LU and"
            " as many rows of B (columns with left=False)"
        )
    order = _order(asarray(pivots).numpy(), int(LU.shape[-1]))
    lead = np.broadcast_shapes(order.shape[:-1], tuple(B.shape[:-2]))
    B = core.broadcast_to(B, (*lead, *B.shape[-2:]))
    order = np.broadcast_to(order, (*lead, order.shape[-1]))[..., None]
    if adjoint:
        half = linalg.solve_triangular(LU, B, trans=2)
        solved = linalg.solve_triangular(LU, half, trans=2, lower=True, unit_diagonal=True)
        return core.take_along_axis(solved, np.argsort(order, -2), -2)
    half = core.take_along_axis(B, order, -2)
    half = linalg.solve_triangular(LU, half, lower=True, unit_diagonal=True)
    return linalg.solve_triangular(LU, half)


def _order(pivots: Any, rows: int) -> Any:
    """The order of rows that exchanges one after another make."""
    if pivots.shape[-1:] != (rows,) or not ((pivots >= 1) & (pivots <= rows)).all():
        raise ArgumentError(
            f"lu_solve: pivots have shape {pivots.shape} and {rows} rows to choose from; give those"
            " of lu_factor, from 1 on"
        )
    order = np.broadcast_to(np.arange(rows), pivots.shape).copy()
    for k in range(rows):
        _swap(order[..., None], k, pivots[..., k] - 1)
    return order


def vander(x: Any, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element in a further axis: (…, n) to (…, n, N).

    >>> import ferrograd as fg
    >>> fg.linalg.vander([2.0, 3.0], N=3).tolist()
    [[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]]
    """
    x = asarray(x)
    if x.ndim == 0:
        raise ShapeError("vander: x is a number; give vectors (…, n)")
    powers = core.tensor(np.arange(x.shape[-1] if N is None else whole("vander", "N", N)))
    return core.power(x.unsqueeze(-1), powers.to(x.dtype))
