"""Pooling functions that are not operations of the core.

Each is an operation of the core on another shape, or a selection of elements. Invariant: sequences
are images with one row.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn import _operations
from ferrograd.nn.functional._arguments import Sizes, check_integer, check_ndim, make_ntuple


def avg_pool1d(
    x: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Means of windows along the last axis of (N, C, L) or (C, L); options as `avg_pool2d`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.avg_pool1d(fg.arange(4.0).reshape(1, 4), 2).tolist()
    [[0.5, 2.5]]
    """
    op = "avg_pool1d"
    x = check_ndim(op, x, (2, 3), "(N, C, L)")
    (size,) = make_ntuple(op, "kernel_size", kernel_size, 1)
    (step,) = (size,) if stride is None else make_ntuple(op, "stride", stride, 1)
    (width,) = make_ntuple(op, "padding", padding, 1)
    lines = _operations.avg_pool2d(
        x.unsqueeze(-2), (1, size), (1, step), (0, width), ceil_mode, count_include_pad
    )
    return lines.squeeze(-2)


def adaptive_avg_pool1d(x: Any, output_size: Sizes) -> Tensor:
    """Means of the windows that divide the last axis of (N, C, L) into `output_size` parts.

    >>> import ferrograd as fg
    >>> fg.nn.functional.adaptive_avg_pool1d(fg.arange(4.0).reshape(1, 4), 2).tolist()
    [[0.5, 2.5]]
    """
    x = check_ndim("adaptive_avg_pool1d", x, (2, 3), "(N, C, L)")
    (size,) = make_ntuple("adaptive_avg_pool1d", "output_size", output_size, 1)
    return _operations._adaptive_avg_pool2d(x.unsqueeze(-2), (1, size)).squeeze(-2)


def adaptive_avg_pool2d(x: Any, output_size: Any) -> Tensor:
    """Means of the windows that divide the last two axes into `output_size` parts.

    A part that is None is as long as the axis. dx = `g` shared by the window.

    >>> import ferrograd as fg
    >>> fg.nn.functional.adaptive_avg_pool2d(fg.ones(1, 3, 8, 9), (None, 3)).shape
    (1, 3, 8, 3)
    """
    if isinstance(output_size, list | tuple) and None in output_size:
        x = asarray(x)
        sizes = zip(output_size, x.shape[-2:], strict=True)
        output_size = tuple(n if part is None else part for part, n in sizes)
    if type(output_size) in (int, tuple) and output_size in (1, (1, 1)):
        x = asarray(x)
        # One window is a mean; the operation has the errors.
        if x.dtype.kind == "f" and x.ndim in (3, 4) and 0 not in x.shape[-2:]:
            return x.mean((-2, -1), keepdims=True)
    return _operations._adaptive_avg_pool2d(x, output_size)


def adaptive_max_pool1d(x: Any, output_size: Sizes, return_indices: bool = False) -> Any:
    """Largest elements of the windows that divide the last axis into `output_size` parts.

    With `return_indices`, also their indices. dx = `g` for the largest element, the first of equal
    ones.

    >>> import ferrograd as fg
    >>> fg.nn.functional.adaptive_max_pool1d(fg.arange(4.0).reshape(1, 4), 2).tolist()
    [[1.0, 3.0]]
    """
    x = check_ndim("adaptive_max_pool1d", x, (2, 3), "(N, C, L)")
    (size,) = make_ntuple("adaptive_max_pool1d", "output_size", output_size, 1)
    out, places = adaptive_max_pool2d(x.unsqueeze(-2), (1, size), return_indices=True)
    return (out.squeeze(-2), places.squeeze(-2)) if return_indices else out.squeeze(-2)


