"""Pooling over windows at random positions.

Invariant: of equal elements in a window, the first in memory is the largest.
"""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor, asarray
from ferrograd._tensor import creation
from ferrograd._tensor.random import rand
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn.functional._arguments import Sizes, check_ndim, make_ntuple


def fractional_max_pool2d(
    input: Any,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Largest element of windows with random start positions, which increase along each axis.

    Shapes: (N, C, H, W) or (C, H, W) to `output_size`, or to `output_ratio` of the input's. With
    `return_indices`, also their indices in the flattened image. The random samples are uniform in
    [0, 1), (N, C, 2): for columns, then for rows. Derivative: `g` for the largest element, the
    first of equal ones. Source: Graham, Fractional Max-Pooling, 2014.
    Errors: `ArgumentError` for neither or both of size and ratio, `ShapeError` for windows that do
    not fit.

    >>> import ferrograd as fg
    >>> fg.nn.functional.fractional_max_pool2d(fg.ones(1, 1, 7, 7), 2, output_size=5).shape
    (1, 1, 5, 5)
    """
    options = (kernel_size, output_size, output_ratio, return_indices, _random_samples)
    return _fractional_max_pool("fractional_max_pool2d", 2, input, *options)


def fractional_max_pool3d(
    input: Any,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """As `fractional_max_pool2d`, of volumes (N, C, D, H, W) or (C, D, H, W).

    The random samples are (N, C, 3): for planes, rows and columns.

    >>> import ferrograd as fg
    >>> fg.nn.functional.fractional_max_pool3d(fg.ones(1, 1, 5, 5, 5), 2, output_ratio=0.5).shape
    (1, 1, 2, 2, 2)
    """
    options = (kernel_size, output_size, output_ratio, return_indices, _random_samples)
    return _fractional_max_pool("fractional_max_pool3d", 3, input, *options)


def _fractional_max_pool(
    op: str, axes: int, x: Any, kernel: Any, size: Any, ratio: Any, places: bool, samples: Any
) -> Any:
    x = check_ndim(op, x, (axes + 1, axes + 2), "(N, C, …)")
    if x.ndim == axes + 1:
        found = _fractional_max_pool(op, axes, x[None], kernel, size, ratio, places, samples)
        return (found[0][0], found[1][0]) if places else found[0]
    spans, windows = [int(n) for n in x.shape[2:]], make_ntuple(op, "kernel_size", kernel, axes)
    outs = compute_output_size(op, axes, size, ratio, spans)
    if any(o < 1 or o + w - 1 > n for o, w, n in zip(outs, windows, spans, strict=True)):
        raise ShapeError(
            f"{op}: {tuple(outs)} windows of {windows} over axes of {tuple(spans)} elements; give"
            " output_size + kernel_size - 1 of at most these"
        )
    rows = (int(x.shape[0]), int(x.shape[1]))
    drawn = rand(*rows, axes, dtype=x.dtype) if samples is None else asarray(samples)
    if tuple(drawn.shape) != (*rows, axes):
        raise ShapeError(
            f"{op}: random numbers of shape {tuple(drawn.shape)}; give {(*rows, axes)}"
        )
    # For two axes, PyTorch has the sample of columns first.
    order = range(axes) if axes == 3 else (1, 0)
    flat = creation.zeros((*rows, *(1,) * (2 * axes)), dtype="int64")
    for axis, (n, o, w, place) in enumerate(zip(spans, outs, windows, order, strict=True)):
        starts = _compute_window_starts(drawn[..., place : place + 1], n, o, w)
        along = starts.unsqueeze(-1) + creation.arange(w)
        shape = [*rows, *(1,) * (2 * axes)]
        shape[2 + axis], shape[2 + axes + axis] = o, w
        flat = flat * n + along.reshape(shape)
    elements = x.reshape((*rows, -1))
    taken = _core.take_along_axis(elements, flat.reshape((*rows, -1)), -1)
    taken = taken.reshape((*rows, *outs, -1))
    first = _core.argmax(taken.detach(), -1, keepdims=True)
    out = _core.take_along_axis(taken, first, -1).squeeze(-1)
    if not places:
        return out
    return out, _core.take_along_axis(flat.reshape(taken.shape), first, -1).squeeze(-1)


def compute_output_size(op: str, axes: int, size: Any, ratio: Any, spans: list[int] | None) -> Any:
    """The numbers of windows, from the output size or from a ratio of the axes."""
    if (size is None) == (ratio is None):
        raise ArgumentError(
            f"{op}: output_size={size!r} and output_ratio={ratio!r}; give one of them"
        )
    if size is not None:
        return make_ntuple(op, "output_size", size, axes)
    each = list(ratio) if isinstance(ratio, list | tuple) else [ratio] * axes
    if len(each) != axes or not all(0 < r < 1 for r in each):
        raise ArgumentError(f"{op}: output_ratio={ratio!r}; give numbers between 0 and 1")
    return None if spans is None else [math.floor(n * r) for n, r in zip(spans, each, strict=True)]


def _compute_window_starts(sample: Tensor, span: int, count: int, window: int) -> Tensor:
    """The starts of the windows along an axis: (N, C, count); the last one ends with the axis."""
    step = (span - window) / (count - 1) if count > 1 else 0.0
    begun = creation.arange(count, dtype=sample.dtype) + sample
    starts = _core.floor(begun * step) - _core.floor(sample * step)
    last = creation.arange(count) == count - 1
    return _core.where(last, span - window, starts).astype("int64")
