"""The rows of the operation table that fold, scan, order or summarise elements.

What a row says: `cases.py`.
"""

from typing import Any

import numpy as np
from scipy import special

from case_model import A, Call, call, op

NAN = np.nan
MAT, VEC, GRID = A(3, 4), A(4), A(2, 3, 4)
DISTINCT = A(2, 3, 4, low=-1.0, high=2.5, distinct=True)
AWAY = {"low": 0.5, "high": 3.0}
MIXED = np.array([[1.0, NAN, -2.0, 0.5], [3.0, 0.25, NAN, NAN]])
ROWS = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [0.0, -1.0]])
METHODS = (
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf"),
    *("hazen", "weibull", "median_unbiased", "normal_unbiased", "linear"),
    *("lower", "higher", "midpoint", "nearest"),
)
_AXES: tuple[Any, ...] = (None, 0, -1, (0, 2), (2, 1, 0))
_SPLIT: tuple[Any, ...] = (((60, 7001), 1), ((7001, 60), 0), ((90_011,), None))
BIG = tuple(call(A(*shape), axis=axis) for shape, axis in _SPLIT)


def flat_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """PyTorch's norm: orders are those of vectors, of all elements by default."""
    if ord == "nuc":
        return np.linalg.norm(x, ord, axis, keepdims)
    p = 2 if ord in (None, "fro") else ord
    return np.linalg.vector_norm(x, axis=axis, ord=p, keepdims=keepdims)


def reduced(*more: Call) -> tuple[Call, ...]:
    """The calls every reduction has: axes of all kinds, kept ones, 0-d, size 1, empty results."""
    return (
        *(call(DISTINCT, axis=a) for a in _AXES),
        *(call(DISTINCT, axis=1, keepdims=True), call(A()), call(A(1), axis=0)),
        *(call(A(2, 0, 3), axis=2), *more),
    )


def scanned(*more: Call) -> tuple[Call, ...]:
    """The calls every running fold has."""
    return (
        *(call(DISTINCT, axis=a) for a in (0, 1, -1)),
        *(call(VEC), call(MAT), call(A()), call(A(1), axis=0), call(A(0, 3), axis=1), *more),
    )


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    found = special.logsumexp(x, axis=axis, keepdims=keepdims)
    return found.reshape(()) if x.ndim == 0 else found


def logcumsumexp(x: Any, axis: Any = None) -> Any:
    return np.logaddexp.accumulate(x.ravel() if axis is None else x, axis=axis or 0)


def running(reaches: Any) -> Any:
    """RunningPass extremes with the index of the last of equals; a NaN stays."""

    def scan(x: Any, axis: Any = None) -> tuple[Any, Any]:
        x, axis = (x.ravel(), 0) if axis is None else (x, axis)
        lines = np.moveaxis(x, axis, -1)
        index = np.zeros(lines.shape, np.int64)
        for line in np.ndindex(lines.shape[:-1]):
            best = 0
            for i, value in enumerate(lines[line]):
                top = lines[line][best]
                if value != value or (top == top and reaches(value, top)):
                    best = i
                index[line][i] = best
        index = np.moveaxis(index, -1, axis)
        return np.take_along_axis(x, index, axis), index

    return scan


def topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> tuple[Any, Any]:
    """Sorted stably; a NaN is the largest of all."""
    order = np.argsort(x, axis=axis, stable=True)
    if largest:
        back = np.flip(np.argsort(np.flip(x, axis), axis=axis, stable=True), axis)
        order = x.shape[axis] - 1 - back
    index = np.take(order, range(k), axis=axis)
    return np.take_along_axis(x, index, axis), index


