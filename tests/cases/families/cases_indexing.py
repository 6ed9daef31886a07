"""The rows of the operation table that choose elements by index or by mask.

What a row says: `cases.py`.
"""

from typing import Any

import numpy as np

from case_model import A, call, op

MAT, VEC, GRID = A(3, 4), A(4), A(2, 3, 4)
IDX = np.array([[2, 0, 2], [1, -1, 0]])
MASK = np.array([[True, False, True, True], [False] * 4, [True] * 4])
MANY = np.arange(9000) * 7 % 3000
#: An index for every column of a matrix of three rows, with repetitions.
ROWS = np.array([[0, 2, 1, 1], [0, 2, -1, 0]])


def grid_of(index: Any, axis: int) -> list[Any]:
    """Open coordinates of an index, itself in the place of one axis."""
    key = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    key[axis] = index
    return key


def gather(x: Any, axis: int, index: Any) -> Any:
    wide, index = np.atleast_1d(x), np.atleast_1d(index)
    return wide[tuple(grid_of(index, axis))].reshape(np.shape(index) if x.ndim else ())


def scatter(x: Any, axis: int, index: Any, src: Any, reduce: str | None = None) -> Any:
    out = np.array(x)
    key = tuple(grid_of(index, axis))
    part = src[tuple(slice(n) for n in index.shape)] if np.ndim(src) else src
    if reduce is not None:
        getattr(np, reduce).at(out, key, part)
    else:
        out[key] = part
    return out


def scatter_add(x: Any, axis: int, index: Any, src: Any) -> Any:
    return scatter(x, axis, index, src, "add")


def take_along_dim(x: Any, indices: Any, axis: int | None = None) -> Any:
    return np.take_along_axis(x, indices if axis is not None else np.ravel(indices), axis)


def put_along_axis(x: Any, indices: Any, values: Any, axis: int | None = -1) -> Any:
    out = np.array(x, order="C")
    np.put_along_axis(out, indices, values, axis)
    return out


def index_select(x: Any, axis: int, index: Any) -> Any:
    return np.take(x, np.atleast_1d(np.asarray(index, int)), axis)


def index_add(x: Any, axis: int, index: Any, source: Any, alpha: float = 1) -> Any:
    out = np.moveaxis(np.array(x), axis, 0)
    moved = np.moveaxis(np.broadcast_to(source, np.take(x, index, axis).shape), axis, 0)
    np.add.at(out, index, alpha * moved)
    return np.moveaxis(out, 0, axis)


def masked_select(x: Any, mask: Any) -> Any:
    wide, mask = np.broadcast_arrays(x, mask)
    return wide[mask]


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    return np.where(mask, np.asarray(value).astype(x.dtype), x)


def one_hot(x: Any, num_classes: int = -1) -> Any:
    return np.eye(int(x.max()) + 1 if num_classes < 0 else num_classes, dtype=np.int64)[x]


def embedding(x: Any, weight: Any, padding_idx: int | None = None) -> Any:
    return weight[x]


# fmt: off
ALONG = (
    op("take_along_axis", np.take_along_axis, call(MAT, ROWS, axis=0), call(MAT, IDX[:1], axis=1),
       call(MAT, np.array([5, -1, 5]), axis=None), call(GRID, IDX[:, :1, None], axis=1), call(A(1, 4), ROWS % 1, axis=0),
       call(VEC, IDX[0]), call(A(0, 3), np.zeros((0, 2), int), axis=1),
       large=(call(A(3000, 70), np.tile(MANY[:, None], 70) % 3000, axis=0),)),
    op("take_along_dim", take_along_dim, call(MAT, ROWS, axis=0), call(MAT, IDX[:1], axis=1), call(MAT, IDX), call(A(0, 3), np.zeros((0, 2), int), axis=1)),
    op("put_along_axis", put_along_axis, call(MAT, ROWS, A(2, 4), axis=0), call(MAT, IDX[:1], A(3, 3), axis=1),
       call(MAT, np.array([5, -1, 5]), A(3), axis=None), call(MAT, ROWS, 2.5, axis=0), call(VEC, IDX[0], A(1)), ints=None),
    op("gather", gather, call(MAT, 0, ROWS), call(MAT, 1, IDX[:, :2]), call(GRID, -1, np.array([[[3, 3, -1]]])),
       call(VEC, 0, IDX[0]), call(A(), 0, np.array(0)), call(MAT, 0, np.zeros((0, 2), int)),
       large=(call(A(3000, 70), 0, np.tile(MANY[:, None], 70)),)),
    op("scatter", scatter, call(MAT, 0, ROWS, A(2, 4)), call(MAT, 1, IDX[:, :2], A(3, 3)), call(MAT, 0, ROWS, 1.5),
       call(VEC, 0, np.array([1, 1, 1]), A(3)), call(GRID, 2, np.array([[[3, 3, -1]]]), A(2, 3, 4)),
       call(MAT, 0, ROWS, A()), call(MAT, 0, ROWS, A(2, 4), reduce="add"), call(MAT, 1, IDX[:, :2], A(3, 3), reduce="multiply"),
       call(MAT, 0, ROWS, 1.5, reduce="multiply"), call(VEC, 0, np.array([1, 1, 1]), A(3), reduce="multiply"), ints=None),
    op("scatter_add", scatter_add, call(MAT, 0, ROWS, A(2, 4)), call(MAT, 1, IDX[:, :2], A(3, 3)),
       call(VEC, 0, np.array([1, 1, 1]), A(3)), call(MAT, 0, ROWS, 2.0), call(MAT, 0, ROWS[:0], A(2, 4)), order=3,
       ints=None, f32=1e-5, large=(call(A(3000, 70), 0, np.tile(MANY[:, None], 70), A(9000, 70)),)),
)

