"""Compositions of linear algebra.

Invariant: names in `numpy.linalg` mean the last two axes.
"""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor, asarray
from ferrograd._dispatch.composed.registration import conjugate, register_composition

_linalg = _core._namespaces["linalg"]


@register_composition("linalg.matmul")
def matmul(x1: Any, x2: Any, /) -> Tensor:
    """Matrix product."""
    return _core.matmul(x1, x2)


@register_composition("linalg.outer")
def outer(x1: Any, x2: Any, /) -> Tensor:
    """All products of the elements of two vectors."""
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            f"numpy.linalg.outer: the shapes are {tuple(x1.shape)} and {tuple(x2.shape)}; pass"
            " vectors"
        )
    return _core.outer(x1, x2)


@register_composition("linalg.tensordot")
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    """Sum of products over axes."""
    return _core.tensordot(x1, x2, axes)


@register_composition("linalg.cross")
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Cross product of vectors of three components."""
    x1, x2 = asarray(x1), asarray(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"numpy.linalg.cross: the axes have {x1.shape[axis]} and {x2.shape[axis]} components;"
            " pass vectors of three"
        )
    return _core.cross(x1, x2, axis=axis)


@register_composition("linalg.diagonal")
def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The diagonal of the last two axes."""
    return _core.diagonal(asarray(x), offset, -2, -1)


@register_composition("linalg.trace")
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of the diagonal of the last two axes."""
    return _core.sum(diagonal(x, offset=offset), -1, dtype=dtype)


@register_composition("vecdot", "linalg.vecdot")
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Sum of products along an axis, in the dtype of the products."""
    x1, x2 = asarray(x1), asarray(x2)
    floats = x1.dtype.kind == x2.dtype.kind == "f"
    if axis == -1 and floats and x1.shape[-1:] == x2.shape[-1:] != ():
        return _core.einsum("...i,...i->...", [x1, x2])
    products = _core.multiply(conjugate(x1), x2)
    return _core.sum(products, axis, dtype=products.dtype)


@register_composition("matvec")
def matvec(x1: Any, x2: Any, /) -> Tensor:
    """Matrices times vectors."""
    return _core.matmul(x1, asarray(x2)[..., None])[..., 0]


@register_composition("vecmat")
def vecmat(x1: Any, x2: Any, /) -> Tensor:
    """Vectors, complex ones conjugated, times matrices."""
    return _core.matmul(conjugate(x1)[..., None, :], x2)[..., 0, :]


@register_composition("linalg.cond")
def cond(x: Any, p: Any = None) -> Any:
    """The condition number: largest over smallest singular value, or by another norm."""
    x = asarray(x)
    if p is None or p in (2, -2):
        s = _linalg["svdvals"](x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    norm = _linalg["matrix_norm"]
    return norm(x, p) * norm(_linalg["inv"](x), p)


@register_composition("linalg.tensorinv")
def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of a tensor as a linear map."""
    a = asarray(a)
    if ind <= 0:
        raise ValueError(f"numpy.linalg.tensorinv: ind is {ind}; give a positive number")
    rows, columns = tuple(a.shape[:ind]), tuple(a.shape[ind:])
    return _linalg["inv"](a.reshape(-1, math.prod(columns))).reshape(columns + rows)


@register_composition("linalg.tensorsolve")
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The solution of a linear equation between tensors."""
    a, b = asarray(a), asarray(b)
    if axes is not None:
        order = [k for k in range(a.ndim) if k not in axes]
        a = a.permute((*order, *axes))
    unknown = tuple(a.shape[b.ndim :])
    size = math.prod(unknown)
    return _linalg["solve"](a.reshape(-1, size), b.reshape(-1)).reshape(unknown)
