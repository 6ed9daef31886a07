"""Factorisations that return the status of each matrix instead of raising.

Invariant: a result is NaN for a matrix whose `info` is not 0, and has its derivative elsewhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core as core
from ferrograd._core import Tensor, asarray, tensor
from ferrograd._tensor.creation import eye
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import MatrixError, ShapeError

_linalg: Any = core._namespaces["linalg"]


class InvEx(NamedTuple):
    """Inverses, and which matrices have none."""

    inverse: Tensor
    info: Tensor


class CholeskyEx(NamedTuple):
    """Triangular factors, and which matrices have none."""

    L: Tensor
    info: Tensor


class SolveEx(NamedTuple):
    """Solutions, and which matrices are singular."""

    result: Tensor
    info: Tensor


class LUFactorEx(NamedTuple):
    """Factors in one matrix, exchanges of rows, and which matrices are singular."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


def inv_ex(A: Any, *, check_errors: bool = False) -> InvEx:
    """`(inverse, info)`: info is the 1-based position of the first zero pivot, or 0.

    The inverse of a singular matrix is NaN; with `check_errors` it raises.

    >>> import ferrograd as fg
    >>> fg.linalg.inv_ex(fg.zeros(2, 2)).info.item()
    1
    """
    A = _check_square("inv_ex", A)
    info = _find_zero_pivots(A)
    _check_info("inv_ex", info, check_errors, "singular")
    return InvEx(
        _set_failed_to_nan(_linalg["inv"](_replace_failed_matrices(A, info)), info, 2), info
    )


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> SolveEx:
    """`(result, info)` of `A x = B`; info as that of `inv_ex`.

    >>> import ferrograd as fg
    >>> fg.linalg.solve_ex(fg.eye(2), fg.ones(2)).result.tolist()
    [1.0, 1.0]
    """
    A = _check_square("solve_ex", A)
    info = _find_zero_pivots(A)
    _check_info("solve_ex", info, check_errors, "singular")
    B = asarray(B)
    found = _linalg["solve"](_replace_failed_matrices(A, info), B, left=left)
    return SolveEx(_set_failed_to_nan(found, info, min(B.ndim, 2)), info)


def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> LUFactorEx:
    """`(LU, pivots, info)`; info as that of `inv_ex`. Singular matrices have their factors, too.

    >>> import ferrograd as fg
    >>> fg.linalg.lu_factor_ex(fg.eye(2)).info.item()
    0
    """
    A = _check_matrices("lu_factor_ex", A)
    info = _find_zero_pivots(A)
    _check_info("lu_factor_ex", info, check_errors, "singular")
    LU, pivots = _linalg["lu_factor"](A, pivot=pivot)
    return LUFactorEx(LU, pivots, info)


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> CholeskyEx:
    """`(L, info)`: info is the order of the first leading minor that is not positive, else 0.

    The factor of such a matrix is NaN; with `check_errors` it raises.

    >>> import ferrograd as fg
    >>> fg.linalg.cholesky_ex(fg.tensor([[1.0, 2.0], [2.0, 1.0]])).info.item()
    2
    """
    A = _check_square("cholesky_ex", A)
    rows = A.detach().reshape((-1, *A.shape[-2:]))
    with no_grad():
        orders = (
            [_find_first_indefinite_minor(row, upper) for row in rows]
            if not _has_cholesky_factor(rows, upper)
            else None
        )
    shape = A.shape[:-2]
    info = tensor(np.array(orders or np.zeros(shape), np.int32).reshape(shape))
    _check_info("cholesky_ex", info, check_errors, "not positive definite")
    return CholeskyEx(
        _set_failed_to_nan(
            _linalg["cholesky"](_replace_failed_matrices(A, info), upper=upper), info, 2
        ),
        info,
    )


def _check_matrices(op: str, A: Any) -> Tensor:
    found: Tensor = asarray(A)
    if found.ndim < 2:
        raise ShapeError(f"{op}: A has shape {tuple(found.shape)}; give matrices (…, m, n)")
    return found


def _check_square(op: str, A: Any) -> Tensor:
    found = _check_matrices(op, A)
    if found.shape[-1] != found.shape[-2]:
        raise ShapeError(f"{op}: A has shape {tuple(found.shape)}; give square matrices (…, n, n)")
    return found


def _find_zero_pivots(A: Tensor) -> Tensor:
    factors = _linalg["lu_factor"](A.detach())[0].numpy()
    zero = np.diagonal(factors, 0, -2, -1) == 0
    first = zero.argmax(-1) + 1 if zero.shape[-1] else np.zeros(zero.shape[:-1])
    return tensor(np.where(zero.any(-1), first, 0).astype(np.int32))


def _has_cholesky_factor(A: Tensor, upper: bool) -> bool:
    try:
        _linalg["cholesky"](A, upper=upper)
    except MatrixError:
        return False
    return True


def _find_first_indefinite_minor(A: Tensor, upper: bool) -> int:
    """The order of the first leading minor without a factor: larger ones have none either."""
    below, above = 0, int(A.shape[-1]) + 1
    while above - below > 1:
        middle = (below + above) // 2
        if _has_cholesky_factor(A[:middle, :middle], upper):
            below = middle
        else:
            above = middle
    return 0 if below == A.shape[-1] else above


def _replace_failed_matrices(A: Tensor, info: Tensor) -> Tensor:
    """The matrices, with refused ones replaced by the identity."""
    if not info.any():
        return A
    good = (info == 0).reshape((*info.shape, 1, 1))
    found: Tensor = core.where(good, A, eye(int(A.shape[-1]), dtype=A.dtype))
    return found


def _set_failed_to_nan(found: Tensor, info: Tensor, axes: int) -> Tensor:
    """The results, NaN for refused matrices."""
    if not info.any():
        return found
    good = (info == 0).reshape((*info.shape, *(1,) * axes))
    known: Tensor = core.where(good, found, np.nan)
    return known


def _check_info(op: str, info: Tensor, check_errors: bool, what: str) -> None:
    if check_errors and info.any():
        raise MatrixError(f"{op}: a matrix is {what}: info is {info.tolist()}; give others")
