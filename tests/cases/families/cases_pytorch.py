"""The rows of the operation table that have PyTorch's names only, and the functors.

What a row says: `cases.py`.
"""

import warnings
from typing import Any

import numpy as np
from scipy import special

from case_model import A, call, op

MAT, VEC, GRID = A(3, 4), A(4), A(2, 3, 4)
DISTINCT = A(2, 3, 4, low=-1.0, high=2.5, distinct=True)
SOURCE = A(3, 4, low=-1.0, high=2.5, distinct=True)
NUMBERS = np.array([[0, 2, 1, 1], [0, 2, -1, 0]])
HOLES = np.array([[1.0, np.nan, -2.0, 0.5], [3.0, 0.25, np.nan, np.nan], [np.nan] * 4])
ENDS = np.array([0.0, -0.0, 1.0, -2.5, 5e-324, 1e308, np.inf, -np.inf, np.nan])
MANY = np.arange(9000) * 7 % 3000
FOLDS = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}


def folded(x: Any, meets: dict[Any, list[Any]], reduce: str, include_self: bool) -> Any:
    """Every place that values meet in, folded one by one."""
    out = np.array(x)
    for place, values in meets.items():
        rows = [x[place], *values] if include_self else values
        out[place] = FOLDS[reduce](np.stack(rows), axis=0)
    return out


def scatter_reduce(
    x: Any, axis: int, index: Any, src: Any, reduce: str, include_self: bool = True
) -> Any:
    meets: dict[Any, list[Any]] = {}
    for at in np.ndindex(index.shape):
        place = list(at)
        place[axis] = int(index[at]) % x.shape[axis]
        meets.setdefault(tuple(place), []).append(src[at])
    return folded(x, meets, reduce, include_self)


def index_reduce(
    x: Any, axis: int, index: Any, source: Any, reduce: str, include_self: bool = True
) -> Any:
    front = np.moveaxis(np.array(x), axis, 0)
    rows = np.moveaxis(source, axis, 0)
    meets: dict[Any, list[Any]] = {}
    for k, i in enumerate(index):
        meets.setdefault(int(i) % len(front), []).append(rows[k])
    return np.moveaxis(folded(front, meets, reduce, include_self), 0, axis)


def var_mean(x: Any, axis: Any = None, ddof: float = 1, keepdims: bool = False) -> Any:
    given = {"axis": axis, "keepdims": keepdims}
    return np.var(x, ddof=ddof, **given), np.mean(x, **given)


def std_mean(x: Any, axis: Any = None, ddof: float = 1, keepdims: bool = False) -> Any:
    given = {"axis": axis, "keepdims": keepdims}
    return np.std(x, ddof=ddof, **given), np.mean(x, **given)


