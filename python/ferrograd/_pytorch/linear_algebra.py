"""Linear algebra under PyTorch's older names, and bounds on one side.

Invariant: shapes and values are PyTorch's.
"""

from __future__ import annotations

from typing import Any

from ferrograd import _core as core, linalg
from ferrograd._core import Tensor
from ferrograd._tensor.creation import ones_like


def det(input: Any) -> Tensor:
    """The determinants of matrices (…, n, n): `fg.linalg.det`."""
    return linalg.det(input)


def slogdet(input: Any) -> tuple[Tensor, Tensor]:
    """Signs and logarithms of the sizes of determinants: `fg.linalg.slogdet`."""
    return linalg.slogdet(input)


def logdet(input: Any) -> Tensor:
    """The logarithms of determinants; NaN for negative real ones.

    For complex matrices they are principal values: the imaginary part is the angle of the
    determinant.

    >>> import ferrograd as fg
    >>> fg.logdet(fg.eye(2)).item()
    0.0
    """
    sign, size = linalg.slogdet(input)
    found: Tensor = core.log(sign) + size
    return found


def inverse(input: Any) -> Tensor:
    """The inverses of matrices: `fg.linalg.inv`."""
    return linalg.inv(input)


def pinverse(input: Any, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverses of matrices: `fg.linalg.pinv`."""
    return linalg.pinv(input, rcond)


def matrix_power(input: Any, n: int) -> Tensor:
    """The n-th powers of matrices: `fg.linalg.matrix_power`."""
    return linalg.matrix_power(input, n)


def matrix_exp(input: Any) -> Tensor:
    """The exponentials of matrices: `fg.linalg.matrix_exp`."""
    return linalg.matrix_exp(input)


def cholesky(input: Any, upper: bool = False) -> Tensor:
    """The triangular factors of positive definite matrices: `fg.linalg.cholesky`."""
    lower = linalg.cholesky(input)
    return lower.mH if upper else lower


def cholesky_solve(input: Any, L: Any, upper: bool = False) -> Tensor:
    """The solutions of `a x = input` (…, n, k) from triangular factors of `a`: `L Lᴴ`, or `Lᴴ L`.

    >>> import ferrograd as fg
    >>> fg.cholesky_solve(fg.ones(2, 1), 2 * fg.eye(2)).tolist()
    [[0.25], [0.25]]
    """
    trans = (2, 0) if upper else (0, 2)
    for t in trans:
        input = linalg.solve_triangular(L, input, trans=t, lower=not upper)
    found: Tensor = input
    return found


def cholesky_inverse(L: Any, upper: bool = False) -> Tensor:
    """The inverses of matrices from their triangular factors.

    >>> import ferrograd as fg
    >>> fg.cholesky_inverse(2 * fg.eye(2)).tolist()
    [[0.25, 0.0], [0.0, 0.25]]
    """
    return cholesky_solve(core.diag_embed(ones_like(core.diagonal(L, 0, -2, -1))), L, upper)


def clamp_min(input: Any, min: Any) -> Tensor:
    """The elements, those below `min` raised to it: `fg.clip(input, min, None)`."""
    return core.clip(input, min, None)


def clamp_max(input: Any, max: Any) -> Tensor:
    """The elements, those above `max` lowered to it: `fg.clip(input, None, max)`."""
    return core.clip(input, None, max)
