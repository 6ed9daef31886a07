"""The rows of the operation table that move windows over images.

What a row says: `cases.py`.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from case_model import A, Case, call, op

IMAGE, STRIPS = A(2, 3, 5, 6), A(2, 3, 7)
PIXELS = A(2, 3, 5, 6, distinct=True)
LINES = A(2, 3, 7, distinct=True)
GRID = A(2, 3, 2, 2, low=-1.4, high=1.4)

Function = Callable[..., Any]


def two(value: Any) -> tuple[int, int]:
    return tuple(value) if isinstance(value, tuple) else (value, value)


def conv2d(
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """By its definition: the sum over every tap of the kernel."""
    if x.ndim == 3:
        return conv2d(x[None], w, bias, stride, padding, dilation, groups)[0]
    (si, sj), (di, dj) = two(stride), two(dilation)
    if padding == "same":
        spare = [d * (k - 1) for d, k in zip((di, dj), w.shape[2:], strict=True)]
        sides = [(n // 2, n - n // 2) for n in spare]
    else:
        sides = [(p, p) for p in two(0 if padding == "valid" else padding)]
    x = np.pad(x, ((0, 0), (0, 0), *sides))
    rows = (x.shape[2] - di * (w.shape[2] - 1) - 1) // si + 1
    columns = (x.shape[3] - dj * (w.shape[3] - 1) - 1) // sj + 1
    x = x.reshape(len(x), groups, x.shape[1] // groups, *x.shape[2:])
    w = w.reshape(groups, -1, *w.shape[1:])
    out = np.zeros((len(x), groups, w.shape[1], rows, columns), x.dtype)
    for i, j in np.ndindex(w.shape[3:]):
        ends = i * di + rows * si, j * dj + columns * sj
        seen = x[..., i * di : ends[0] : si, j * dj : ends[1] : sj]
        out += np.einsum("ngchw,goc->ngohw", seen, w[..., i, j])
    out = out.reshape(len(x), groups * w.shape[1], rows, columns)
    return out if bias is None else out + bias[:, None, None]


def conv1d(x: Any, w: Any, bias: Any = None, groups: int = 1, **steps: Any) -> Any:
    both = {
        name: value if isinstance(value, str) else (int(name != "padding"), value)
        for name, value in steps.items()
    }
    return conv2d(x[..., None, :], w[..., None, :], bias, groups=groups, **both)[..., 0, :]


def conv_transpose2d(
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """By its definition: every element adds the kernel, times itself, to its place."""
    (si, sj), (pi, pj), (di, dj) = two(stride), two(padding), two(dilation)
    (oi, oj), (n, _, h, wide) = two(output_padding), x.shape
    rows = (h - 1) * si + di * (w.shape[2] - 1) + 1
    columns = (wide - 1) * sj + dj * (w.shape[3] - 1) + 1
    out = np.zeros((n, groups, w.shape[1], rows + oi, columns + oj), x.dtype)
    x = x.reshape(n, groups, -1, h, wide)
    w = w.reshape(groups, -1, *w.shape[1:])
    for i, j in np.ndindex(w.shape[3:]):
        ends = i * di + h * si, j * dj + wide * sj
        part = np.einsum("ngchw,gco->ngohw", x, w[..., i, j])
        out[..., i * di : ends[0] : si, j * dj : ends[1] : sj] += part
    out = out[..., pi : rows + oi - pi, pj : columns + oj - pj].reshape(
        n, -1, rows + oi - 2 * pi, columns + oj - 2 * pj
    )
    return out if bias is None else out + bias[:, None, None]


def windows(n: int, size: int, step: int, pad: int, apart: int, up: bool) -> list[list[int]]:
    """The places under each window of an axis, those outside it included."""
    room = n + 2 * pad - apart * (size - 1) - 1
    count = room // step + 1
    if up and room % step and count * step < n + pad:
        count += 1
    return [[i * step - pad + k * apart for k in range(size)] for i in range(count)]


def pooled(x: Any, fold: Function, axes: list[list[list[int]]]) -> Any:
    out = np.empty((*x.shape[:-2], len(axes[0]), len(axes[1])), x.dtype)
    for (i, rows), (j, columns) in itertools.product(*map(enumerate, axes)):
        out[..., i, j] = fold(x, rows, columns)
    return out


def inside(places: list[int], n: int) -> list[int]:
    return [p for p in places if 0 <= p < n]


def place(x: Any, rows: list[int], columns: list[int]) -> Any:
    """Where in the plane the first largest element of a window is."""
    rows, columns = inside(rows, x.shape[-2]), inside(columns, x.shape[-1])
    seen = x[(..., *np.ix_(rows, columns))]
    row, column = np.divmod(seen.reshape(*seen.shape[:-2], -1).argmax(-1), len(columns))
    return np.array(rows)[row] * x.shape[-1] + np.array(columns)[column]


def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    sizes, steps, pads = two(kernel_size), two(stride or kernel_size), two(padding)
    spec = zip(x.shape[-2:], sizes, steps, pads, two(dilation), strict=True)
    axes = [windows(*axis, ceil_mode) for axis in spec]

    def largest(x: Any, rows: list[int], columns: list[int]) -> Any:
        seen = np.ix_(inside(rows, x.shape[-2]), inside(columns, x.shape[-1]))
        return x[(..., *seen)].max((-2, -1))

    out = pooled(x, largest, axes)
    if not return_indices:
        return out
    return out, pooled(x, place, axes).astype(np.int64)


def max_pool1d(x: Any, kernel_size: int, stride: Any = None, **options: Any) -> Any:
    pairs = {"padding": 0, "dilation": 1}
    both = {k: (pairs[k], v) if k in pairs else v for k, v in options.items()}
    step = (1, stride or kernel_size)
    found = max_pool2d(x[..., None, :], (1, kernel_size), step, **both)
    return tuple(f[..., 0, :] for f in found) if type(found) is tuple else found[..., 0, :]


def avg_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Any:
    sizes, pads = two(kernel_size), two(padding)
    steps = two(stride or kernel_size)
    spec = zip(x.shape[-2:], sizes, steps, pads, (1, 1), strict=True)
    axes = [windows(*axis, ceil_mode) for axis in spec]

    def mean(x: Any, rows: list[int], columns: list[int]) -> Any:
        seen = [inside(p, n) for p, n in zip((rows, columns), x.shape[-2:], strict=True)]
        spots = seen
        if count_include_pad:
            reach = [n + p for n, p in zip(x.shape[-2:], pads, strict=True)]
            spots = [[k for k in p if k < r] for p, r in zip((rows, columns), reach, strict=True)]
        count = divisor_override or len(spots[0]) * len(spots[1])
        return x[(..., *np.ix_(*seen))].sum((-2, -1)) / count

    return pooled(x, mean, axes)


def adaptive_avg_pool2d(x: Any, output_size: Any) -> Any:
    axes = [
        [list(range(i * n // o, -(-(i + 1) * n // o))) for i in range(o)]
        for n, o in zip(x.shape[-2:], two(output_size), strict=True)
    ]
    return pooled(x, lambda x, r, c: x[(..., *np.ix_(r, c))].mean((-2, -1)), axes)


def placed(p: float, n: int, padding: str, corners: bool) -> float:
    """Where a coordinate from -1 to 1 lies on an axis of n elements."""
    at = (p + 1) / 2 * (n - 1) if corners else ((p + 1) * n - 1) / 2
    if padding == "reflection":
        low, span = (0.0, n - 1.0) if corners else (-0.5, float(n))
        away = (at - low) % (2 * span) if span else 0.0
        at = min(away, 2 * span - away) + low
    return at if padding == "zeros" else min(max(at, 0.0), n - 1.0)


def grid_sample(
    x: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: Any = None,
) -> Any:
    """By its definition: each place is a sum over the elements around it that exist."""
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]), np.result_type(x, grid))
    for image, *spot in np.ndindex(grid.shape[:-1]):
        lines = []
        coordinates = grid[(image, *spot)][::-1]
        for p, n in zip(coordinates, x.shape[2:], strict=True):
            at = placed(p, n, padding_mode, bool(align_corners))
            low = int(np.floor(at))
            near = [(low, low + 1 - at), (low + 1, at - low)]
            near = [(int(np.round(at)), 1.0)] if mode == "nearest" else near
            lines.append([(k, w) for k, w in near if 0 <= k < n])
        for corner in itertools.product(*lines):
            weight = np.prod([w for _, w in corner])
            seen = x[(image, slice(None), *(k for k, _ in corner))]
            out[(image, slice(None), *spot)] += weight * seen
    return out


def cubic(d: float) -> float:
    d, a = abs(d), -0.75
    if d <= 1:
        return float(((a + 2) * d - (a + 3)) * d * d + 1)
    return float(((d - 5) * d + 8) * d * a - 4 * a)


def interpolate_axis(
    x: Any,
    axis: int,
    size: int,
    scale: float,
    mode: str = "linear",
    align_corners: bool = False,
) -> Any:
    """By its definition: weights of the elements around each new one."""
    rows = np.moveaxis(x, axis, -1)
    n = rows.shape[-1]
    weights = np.zeros((size, n))
    for i in range(size):
        at = (i + 0.5) * scale - 0.5
        if align_corners:
            at = i * (n - 1) / (size - 1) if size > 1 else 0.0
        elif mode == "linear":
            at = max(at, 0.0)
        low = int(np.floor(at))
        for k in range(low - 1, low + 3):
            share = max(1 - abs(at - k), 0.0) if mode == "linear" else cubic(at - k)
            weights[i, min(max(k, 0), n - 1)] += share
    return np.moveaxis(rows @ weights.T, -1, axis)


def row(name: str, ref: Function, *calls: Any, **over: Any) -> Case:
    """A row of `fg.nn.functional`."""
    return op(name, ref, *calls, path=f"nn.functional.{name}", **{"ints": None, **over})


# fmt: off
IMAGES = (
    row("conv1d", conv1d, call(STRIPS, A(4, 3, 3)), call(STRIPS, A(4, 3, 3), A(4)),
        call(STRIPS, A(4, 3, 3), stride=2, padding=1), call(A(3, 7), A(2, 3, 2)),
        call(A(2, 4, 7), A(4, 2, 3), A(4), dilation=2, groups=2, padding=3),
        call(STRIPS, A(4, 3, 4), padding="same"), call(STRIPS, A(4, 3, 2), padding="valid"), f32=1e-5, finite=True),
    row("conv2d", conv2d, call(IMAGE, A(2, 3, 3, 2)), call(IMAGE, A(2, 3, 3, 2), A(2)),
        call(IMAGE, A(4, 3, 3, 2), stride=2, padding=1),
        call(IMAGE, A(2, 3, 2, 3), A(2), padding="same"), call(IMAGE, A(2, 3, 3, 2), padding="valid"),
        call(IMAGE, A(2, 3, 3, 2), padding="same", dilation=(1, 3)),
        call(IMAGE, A(2, 3, 3, 2), A(2), (2, 1), (0, 2), (1, 2)),
        call(A(2, 4, 5, 6), A(4, 2, 3, 3), A(4), groups=2, padding=1),
        call(A(2, 4, 5, 6), A(8, 1, 3, 3), groups=4, padding=2, stride=3, dilation=2),
        call(A(2, 4, 3, 3), A(5, 4, 1, 1), A(5)), call(A(2, 4, 3, 3), A(6, 2, 1, 1), groups=2),
        call(A(2, 4, 4, 3), A(5, 4, 1, 1), stride=2), call(A(3, 4, 4), A(2, 3, 4, 4)),
        call(A(1, 1, 2, 2), A(1, 1, 3, 3), padding=3, stride=2), call(A(0, 3, 4, 4), A(2, 3, 3, 3)),
        f32=1e-5, finite=True, large=(call(A(9, 8, 20, 20), A(12, 8, 3, 3), A(12), padding=1),)),
    row("conv_transpose2d", conv_transpose2d, call(A(2, 3, 3, 4), A(3, 2, 3, 2), A(2)),
        call(A(2, 3, 4, 3), A(3, 4, 3, 2), stride=2, padding=1, output_padding=1),
        call(A(2, 4, 3, 3), A(4, 2, 3, 3), A(4), (2, 3), 1, (1, 0), 2, 2), f32=1e-5, finite=True,
        large=(call(A(3, 16, 20, 20), A(16, 12, 3, 3)),)),
    row("max_pool1d", max_pool1d, call(LINES, 2), call(LINES, 3, 1, padding=1, dilation=2),
        call(LINES, 3, ceil_mode=True), call(LINES, 3, return_indices=True), finite=True),
    row("max_pool2d", max_pool2d, call(PIXELS, 2), call(PIXELS, 3, stride=2, padding=1),
        call(PIXELS, (3, 2), (1, 2), (1, 0), (1, 2)), call(PIXELS, 2, ceil_mode=True),
        call(PIXELS, 3, 1, 1, return_indices=True),
        call(A(5, 6, distinct=True), 3), finite=True,
        kinks=((([[1.0, 1.0], [0.0, 1.0]], 2), ([[1.0, 0.0], [0.0, 0.0]],)),),
        large=(call(A(8, 8, 20, 20, distinct=True), 3, 2),)),
    row("avg_pool2d", avg_pool2d, call(IMAGE, 2), call(IMAGE, 3, stride=2, padding=1),
        call(IMAGE, (3, 2), (1, 2), (1, 0), count_include_pad=False), call(IMAGE, 2, ceil_mode=True),
        call(IMAGE, 3, 2, 1, True, False), call(IMAGE, 3, divisor_override=5), f32=1e-5,
        finite=True, large=(call(A(8, 8, 20, 20), 3, 2),)),
    row("adaptive_avg_pool2d", adaptive_avg_pool2d, call(A(2, 3, 7, 5), (3, 2)), call(IMAGE, 1),
        call(A(1, 2, 4, 4), (4, 2)), call(A(3, 3), (5, 4)), f32=1e-5, finite=True),
    row("grid_sample", grid_sample, call(A(2, 2, 3, 4), GRID), call(A(2, 2, 3, 4), GRID, align_corners=True),
        call(A(2, 2, 3, 4), GRID, padding_mode="border"), call(A(2, 2, 3, 4), GRID, padding_mode="reflection"),
        call(A(1, 2, 3, 2, 4), A(1, 2, 1, 3, 3, low=-1.2, high=1.2)), f32=1e-5, finite=True,
        large=(call(A(3, 8, 20, 20), A(3, 60, 60, 2, low=-1.2, high=1.2)),)),
    row("interpolate_axis", interpolate_axis, call(IMAGE, 2, 7, 5 / 7), call(IMAGE, -1, 4, 1.5),
        call(IMAGE, 3, 9, 6 / 9, "cubic"), call(STRIPS, 0, 5, 0.4, align_corners=True),
        call(STRIPS, -1, 3, 7 / 3, "cubic", True), f32=1e-5, finite=True,
        large=(call(A(40, 20, 40), 1, 60, 1 / 3), call(A(40, 20, 40), 2, 60, 2 / 3)),),
)
# fmt: on

CASES = IMAGES
