"""The `linalg` extension of the standard."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._dispatch.composed import linear_algebra, rearrangement
from ferrograd._dispatch.detach import detach_tensors

_OPERATIONS: dict[str, Any] = _core._namespaces["linalg"]


class Eigh(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QR(NamedTuple):
    """What `qr` gives."""

    Q: Tensor
    R: Tensor


class Slogdet(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


class SVD(NamedTuple):
    """What `svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: Any, /, *, upper: bool = False) -> Tensor:
    """The triangular factor of positive definite matrices."""
    made: Tensor = _OPERATIONS["cholesky"](x, upper)
    return made


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Cross product of vectors of three components along an axis."""
    return _core.cross(x1, x2, axis=axis)


def det(x: Any, /) -> Tensor:
    """Determinant of square matrices."""
    made: Tensor = _OPERATIONS["det"](x)
    return made


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The diagonal of the last two axes."""
    return linear_algebra.diagonal(x, offset=offset)


def eigh(x: Any, /) -> Eigh:
    """Rising eigenvalues and eigenvectors (columns) of symmetric matrices.

    >>> import ferrograd.array_api as xp
    >>> xp.linalg.eigh(xp.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    return Eigh(*_OPERATIONS["eigh"](x))


def eigvalsh(x: Any, /) -> Tensor:
    """Rising eigenvalues of symmetric matrices."""
    made: Tensor = _OPERATIONS["eigvalsh"](x)
    return made


def inv(x: Any, /) -> Tensor:
    """Inverse of square matrices."""
    made: Tensor = _OPERATIONS["inv"](x)
    return made


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """Matrix product; leading axes are batches."""
    return _core.matmul(x1, x2)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norm of the matrices in the last two axes."""
    made: Tensor = _OPERATIONS["matrix_norm"](x, ord, keepdims=keepdims)
    return made


def matrix_power(x: Any, n: int, /) -> Tensor:
    """Square matrices to an integer power."""
    made: Tensor = _OPERATIONS["matrix_power"](x, n)
    return made


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are above `rtol` times the largest; it has no derivative."""
    return _core.asarray(
        np.linalg.matrix_rank(detach_tensors(_core.asarray(x)), rtol=detach_tensors(rtol))
    )


def matrix_transpose(x: Any, /) -> Tensor:
    """The last two axes exchanged."""
    return rearrangement.matrix_transpose(x)


def outer(x1: Any, x2: Any, /) -> Tensor:
    """All products of the elements of two vectors."""
    return linear_algebra.outer(x1, x2)


def pinv(x: Any, /, *, rtol: Any = None) -> Tensor:
    """The Moore-Penrose inverse; singular values up to `rtol` times the largest count as zero.

    An array of `rtol` has one for each matrix, or broadcasts to that.
    """
    x = _core.asarray(x)
    limits = np.asarray(detach_tensors(rtol)) if rtol is not None else None
    if limits is None or limits.ndim == 0 or x.ndim < 2:
        made: Tensor = _OPERATIONS["pinv"](x, None if limits is None else float(limits.flat[0]))
        return made
    front = np.broadcast_shapes(tuple(x.shape[:-2]), limits.shape)
    rows, columns = x.shape[-2:]
    matrices = _core.broadcast_to(x, (*front, rows, columns)).reshape((-1, rows, columns))
    each = np.broadcast_to(limits, front).reshape(-1)
    found = [_OPERATIONS["pinv"](m, float(limit)) for m, limit in zip(matrices, each, strict=True)]
    return _core.stack(found).reshape((*front, columns, rows))


def qr(x: Any, /, *, mode: str = "reduced") -> QR:
    """Orthonormal columns and an upper triangle whose product is `x`."""
    return QR(*_OPERATIONS["qr"](x, mode))


def slogdet(x: Any, /) -> Slogdet:
    """The sign and the logarithm of the magnitude of the determinant."""
    return Slogdet(*_OPERATIONS["slogdet"](x))


def solve(x1: Any, x2: Any, /) -> Tensor:
    """The solution of `x1 x = x2`; `x2` is a vector or a stack of matrices."""
    made: Tensor = _OPERATIONS["solve"](x1, x2)
    return made


def svd(x: Any, /, *, full_matrices: bool = True) -> SVD:
    """Singular values, falling, and the two bases."""
    return SVD(*_OPERATIONS["svd"](x, full_matrices))


def svdvals(x: Any, /) -> Tensor:
    """Singular values, falling."""
    made: Tensor = _OPERATIONS["svdvals"](x)
    return made


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    """Sum of products over axes of both."""
    return _core.tensordot(x1, x2, axes)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of the diagonal of the last two axes."""
    return linear_algebra.trace(x, offset=offset, dtype=dtype)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Sum of products along an axis; the other axes broadcast."""
    return linear_algebra.vecdot(x1, x2, axis=axis)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """The norm of all elements over the axes, `sum(|x|^ord)^(1/ord)`."""
    made: Tensor = _OPERATIONS["vector_norm"](x, ord, axis, keepdims=keepdims)
    return made