CHOSEN = (
    op("take", np.take, call(MAT, IDX % 3), call(GRID, IDX, axis=1), call(VEC, 2), call(MAT, [0, 0], axis=-1),
       call(GRID, np.int64(1), axis=0), call(MAT, IDX * 9, mode="wrap"), call(MAT, IDX * 9, axis=1, mode="clip"),
       call(VEC, []), call(A(0, 3), [1], axis=1), call(MAT, [True, False], axis=0),
       large=(call(A(3000, 70), MANY, axis=0), call(A(3000), MANY))),
    op("compress", np.compress, call([True, False, True], MAT, axis=0), call([0, 1, 1], MAT, axis=1), call([1, 0, 1], MAT),
       call([False], VEC), call([1, 0, 1, 1, 0, 0], VEC)),
    op("index_select", index_select, call(MAT, 0, IDX[0]), call(GRID, -1, [3, 3]), call(VEC, 0, 1), call(MAT, 1, [])),
    op("index_add", index_add, call(MAT, 0, IDX[0], A(3, 4)), call(GRID, -1, np.array([3, 3, 0]), A(2, 3, 3), alpha=2),
       call(MAT, 1, np.array([-1, 0]), A(3, 2)), call(VEC, 0, np.array([1, 1]), 1.5), order=3, f32=1e-5, ints=None,
       large=(call(A(3000, 70), 0, MANY, A(9000, 70)),)),
    op("masked_select", masked_select, call(MAT, MASK), call(VEC, MASK), call(A(3, 1), MASK), call(GRID, MASK),
       call(A(), True), call(A(0), np.zeros(0, bool)), large=(call(A(3000, 70), (MANY % 3 == 0)[:3000, None]),)),
    op("masked_fill", masked_fill, call(MAT, MASK, 2), call(VEC, MASK, A()), call(MAT, MASK[:, :1], 0.0), call(A(), True, 3), ints=None,
       large=(call(A(200, 200), np.eye(200, dtype=bool), 2),)),
    op("select", np.select, call([MASK, ~MASK], [MAT, MAT]), call([MASK, MASK[0]], [MAT, VEC], 1.5),
       call([MASK], [A()], A(4)), call([MASK[:, :1], MASK], [MAT, A(3, 1)], default=2),
       large=(call([np.eye(200, dtype=bool)], [A(200, 200)], 2.0),)),
    op("one_hot", one_hot, call(nested := np.array([[2, 0], [1, 2]])), call(nested, 5), call(np.array(1)),
       call(np.zeros((0, 2), int), 3), order=0, large=(call(np.arange(40_000) % 9, 9),)),
    op("embedding", embedding, call(np.array([[1, 1], [0, 2]]), A(3, 4)), call(np.array(2), MAT), call(IDX[:0], MAT),
       large=(call(MANY, A(3000, 70)),)),
)

POSITIONS = (
    op("nonzero", np.nonzero, call(MASK), call(VEC), call(np.array([0.0, np.nan, -0.0, 2.0])), call(A(0, 2)), call(GRID),
       order=0),
    op("argwhere", np.argwhere, call(MASK), call(VEC), call(A()), call(np.array(0.0)), call(A(0, 2)), order=0),
    op("flatnonzero", np.flatnonzero, call(MASK), call(A()), call(GRID), order=0),
)

# fmt: on

CASES = (*ALONG, *CHOSEN, *POSITIONS)
