"""Products under PyTorch's names.

Invariant: shapes and values are PyTorch's.
"""

from __future__ import annotations

import itertools
from typing import Any

from ferrograd import _core as core
from ferrograd._core import Tensor, asarray
from ferrograd.errors import ArgumentError, ShapeError


def _check_ndim(op: str, what: str, x: Any, axes: int) -> Tensor:
    found: Tensor = x if type(x) is Tensor else asarray(x)
    if found.ndim != axes:
        raise ShapeError(
            f"{op}: {what} has {found.ndim} dimensions, of shape {tuple(found.shape)}; give {axes}"
        )
    return found


def _combine(input: Any, product: Tensor, beta: float, alpha: float) -> Tensor:
    # With beta = 0 the input is not read, so its NaN and infinities have no effect.
    scaled = product if alpha == 1 else alpha * product
    if beta == 0:
        return scaled
    return (input if beta == 1 else beta * asarray(input)) + scaled


def mv(input: Any, vec: Any) -> Tensor:
    """Product of a matrix (m, n) and a vector (n,): (m,). Errors: `ShapeError` for other ranks.

    >>> import ferrograd as fg
    >>> fg.mv(fg.ones(2, 3), fg.arange(3.0)).tolist()
    [3.0, 3.0]
    """
    return core.matmul(_check_ndim("mv", "input", input, 2), _check_ndim("mv", "vec", vec, 1))


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta · input + alpha · mat1 @ mat2` of matrices; input broadcasts to (n, m).

    Errors: `ShapeError` for tensors that are not matrices.

    >>> import ferrograd as fg
    >>> fg.addmm(fg.ones(2), fg.ones(3, 4), fg.ones(4, 2), alpha=0.5)[0].tolist()
    [3.0, 3.0]
    """
    product = core.matmul(
        _check_ndim("addmm", "mat1", mat1, 2), _check_ndim("addmm", "mat2", mat2, 2)
    )
    return _combine(input, product, beta, alpha)


def addmv(input: Any, mat: Any, vec: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta · input + alpha · mat @ vec` of a matrix and a vector; input broadcasts to (n,).

    >>> import ferrograd as fg
    >>> fg.addmv(fg.ones(2), fg.ones(2, 3), fg.ones(3)).tolist()
    [4.0, 4.0]
    """
    return _combine(input, mv(mat, vec), beta, alpha)


def addr(input: Any, vec1: Any, vec2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta · input + alpha · outer(vec1, vec2)` of two vectors; input broadcasts to (n, m).

    >>> import ferrograd as fg
    >>> fg.addr(fg.zeros(2, 2), [1.0, 2.0], [3.0, 4.0]).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    product = core.outer(_check_ndim("addr", "vec1", vec1, 1), _check_ndim("addr", "vec2", vec2, 1))
    return _combine(input, product, beta, alpha)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta · input + alpha · batch1 @ batch2` of (b, n, k) and (b, k, m).

    >>> import ferrograd as fg
    >>> fg.baddbmm(fg.zeros(1), fg.ones(2, 3, 4), fg.ones(2, 4, 5)).shape
    (2, 3, 5)
    """
    first = _check_ndim("baddbmm", "batch1", batch1, 3)
    return _combine(
        input, core.bmm(first, _check_ndim("baddbmm", "batch2", batch2, 3)), beta, alpha
    )


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta · input + alpha · Σ batch1 @ batch2` over the batch of (b, n, k) and (b, k, m).

    >>> import ferrograd as fg
    >>> fg.addbmm(fg.zeros(1), fg.ones(2, 3, 4), fg.ones(2, 4, 5)).shape
    (3, 5)
    """
    first = _check_ndim("addbmm", "batch1", batch1, 3)
    product = core.bmm(first, _check_ndim("addbmm", "batch2", batch2, 3))
    return _combine(input, product.sum(0), beta, alpha)


def dist(input: Any, other: Any, p: float = 2.0) -> Tensor:
    """The p-norm of `input - other` as one vector, which broadcast.

    >>> import ferrograd as fg
    >>> fg.dist([3.0, 0.0], [0.0, 4.0]).item()
    5.0
    """
    return core.norm((asarray(input) - other).reshape(-1), p)


def block_diag(*tensors: Any) -> Tensor:
    """A block-diagonal matrix; vectors are rows, numbers have the shape (1, 1).

    >>> import ferrograd as fg
    >>> fg.block_diag([[1.0, 2.0]], 3.0).tolist()
    [[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]
    """
    blocks = [_check_ndim("block_diag", "a block", core.atleast_2d(x), 2) for x in tensors]
    width, at, rows = sum([b.shape[1] for b in blocks]), 0, []
    for block in blocks:
        after = at + block.shape[1]
        shapes = [(block.shape[0], n) for n in (at, width - after)]
        before, behind = [core._full("block_diag", s, 0, block.dtype, False) for s in shapes]
        rows.append(core.concatenate([before, block, behind], 1))
        at = after
    return core.concatenate(rows, 0) if rows else core.tensor([[]])


def cartesian_prod(*tensors: Any) -> Tensor:
    """All rows that take one element of each vector, the last one varying fastest: (n, k).

    >>> import ferrograd as fg
    >>> fg.cartesian_prod([1, 2], [3, 4]).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    vectors = [_check_ndim("cartesian_prod", "a tensor", x, 1) for x in tensors]
    if len(vectors) == 1:
        return vectors[0]
    grids = core._meshgrid(*vectors, indexing="ij")
    return core.stack([grid.reshape(-1) for grid in grids], 1)


def meshgrid(
    *tensors: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True, **options: Any
) -> Any:
    """Vectors repeated along each other's axes: `np.meshgrid`, also of one list of tensors.

    >>> import ferrograd as fg
    >>> rows, columns = fg.meshgrid([fg.arange(2), fg.arange(3)], indexing="ij")
    >>> rows.tolist()
    [[0, 0, 0], [1, 1, 1]]
    """
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        # A list of numbers is one vector, as in NumPy; a list of tensors is several, as in PyTorch.
        (listed,) = tensors
        tensors = tuple(listed) if any(isinstance(x, Tensor) for x in listed) else tensors
    return core._meshgrid(*tensors, indexing=indexing, sparse=sparse, copy=copy, **options)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, in its order: (n, r).

    >>> import ferrograd as fg
    >>> fg.combinations([1, 2, 3]).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    input = _check_ndim("combinations", "input", input, 1)
    if r < 0:
        raise ArgumentError(f"combinations: r is {r}; give at least 0")
    choose: Any = itertools.combinations_with_replacement if with_replacement else None
    places = list((choose or itertools.combinations)(range(int(input.shape[0])), r))
    found: Tensor = input[core.tensor(places)] if places and r else input[:0]
    return found if places or r == 0 else found.reshape((0, r))
