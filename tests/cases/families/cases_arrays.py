"""The rows of the operation table that are not element-wise.

What a row says: `cases.py`.
"""

from typing import Any

import numpy as np
from scipy import special

from case_model import A, call, op


def log_softmax(x: Any, axis: int) -> Any:
    """SciPy's, except that a row with inf is NaN throughout."""
    low = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return low - np.log(np.sum(np.exp(low), axis=axis, keepdims=True))


def sum_to(x: Any, shape: Any) -> Any:
    lead = x.ndim - len(shape)
    axes = tuple(i for i in range(x.ndim) if i < lead or shape[i - lead] == 1)
    return np.sum(x, axis=axes, keepdims=True).reshape(shape)


def nested(*values: Any) -> Any:
    """An array that is given, not made."""
    return np.array(values)


POSITIVE = {"low": 0.2, "high": 3.0}
IDX = np.array([[2, 0, 2], [1, -1, 0]])
MASK = np.array([[True, False, True, True], [False] * 4, [True] * 4])
MAT, VEC = A(3, 4), A(4)
GRID = A(2, 3, 4)
#: A row of reductions: no axis, one, several, none, kept, empty, and large ones of every kind.
DISTINCT = A(2, 3, 4, low=-1.0, high=2.5, distinct=True)
BIG = (A(60, 7001), A(7001, 60), A(420_011), A(9, 601, 78))
BIG_CALLS = tuple(call(x, axis=a) for x, a in zip(BIG, (1, 0, None, (0, 2)), strict=True))
_AXES: tuple[Any, ...] = (None, 0, -1, (0, 2), (2, 1, 0), ())
REDUCED = (
    *(call(DISTINCT, axis=a) for a in _AXES),
    *(call(DISTINCT, axis=1, keepdims=True), call(A()), call(A(1), axis=0)),
    call(A(2, 0, 3), axis=2),
)
SUMMED = (*REDUCED, call(A(2, 0, 3), axis=1), call(A(0)), call(A(0, 4), keepdims=True))
ARG = tuple(call(DISTINCT, axis=a) for a in (None, 0, -1, 1))


def cat(tensors: Any, axis: int | None = 0) -> Any:
    kept = [x for x in tensors if np.shape(x) != (0,)]
    return np.concatenate(kept or tensors, axis)


# fmt: off
SELECTION = (
    op("where", np.where, call(MASK, MAT, MAT), call(MASK, MAT, VEC), call(MASK, A(), MAT),
       call(MASK[0], MAT, 1.5), call(True, MAT, MAT), call(MASK, 2, MAT),
       call(MASK[:0], A(0, 4), A(4)),
       large=(call(np.arange(400_003) % 3 == 0, A(400_003), A(400_003)),), ints="numpy"),
    op("clip", np.clip, call(A(3, 4, avoid=(-1.0, 1.0)), -1.0, 1.0),
       call(A(5, avoid=(0.5,)), None, 0.5),
       call(A(5, avoid=(0.5,)), 0.5, None),
       call(A(2, 3, low=-1, high=1), A(3, low=-3, high=-2), A(2, 1, low=2, high=3)),
       call(A(4, low=-1, high=1), A(4, low=2, high=3), 5.0), call(A(0), 0.0, 1.0),
       call(A(avoid=(0.0,)), 0.0, 1.0),
       large=(call(A(400_003), -1.0, 1.0),),
       kinks=(((0.0, 0.0, 1.0), (1.0,)), ((1.0, 0.0, 1.0), (1.0,)), ((2.0, 0.0, 1.0), (0.0,)))),
)

REDUCTIONS = (
    op("sum", np.sum, *SUMMED, call(MAT, dtype=np.float64), large=BIG_CALLS, order=3, f32=1e-5),
    op("mean", np.mean, *REDUCED, call(A(0, 3), axis=1), large=BIG_CALLS, order=3, f32=1e-5),
    op("amax", np.amax, *REDUCED, kinks=((([3.0, 3.0, 1.0],), ([0.5, 0.5, 0.0],)),)),
    op("amin", np.amin, *REDUCED, kinks=((([1.0, 3.0, 1.0],), ([0.5, 0.0, 0.5],)),)),
    op("max", np.max, *REDUCED, large=BIG_CALLS, kinks=((([3.0, 3.0, 1.0],), ([0.5, 0.5, 0.0],)),)),
    op("min", np.min, *REDUCED, large=BIG_CALLS, kinks=((([1.0, 3.0, 1.0],), ([0.5, 0.0, 0.5],)),)),
    op("var", np.var, *REDUCED, call(MAT, axis=1, ddof=1), call(MAT, ddof=0.5), large=BIG_CALLS,
       order=3, f32=1e-5, kinks=((([2.0],), ([0.0],)), (([2.0, 2.0],), ([0.0, 0.0],)))),
    op("std", np.std, call(MAT), call(GRID, axis=(0, 2)), call(MAT, axis=-1, ddof=1, keepdims=True),
       large=BIG_CALLS, order=3, f32=1e-5),
    op("argmax", np.argmax, *ARG, call(MAT, axis=1, keepdims=True), call(A(0, 3), axis=1),
       large=BIG_CALLS[:3], order=0),
    op("argmin", np.argmin, *ARG, call(MAT, keepdims=True), call(A()), large=BIG_CALLS[:3],
       order=0),
    op("all", np.all, *SUMMED, large=BIG_CALLS, order=0),
    op("any", np.any, *SUMMED, large=BIG_CALLS, order=0),
    op("count_nonzero", np.count_nonzero, *SUMMED, large=BIG_CALLS, order=0),
)