def nanmedian(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.nanmedian(x, axis=axis, keepdims=keepdims)


def unsafe_split(x: Any, split_size: Any, axis: int = 0) -> Any:
    if isinstance(split_size, int):
        return np.split(x, range(split_size, x.shape[axis], split_size), axis)
    return np.split(x, np.cumsum(split_size)[:-1], axis)


def select(x: Any, axis: int, index: int) -> Any:
    return np.take(x, index, axis)


def add_fiber(alpha: Any, fiber: Any, beta: Any, tensor: Any, axis: int = 0) -> Any:
    dims = [1] * tensor.ndim
    dims[axis] = -1
    return alpha * fiber.reshape(dims) + beta * tensor


def sum_fiber(x: Any, axis: int = 0, batch_ndim: int = 0, alpha: float = 1.0) -> Any:
    others = tuple(i for i in range(x.ndim - batch_ndim) if i != axis)
    return alpha * np.sum(x, axis=others)


def functor(name: str, ref: Any, *calls: Any, **over: Any) -> Any:
    return op(name, ref, *calls, path=f"functors.{name}", **{"ints": "float", **over})


# fmt: off
PLACES = (
    op("scatter_reduce", scatter_reduce,
       *(call(SOURCE, 0, NUMBERS, A(2, 4, distinct=True), how) for how in FOLDS),
       *(call(SOURCE, 0, NUMBERS, A(2, 4, distinct=True), how, include_self=False) for how in FOLDS),
       call(SOURCE, 1, NUMBERS[:, :3], A(2, 4), "mean"), call(A(5), 0, np.array([1, 1, 1]), A(3), "prod"),
       call(MAT, 0, NUMBERS[:0], A(2, 4), "amax"), ints=None,
       large=(call(A(3000, 70), 0, np.tile(MANY[:, None], 70), A(9000, 70), "mean"),)),
    op("index_reduce", index_reduce,
       *(call(SOURCE, 0, np.array([2, 0, 2]), A(3, 4, distinct=True), how) for how in FOLDS),
       *(call(SOURCE, -1, np.array([1, -1]), A(3, 2, distinct=True), how, include_self=False) for how in FOLDS),
       call(GRID, 1, np.array([0, 0]), A(2, 2, 4), "mean"), ints=None,
       large=(call(A(3000, 70), 0, MANY, A(9000, 70), "amax"),)),
)

MOMENTS = (
    op("var_mean", var_mean, call(MAT), call(DISTINCT, axis=(0, 2)), call(MAT, axis=1, ddof=0),
       call(MAT, axis=-1, keepdims=True), order=3, f32=1e-5, note="float32 sums"),
    op("std_mean", std_mean, call(MAT), call(DISTINCT, axis=(0, 2)), call(MAT, axis=1, ddof=0),
       call(MAT, axis=-1, keepdims=True), f32=1e-5, note="float32 sums"),
    op("nanmedian", nanmedian, *(call(DISTINCT, axis=a) for a in (None, 0, -1, (0, 2))), call(HOLES, axis=1),
       call(HOLES), call(MAT, axis=1, keepdims=True), call(A(5), axis=0), call(HOLES[2:], axis=1)),
)

CHOICES = (
    op("unsafe_split", unsafe_split, call(A(7), 3), call(MAT, 2, axis=1), call(GRID, [1, 2], 1), call(A(4), 9)),
    op("select", select, call(MAT, 0, 1), call(GRID, -1, -2), call(VEC, 0, 3), path="Tensor.select",
       large=(call(A(400, 300), 0, 7),)),
    op("isin", np.isin, call(np.array([[1, 2], [3, 4]]), np.array([4, 1, 9])), call(MAT, VEC),
       call(np.array([0.0, np.nan, 2.0]), np.array([np.nan, -0.0])), call(np.arange(5), 3, invert=True),
       call(A(0), VEC), order=0),
    op("signbit", np.signbit, call(np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan])), call(MAT), call(A(0)),
       call(np.array([-1, 0, 2])), order=0),
    op("nextafter", np.nextafter, call(ENDS, ENDS[::-1].copy()), call(ENDS[:, None], ENDS), call(np.arange(3.0), 1.5),
       order=0, large=(call(np.linspace(-1, 1, 40_003), 0.5),)),
)

FUNCTORS = (
    functor("add", lambda alpha, x, beta, y: alpha * x + beta * y, call(2.0, MAT, -3.0, MAT), call(1.0, A(), 0.5, A()),
            call(1.0, A(0, 2), 1.0, A(0, 2)), order=3, large=(call(2.0, A(400_003), 0.5, A(400_003)),)),
    functor("gemm", lambda a, b, alpha=1.0: alpha * a @ b, call(MAT, A(4, 2)), call(MAT, A(4, 2), 0.5), call(A(2, 0), A(0, 3)),
            order=3, f32=1e-5, note="float32 sums", large=(call(A(301, 203), A(203, 157)),)),
    functor("add_fiber", add_fiber, call(2.0, A(3), -1.0, MAT), call(1.0, VEC, 0.5, GRID, 2), order=3),
    functor("sum_fiber", sum_fiber, call(MAT), call(GRID, 1, alpha=-0.5), call(GRID, 0, 1), order=3, f32=1e-5,
            note="float32 sums", large=(call(A(300, 7, 200), 1),)),
    functor("gelu", lambda x: 0.5 * x * special.erfc(-x / np.sqrt(2)), call(MAT), call(A()), call(A(0, 2)), order=3, f32=1e-5),
)
# fmt: on

CASES = (*PLACES, *MOMENTS, *CHOICES, *FUNCTORS)
