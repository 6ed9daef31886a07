"""The rows of the operation table that rearrange elements.

What a row says: `cases.py`.
"""

from typing import Any

import numpy as np

from case_model import A, call, op

MAT, VEC, GRID = A(3, 4), A(4), A(2, 3, 4)
window_view = np.lib.stride_tricks.sliding_window_view


def flatten(x: Any, start_dim: Any = None, end_dim: Any = None) -> Any:
    start = (start_dim or 0) % max(x.ndim, 1)
    end = (-1 if end_dim is None else end_dim) % max(x.ndim, 1)
    return x.reshape(*x.shape[:start], -1 if x.size else 0, *x.shape[end + 1 :])


def chunk(x: Any, chunks: int, axis: int = 0) -> Any:
    step = max(-(-x.shape[axis] // chunks), 1)
    return np.split(x, range(step, x.shape[axis], step), axis) if x.shape[axis] else [x] * chunks


def narrow(x: Any, axis: int, start: int, length: int) -> Any:
    first = start % x.shape[axis] if start < 0 else start
    return np.take(x, range(first, first + length), axis)


def diag_embed(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    n = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return np.moveaxis(out, (-2, -1), (axis1, axis2))


def unfold(x: Any, axis: int, size: int, step: int) -> Any:
    if x.ndim == 0:
        return unfold(x[None], axis, size, step)[0]
    every = (*(slice(None) for _ in range(axis % x.ndim)), slice(None, None, step))
    return window_view(x, size, axis)[every]


def torch_pad(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))
    widths = [(max(a, 0), max(b, 0)) for a, b in pairs]
    if mode == "constant":
        return np.pad(x[cut], widths, constant_values=value or 0)
    return np.pad(x, widths, {"replicate": "edge", "circular": "wrap"}.get(mode, mode))


# fmt: off
VIEWS = (
    op("view", np.reshape, call(GRID, (2, 3, 2, 2)), call(MAT, (3, 1, 4)), call(VEC, (2, -1)), call(A(), (1, 1)),
       call(GRID, (6, 4)), call(GRID, -1), call(A(0, 3), (3, 0))),
    op("flatten", flatten, call(GRID), call(GRID, 1), call(GRID, 0, 1), call(GRID, -2, -1), call(A()),
       call(A(), 0), call(A(0, 2)), call(A(2, 3), start_dim=1, end_dim=1)),
    op("moveaxis", np.moveaxis, call(GRID, 0, -1), call(GRID, (0, 1), (-1, -2)), call(GRID, [2], [0]),
       call(A(), (), ()), call(A(0, 2), 0, 1)),
    op("flip", np.flip, call(GRID), call(GRID, 1), call(GRID, (0, -1)), call(A()), call(A(0, 2)),
       call(A(1)), call(GRID, axis=())),
    op("fliplr", np.fliplr, call(MAT), call(GRID), call(A(2, 0))),
    op("flipud", np.flipud, call(MAT), call(VEC), call(A(0))),
    op("roll", np.roll, call(GRID, 5), call(GRID, -1, 1), call(GRID, (1, 2), (0, -1)), call(A(5), 12),
       call(GRID, 1, (0, 1)), call(GRID, (1, -3), 2), call(A(), 3), call(A(0, 3), 1), call(A(0, 3), 2, 0),
       call(VEC, 0), call(MAT, (1, 2))),
    op("rot90", np.rot90, call(MAT), call(MAT, 2), call(MAT, -1), call(GRID, 5, (1, 2)),
       call(GRID, 3, (-1, 0)), call(MAT, 0), call(A(0, 2))),
)

ARRANGED = (
    op("broadcast_arrays", np.broadcast_arrays, call(MAT, A(1, 4)), call(A(3, 1), A(2)), call(A(1), A(0))),
    op("atleast_1d", np.atleast_1d, call(A()), call(MAT), call(A(0))),
    op("atleast_2d", np.atleast_2d, call(A()), call(VEC), call(GRID), call(A(), VEC)),
    op("atleast_3d", np.atleast_3d, call(A()), call(VEC), call(MAT), call(GRID), call(VEC, MAT)),
    op("meshgrid", np.meshgrid, call(VEC, A(3)), call(VEC, A(3), indexing="ij"), call(A(2), A(3), A(4)),
       call(VEC, A(3), sparse=True), call(A(), A(2)), call(MAT, A(0)), call(VEC),
       call(A(2), A(3), sparse=True, indexing="ij"), grown=400),
    op("vstack", np.vstack, call((VEC, VEC)), call([MAT, VEC]), call([A(), A()]), call([GRID, GRID])),
    op("hstack", np.hstack, call((VEC, A(2))), call([MAT, A(3, 1)]), call([A(), A()]), call([A(0), VEC])),
    op("dstack", np.dstack, call((VEC, VEC)), call([MAT, MAT]), call([A(), A(1)]), call([GRID, A(2, 3, 1)])),
    op("column_stack", np.column_stack, call((VEC, VEC)), call([MAT, A(3)]), call([A(), A(1)])),
)

SPLIT = (
    op("split", np.split, call(A(6), 3), call(MAT, 2, axis=1), call(MAT, 2, -1), call(GRID, [1, 2], axis=2),
       call(VEC, [2, 2, 9]), call(VEC, [3, 1]), call(VEC, (-1,)), call(A(0, 2), 3), call(MAT, 1), call(VEC, [])),
    op("array_split", np.array_split, call(A(7), 3), call(MAT, 3, axis=1), call(A(2), 4), call(A(0), 2),
       call(VEC, [1, 3])),
    op("hsplit", np.hsplit, call(A(6), 2), call(MAT, 2), call(MAT, [1, 3]), call(GRID, 3)),
    op("vsplit", np.vsplit, call(MAT, 3), call(GRID, [1])),
    op("dsplit", np.dsplit, call(GRID, 2), call(GRID, [1, 1])),
    op("chunk", chunk, call(A(7), 3), call(MAT, 3, axis=1), call(A(2), 5), call(MAT, 1, -1), call(A(0, 2), 2)),
    op("unbind", np.unstack, call(MAT), call(GRID, axis=1), call(GRID, axis=-1), call(VEC), call(A(2, 0))),
    op("unstack", np.unstack, call(MAT), call(GRID, axis=1), call(GRID, axis=-1), call(VEC), call(VEC, axis=-1), call(A(0))),
    op("narrow", narrow, call(MAT, 0, 1, 2), call(MAT, -1, -3, 2), call(VEC, 0, 4, 0), call(A(0, 2), 0, 0, 0)),
)

REPEATED = (
    op("repeat", np.repeat, call(MAT, 3), call(MAT, 2, axis=1), call(MAT, [1, 0, 2], axis=0), call(A(), 2),
       call(VEC, [2, 0, 1, 1]), call(MAT, 1), call(A(0, 2), 2, axis=1), call(MAT, 0, axis=-1), call(GRID, [2], 1),
       large=(call(A(300, 700), 2, axis=1),)),
    op("tile", np.tile, call(MAT, 2), call(MAT, (2, 1)), call(VEC, (2, 3)), call(GRID, (2, 1, 1)), call(A(), 3),
       call(A(), ()), call(A(), (2, 2)), call(MAT, (2, 1, 2)), call(MAT, 0), call(A(0), 2), call(GRID, 1),
       call(A(1), (3,)), call(MAT, ()), large=(call(A(300, 700), (2, 2)),)),
    op("pad", np.pad, call(MAT, 1), call(MAT, (1, 2)), call(MAT, ((1, 0), (0, 2))), call(VEC, 2, constant_values=1.5),
       call(MAT, 1, constant_values=((1, 2), (3, 4))), call(MAT, 0), call(A(), 1), call(A(0, 2), 1),
       call(MAT, ((2, 1),), mode="edge"), call(MAT, 2, mode="reflect"), call(A(3), (7, 8), mode="reflect"),
       call(A(3), (7, 8), mode="symmetric"), call(A(3), (7, 8), mode="wrap"), call(A(1), 3, mode="reflect"),
       call(GRID, ((0, 1), (2, 0), (1, 1)), mode="wrap"), call(MAT, 2, mode="symmetric"), call(MAT, ((1,), (2,))),
       call(MAT, ((2, 3), (1, 0)), mode="linear_ramp"), call(MAT, 2, mode="linear_ramp", end_values=((1, 2), (3, 4))),
       *(call(GRID, ((1, 2), (0, 3), (2, 0)), mode=m) for m in ("maximum", "minimum", "mean", "median")),
       *(call(MAT, 2, mode=m, stat_length=((2, 1), (3, 9))) for m in ("maximum", "minimum", "mean", "median")),
       call(MAT, ((2, 1), (3, 0)), mode="reflect", reflect_type="odd"),
       call(MAT, ((2, 3), (4, 0)), mode="symmetric", reflect_type="odd"),
       call(MAT, 0, mode="edge"), call(A(2, 0), ((1, 1), (0, 0)), mode="edge"),
       large=(call(A(700, 600), 3), call(A(700, 600), 3, mode="reflect"))),
    op("nn.functional.pad", torch_pad, call(MAT, (1, 2)), call(MAT, (1, -1, 0, 2)), call(GRID, (1, 1), value=2.5),
       call(MAT, (-1, -2)), call(MAT, (2, 1), mode="reflect"), call(GRID, (1, 2, 3, 0), mode="replicate"),
       call(MAT, (4, 1), mode="circular"), call(A(0, 2), (1, 0)), call(VEC, ())),
)

DIAGONALS = (
    op("tril", np.tril, call(MAT), call(MAT, 1), call(GRID, -1), call(VEC), call(A(0, 3)), call(MAT, k=-9),
       call(MAT, 9), call(A(1, 1))),
    op("triu", np.triu, call(MAT), call(MAT, 1), call(GRID, -1), call(VEC), call(A(3, 0)), call(MAT, k=-9),
       call(MAT, 9)),
    op("diagonal", np.diagonal, call(MAT), call(MAT, 1), call(GRID, -1, 1, 2), call(GRID, axis1=2, axis2=0),
       call(MAT, 9), call(MAT, -9), call(A(0, 2))),
    op("diag", np.diag, call(VEC), call(VEC, 2), call(VEC, -1), call(MAT), call(MAT, 1), call(A(0)), call(MAT, -7), grown=400),
    op("diag_embed", diag_embed, call(MAT), call(MAT, 1), call(GRID, -2), call(MAT, 0, 0, 2), call(MAT, 1, 2, 0),
       call(VEC), call(A(2, 0)), grown=400),
    op("diagflat", np.diagflat, call(MAT), call(VEC, 1), call(A()), call(A(0), -1), grown=400),
    op("trace", np.trace, call(MAT), call(MAT, 1), call(GRID, 0, 1, 2), call(GRID, offset=-1, axis1=2, axis2=0),
       call(A(0, 2)), call(MAT, 9)),
)

WINDOWS = (
    op("unfold", unfold, call(A(7), 0, 3, 2), call(GRID, -1, 2, 1), call(GRID, 1, 2, 3), call(VEC, 0, 4, 1),
       call(A(5), 0, 2, 3), call(A(), 0, 1, 1), call(A(0, 3), 1, 2, 1), large=(call(A(50, 900), 1, 9, 2),)),
    op("sliding_window_view", window_view, call(A(6), 3), call(MAT, (2, 2)), call(GRID, 2, axis=1),
       call(MAT, (2, 2), axis=(1, 1)), call(GRID, (2, 3), axis=(0, -1)), call(A(0, 3), 2, axis=1)),
)

# fmt: on

CASES = (*VIEWS, *ARRANGED, *SPLIT, *REPEATED, *DIAGONALS, *WINDOWS)