def quietly(function: Any) -> Any:
    """The function without NumPy's warnings."""

    def call_it(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return call_it


def partitioned(x: Any, kth: Any, axis: Any = -1) -> Any:
    return np.sort(x, axis=axis)


# fmt: off
REDUCTIONS = (
    op("prod", np.prod, *reduced(call(A(0)), call(A(2, 0, 3), axis=1)), order=3, f32=1e-5,
       large=(call(A(60, 700, low=0.9, high=1.1), axis=1),),
       kinks=((([0.0, 2.0, 3.0],), ([6.0, 0.0, 0.0],)), (([0.0, 0.0, 3.0],), ([0.0, 0.0, 0.0],)))),
    op("ptp", np.ptp, *reduced(), ints=None, large=BIG,
       kinks=((([1.0, 3.0, 1.0],), ([-0.5, 1.0, -0.5],)),)),
    op("median", np.median, *reduced(call(A(5)), call(A(6, distinct=True))), large=BIG,
       kinks=((([3.0, 1.0, 2.0],), ([0.0, 0.0, 1.0],)), (([4.0, 1.0],), ([0.5, 0.5],)))),
    op("quantile", np.quantile, call(DISTINCT, 0.3), call(DISTINCT, 0.3, axis=-1),
       call(DISTINCT, 0.77, axis=(0, 2), keepdims=True), call(A(5, distinct=True), 0.9),
       call(MAT, np.array([0.1, 0.5, 1.0]), axis=1), call(A(), 0.4), call(A(1), 0.0),
       *(call(DISTINCT, 0.37, axis=(0, 2), method=m) for m in METHODS),
       *(call(MAT, np.array([0.0, 0.125, 0.5, 1.0]), method=m) for m in METHODS), ints=None),
    op("percentile", np.percentile, call(DISTINCT, 30.0), call(DISTINCT, 30, axis=-1),
       call(MAT, np.array([10.0, 50.0]), axis=0), call(A(), 40.0),
       call(MAT, 30.0, method="hazen"), call(MAT, 62.5, axis=0, method="lower"), ints=None),
    op("norm", flat_norm, call(MAT), call(MAT, 1), call(MAT, 2), call(GRID, 3), call(VEC, 0), call(A()),
       call(GRID, axis=1), call(GRID, 1, axis=(0, 2)), call(GRID, np.inf), call(MAT, "fro"), call(A(0)),
       call(VEC, "fro"), call(MAT, None, 1, keepdims=True), call(GRID, 2, (0, 1)),
       ints=None, f32=1e-5, kinks=((([0.0, 0.0],), ([0.0, 0.0],)),), large=BIG),
    op("norm", np.linalg.norm, call(MAT), call(VEC, 3), call(VEC, 1), call(VEC, 0), call(A()),
       call(GRID, axis=1), call(GRID, 1, axis=(0, 2)), call(MAT, np.inf), call(MAT, -1),
       call(MAT, "fro"), call(DISTINCT, np.inf, axis=0), call(A(0)),
       call(MAT, None, 1, keepdims=True),
       ints=None, f32=1e-5, kinks=((([0.0, 0.0],), ([0.0, 0.0],)),), large=BIG, path="linalg.norm"),
    op("vector_norm", np.linalg.vector_norm, call(MAT), call(VEC, ord=3), call(GRID, axis=(0, 1)),
       call(MAT, ord=1.5, axis=1, keepdims=True), call(A()), call(A(0)), path="linalg.vector_norm",
       ints=None, f32=1e-5, kinks=((([0.0, 0.0],), ([0.0, 0.0],)),)),
    op("matrix_norm", np.linalg.matrix_norm, call(MAT), call(GRID, ord=1), call(GRID, ord=np.inf),
       call(GRID, ord="fro", keepdims=True), call(MAT, ord=-np.inf), call(MAT, ord=2),
       call(GRID, ord=-2), call(GRID, ord="nuc", keepdims=True), path="linalg.matrix_norm",
       ints=None, f32=1e-5),
    op("logsumexp", logsumexp, *reduced(), order=3, ints="float", f32=1e-5, large=BIG,
       kinks=((([-np.inf, -np.inf],), ([0.0, 0.0],)), (([-np.inf, 1.0],), ([0.0, 1.0],)))),
)

NAN_REDUCTIONS = (
    op("nansum", np.nansum, *reduced(call(MIXED), call(MIXED, axis=1)), order=3, f32=1e-5,
       kinks=((([NAN, 2.0],), ([0.0, 1.0],)),)),
    op("nanmean", np.nanmean, *reduced(call(MIXED), call(MIXED, axis=1)), order=3, f32=1e-5,
       kinks=((([NAN, 2.0],), ([0.0, 1.0],)),)),
    op("nanmax", np.nanmax, *reduced(call(MIXED), call(MIXED, axis=1)),
       kinks=((([NAN, 2.0, 1.0],), ([0.0, 1.0, 0.0],)),)),
    op("nanmin", np.nanmin, *reduced(call(MIXED), call(MIXED, axis=1)),
       kinks=((([NAN, 2.0, 1.0],), ([0.0, 0.0, 1.0],)),)),
    op("nanvar", np.nanvar, *reduced(call(MIXED), call(MAT, axis=1, ddof=1)), order=3, f32=1e-5),
    op("nanstd", np.nanstd, call(MAT), call(GRID, axis=(0, 2)), call(MIXED, axis=1),
       call(MAT, axis=-1, ddof=1, keepdims=True), order=3, f32=1e-5,
       kinks=((([2.0, 2.0],), ([0.0, 0.0],)),)),
)

SCANS = (
    op("cumsum", np.cumsum, *scanned(), order=3, f32=1e-5, large=BIG),
    op("cumprod", np.cumprod, *scanned(), order=3, f32=1e-5,
       kinks=((([0.0, 2.0, 3.0],), ([9.0, 0.0, 0.0],)), (([0.0, 0.0, 3.0],), ([1.0, 0.0, 0.0],)))),
    op("logcumsumexp", logcumsumexp, *(c for c in scanned() if c.args != (A(),)), order=3,
       ints="float", f32=1e-5,
       kinks=((([-np.inf, -np.inf, 1.0],), ([0.0, 0.0, 1.0],)),)),
    op("cummax", running(np.greater_equal), *scanned(), kinks=()),
    op("cummin", running(np.less_equal), *scanned(), kinks=()),
)

ORDERING = (
    op("sort", np.sort, *(c for c in scanned() if c.args != (A(),)), call(DISTINCT, axis=None),
       large=BIG[:2], ints=None),
    op("argsort", lambda x, axis=-1: np.argsort(x, axis=axis, stable=True), call(DISTINCT),
       call(DISTINCT, axis=0), call(MAT, axis=None), call(A(0, 3), axis=1), order=0),
    op("partition", partitioned, call(DISTINCT, 2), call(DISTINCT, (0, 1), axis=1),
       call(MAT, -1, axis=None)),
    op("topk", topk, call(DISTINCT, 2), call(DISTINCT, 2, axis=1, largest=False),
       call(A(5, distinct=True), 5), call(VEC, 0), ints=None),
    op("unique", np.unique, call(np.array([3, 1, 3, 2])), call(MIXED), call(A(0)),
       call(np.array([[2, 1], [2, 2]]), return_index=True, return_inverse=True,
            return_counts=True), call(A()), call(np.array([[2, 1, 2], [0, 1, 0]]), axis=1),
       call(ROWS, axis=0, return_index=True, return_inverse=True, return_counts=True),
       call(np.ones((2, 0)), axis=0), call(ROWS, return_inverse=True), large=(call(A(40_000)),)),
    op("searchsorted", np.searchsorted, call(np.array([1.0, 2.0, 2.0, 4.0]), MAT),
       call(np.arange(4), 2.0, side="right"), call(np.arange(4.0), A(0)),
       call(np.array([2.0, 0.0, 1.0]), VEC, sorter=np.array([1, 2, 0])), order=0, ints=None),
)

STATISTICS = (
    op("average", np.average, *reduced()[:-1], call(MAT, 1, np.arange(1.0, 5)),
       call(GRID, (2, 0), np.arange(1.0, 9).reshape(4, 2)),
       call(MAT, 1, A(4, **AWAY), returned=True, keepdims=True), order=3, f32=1e-5),
    op("cov", np.cov, call(MAT), call(MAT, rowvar=False), call(MAT, MAT), call(A(5)),
       call(MAT, bias=True), call(MAT, ddof=0), call(VEC, VEC),
       call(MAT, fweights=np.array([1, 2, 1, 3])), call(MAT, aweights=np.array([0.5, 2, 1, 3])),
       order=3, f32=1e-5, ints=None, wide=True),
    op("corrcoef", quietly(np.corrcoef), call(MAT), call(VEC, VEC), call(A(5, 2), rowvar=False),
       f32=1e-4, ints=None, wide=True, note="the quotient of three sums"),
)

RECIPES = (
    op("diff", np.diff, call(MAT), call(MAT, axis=0), call(GRID, n=2, axis=1), call(A(0)),
       call(A(1)), call(VEC, n=0), call(MAT, n=9), call(VEC, prepend=0.0, append=1.0),
       ints=None),
    op("trapezoid", np.trapezoid, call(MAT), call(MAT, axis=0, dx=0.5), call(MAT, VEC),
       call(GRID, A(3), axis=1), call(MAT, MAT), call(A(0)), call(A(1)), order=3, ints="float"),
    op("interp", np.interp, call(A(5, low=0.1, high=0.9), np.arange(3.0), A(3)),
       call(A(2, 2, low=1.1, high=1.9), np.arange(3.0), A(3), left=-1.0, right=2.0),
       call(A(low=0.1, high=0.9), np.arange(2.0), A(2)), call(A(0), np.arange(2.0), A(2)),
       call(A(3, low=4, high=5), np.arange(2.0), A(2)),
       call(A(5, low=-2, high=7), np.array([0.3, 2.1, 1.2, 4.4]), A(4), period=3.0),
       call(A(3, low=-0.4, high=0.4), np.array([0.75]), A(1), period=-1.0), ints=None, f32=1e-5),
    op("convolve", np.convolve, call(A(6), A(3)), call(A(3), A(6)), call(A(6), A(3), mode="valid"),
       call(A(6), A(4), "same"), call(A(1), A(1)), order=3, f32=1e-5,
       large=(call(A(5000), A(60)),)),
    op("polyval", np.polyval, call(A(4), A(3)), call(A(1), A(2, 2)), call(A(3), A()),
       call(A(3), A(0)), order=3, f32=1e-5, large=(call(A(4), A(40_000)),)),
)
# fmt: on

CASES = (*REDUCTIONS, *NAN_REDUCTIONS, *SCANS, *ORDERING, *STATISTICS, *RECIPES)