SHAPES = (
    op("reshape", np.reshape, call(GRID, (6, 4)), call(GRID, (-1,)), call(GRID, (4, -1, 2)),
       call(A(1), ()),
       call(A(), (1, 1)), call(A(0, 3), (3, 0)), call(GRID, (2, 3, 4)), call(GRID, 24)),
    op("ravel", np.ravel, call(GRID), call(A()), call(A(0, 2))),
    op("transpose", np.transpose, call(GRID), call(GRID, (1, 2, 0)), call(MAT, (1, 0)),
       call(GRID, (-1, 0, 1)),
       call(A()), call(VEC)),
    op("permute", np.transpose, call(GRID, (2, 0, 1)), call(MAT, (0, 1)), call(A(), ())),
    op("swapaxes", np.swapaxes, call(GRID, 0, 2), call(GRID, -1, 1), call(MAT, 0, 0), call(A(3, 3), 0, 1)),
    op("squeeze", np.squeeze, call(A(1, 3, 1)), call(A(1, 3, 1), axis=0),
       call(A(1, 3, 1), axis=(0, -1)), call(A())),
    op("expand_dims", np.expand_dims, call(MAT, 0), call(MAT, -1), call(MAT, (0, 2)), call(A(), 0)),
    op("expand", np.broadcast_to, call(VEC, (3, 4)), call(A(3, 1), (2, 3, 4)), call(A(), (2,)),
       call(A(1), (0,)), large=(call(A(1, 40_000), (4, 40_000)),)),
    op("sum_to_size", sum_to, call(GRID, (3, 4)), call(GRID, (1, 4)), call(GRID, ()),
       call(MAT, (3, 4))),
)

JOINING = (
    op("concatenate", np.concatenate, call((MAT, A(2, 4))), call([MAT, A(3, 1)], axis=1),
       call([MAT, VEC], axis=None),
       call([A(0, 4), MAT]), call([MAT], axis=-1), large=(call([A(300, 700), A(300, 700)],
       axis=1),)),
    op("cat", cat, call((MAT, A(2, 4))), call([MAT, A(3, 1)], axis=1), call([A(0), MAT, A(0)]),
       call([A(0), MAT], axis=1), call([A(0), A(0)]), call([A(0), VEC])),
    op("stack", np.stack, call([MAT, MAT]), call((VEC, VEC, VEC), axis=-1), call([A(), A()]),
       call([A(0), A(0)], axis=1)),
)

INDEXING = (
    op("index", lambda x, key: x[key], call(MAT, 1),
       call(GRID, (slice(None, None, -2), None, ..., 1)), call(MAT, MASK),
       call(GRID, (0, IDX)), call(GRID, (slice(None), IDX, slice(1, 3))),
       call(GRID, (IDX[0] % 2, slice(None), IDX[0])),
       call(MAT, (slice(2, 0, -1), slice(3, None))), call(A(5), [3, 3, 0]), call(MAT, ...),
       call(MAT, ()),
       call(GRID, (1, slice(None), [2, 2, 1])), call(MAT, []), call(A(), None),
       call(MAT, (None, MASK, None)),
       large=(call(A(3000, 70), np.arange(9000) * 7 % 3000),)),
)

MATRICES = (
    op("matmul", np.matmul, call(MAT, A(4, 5)), call(A(4), A(4)), call(MAT, VEC), call(A(3), MAT),
       call(GRID, A(4, 2)),
       call(A(2, 1, 3, 4), A(5, 4, 2)), call(A(2, 3, 4), A(2, 4, 1)), call(A(2, 0), A(0, 3)),
       call(A(0, 2), A(2, 3)), call(A(5, 3, 1), A(5, 1, 4)), call(A(2, 3, 1), A(1, 4)), call(A(5, 1, 3), A(5, 3, 1)),
       call(A(4), A(2, 4, 3)), call(A(1, 1), A(1, 1)), call(A(5, 3, 4), A(4)), order=3, f32=1e-5,
       large=(call(A(301, 203), A(203, 157)), call(A(40, 33, 57), A(40, 57, 21)),
       call(A(999, 515), A(515)))),
)

SOFTMAX = (
    op("softmax", special.softmax, call(MAT, axis=-1), call(MAT, axis=0), call(GRID, axis=1),
       call(VEC, axis=0), call(A(), axis=0),
       call(A(2, 1), axis=1), call(A(0, 3), axis=1), order=3, ints="float", f32=1e-5,
       large=(call(A(600, 500), axis=1), call(A(600, 500), axis=0))),
    op("log_softmax", log_softmax, call(MAT, axis=-1), call(MAT, axis=0),
       call(GRID, axis=1), call(VEC, axis=0), call(A(), axis=-1),
       call(A(2, 1), axis=1), call(A(0, 3), axis=1), order=3, ints="float", f32=1e-5,
       large=(call(A(600, 500), axis=1), call(A(600, 500), axis=0))),
)

CREATION = (
    op("astype", lambda x, dtype: x.astype(dtype), call(MAT, np.float64), call(MAT, "int64"),
       call(A(), bool), order=1),
    op("clone", np.copy, call(MAT), call(A()), call(A(0, 2)), order=3),
    op("zeros_like", np.zeros_like, call(MAT), call(MAT, dtype=np.int32), order=0),
    op("ones_like", np.ones_like, call(MAT), call(A(0), dtype=bool), order=0),
    op("full_like", np.full_like, call(MAT, 2.5), call(MAT, 3, dtype=np.uint8), order=0),
)

# fmt: on

CASES = (*(*SELECTION, *REDUCTIONS, *SHAPES, *JOINING, *INDEXING, *MATRICES, *SOFTMAX, *CREATION),)