def adaptive_max_pool2d(x: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Largest elements of the windows that divide the last two axes into `output_size` parts.

    With `return_indices`, also their indices in the flattened plane. dx = `g` for the largest
    element, the first of equal ones.

    >>> import ferrograd as fg
    >>> fg.nn.functional.adaptive_max_pool2d(fg.ones(1, 3, 8, 9), (4, None)).shape
    (1, 3, 4, 9)
    """
    x = check_ndim("adaptive_max_pool2d", x, (3, 4), "(N, C, H, W)")
    return _adaptive_max_pool("adaptive_max_pool2d", x, output_size, 2, return_indices)


def adaptive_max_pool3d(x: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Largest elements of the windows that divide the last three axes; as `adaptive_max_pool2d`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.adaptive_max_pool3d(fg.ones(1, 3, 8, 9, 4), (4, None, 1)).shape
    (1, 3, 4, 9, 1)
    """
    x = check_ndim("adaptive_max_pool3d", x, (4, 5), "(N, C, D, H, W)")
    return _adaptive_max_pool("adaptive_max_pool3d", x, output_size, 3, return_indices)


def _adaptive_max_pool(
    op: str, x: Tensor, output_size: Any, axes: int, return_indices: bool
) -> Any:
    if not isinstance(output_size, list | tuple):
        output_size = (output_size,) * axes
    if len(output_size) != axes:
        raise ArgumentError(f"{op}: output_size is {output_size}; give {axes} sizes")
    lead, sizes = tuple(x.shape[:-axes]), [int(n) for n in x.shape[-axes:]]
    counts = [
        n if count is None else check_integer(op, "output_size", count)
        for n, count in zip(sizes, output_size, strict=True)
    ]
    even = all(0 < count <= n and not n % count for n, count in zip(sizes, counts, strict=True))
    windows = tuple(n // max(count, 1) for n, count in zip(sizes, counts, strict=True))
    if axes == 2 and even and math.prod(windows) <= 32 and x.dtype.kind == "f":
        return _operations.max_pool2d(x, windows, return_indices=return_indices)
    if 0 in sizes:
        raise ShapeError(
            f"{op}: an input of shape {tuple(x.shape)}; give one with elements in its last axes"
        )
    flat = x.reshape((*lead, math.prod(sizes)))
    if set(counts) == {1}:
        chosen = _core.argmax(flat.detach(), -1, keepdims=True)
    else:
        places = _compute_window_indices(sizes, counts)
        within = _core.argmax(flat.detach()[..., places], -1, keepdims=True)
        chosen = _core.take_along_axis(places.reshape((1,) * len(lead) + places.shape), within, -1)
        chosen = chosen.reshape((*lead, math.prod(counts)))
    out = _core.take_along_axis(flat, chosen, -1).reshape((*lead, *counts))
    return (out, chosen.reshape(out.shape)) if return_indices else out


def _compute_window_indices(sizes: list[int], counts: list[int]) -> np.ndarray:
    """Places of the elements of each window in the flattened axes: (windows…, elements)."""
    axes = len(sizes)
    places = np.zeros((1,) * (2 * axes), np.int64)
    for axis, (n, count) in enumerate(zip(sizes, counts, strict=True)):
        parts = _split_axis(n, count)
        shape = [1] * (2 * axes)
        shape[axis], shape[axes + axis] = parts.shape
        places = places * n + parts.reshape(shape)
    return np.ascontiguousarray(places.reshape(*counts, -1))


def _split_axis(length: int, count: int) -> np.ndarray:
    """The elements of each part; shorter parts repeat their first element."""
    if count < 1:
        raise ArgumentError(f"adaptive_max_pool: an output size of {count}; give at least 1")
    starts = np.arange(count) * length // count
    ends = -(-(np.arange(count) + 1) * length // count)
    longest = int((ends - starts).max())
    return np.maximum(ends[:, None] - longest + np.arange(longest), starts[:, None])


def lp_pool1d(
    x: Any,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """`(Σ x^p)^(1/p)` over windows along the last axis, with `p = norm_type`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.lp_pool1d(fg.tensor([[3.0, 4.0]]), 2, 2).tolist()
    [[5.0]]
    """
    (size,) = make_ntuple("lp_pool1d", "kernel_size", kernel_size, 1)
    means = avg_pool1d(asarray(x) ** norm_type, size, stride, 0, ceil_mode)
    return compute_p_norm(means, size, norm_type)


def lp_pool2d(
    x: Any,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """`(Σ x^p)^(1/p)` over windows of the last two axes, with `p = norm_type`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.lp_pool2d(fg.ones(1, 1, 2, 2), 2, 2).tolist()
    [[[[2.0]]]]
    """
    kernel = make_ntuple("lp_pool2d", "kernel_size", kernel_size, 2)
    means = _operations.avg_pool2d(asarray(x) ** norm_type, kernel, stride, 0, ceil_mode)
    return compute_p_norm(means, kernel[0] * kernel[1], norm_type)


def compute_p_norm(means: Tensor, size: int, p: float) -> Tensor:
    """The root of sums, 0 where they are not positive."""
    return _core.relu(means * float(size)) ** (1.0 / p)
