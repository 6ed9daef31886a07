"""Unpooling: moves largest elements back to their positions.

Invariant: other elements are zero.
"""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor, asarray
from ferrograd._tensor import creation
from ferrograd.errors import ShapeError
from ferrograd.nn.functional._arguments import Sizes, check_ndim, make_ntuple


def _max_unpool(
    axes: int, x: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    op = f"max_unpool{axes}d"
    x, indices = check_ndim(op, x, (axes + 1, axes + 2), "(N, C, …)"), asarray(indices)
    if tuple(indices.shape) != tuple(x.shape):
        raise ShapeError(
            f"{op}: an input of shape {tuple(x.shape)} and indices of shape"
            f" {tuple(indices.shape)}; give the places that max_pool{axes}d returned"
        )
    size = make_ntuple(op, "kernel_size", kernel_size, axes)
    step = size if stride is None else make_ntuple(op, "stride", stride, axes)
    width = make_ntuple(op, "padding", padding, axes)
    lead, given = x.shape[:-axes], x.shape[-axes:]
    whole = [
        (int(n) - 1) * s - 2 * p + k for n, s, p, k in zip(given, step, width, size, strict=True)
    ]
    if output_size is not None:
        wanted = tuple(int(n) for n in output_size)[-axes:]
        fits = zip(wanted, whole, step, strict=True) if len(wanted) == axes else ()
        if len(wanted) != axes or not all(abs(n - m) < s for n, m, s in fits):
            raise ShapeError(
                f"{op}: output_size is {tuple(output_size)}; give {tuple(whole)}, or less than a"
                f" stride, {step}, away from it"
            )
        whole = list(wanted)
    flat = creation.zeros((*lead, math.prod(whole)), dtype=x.dtype)
    count = math.prod(int(n) for n in given)
    shape = (*lead, count)
    out = _core.scatter(flat, -1, indices.reshape(shape), x.reshape(shape))
    return out.reshape((*lead, *whole))


def max_unpool1d(
    x: Any,
    indices: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Any = None,
) -> Tensor:
    """The elements of (N, C, L) at the indices from `max_pool1d`, zeros elsewhere.

    The length follows from the window options, or is the last of `output_size`. Derivative: `g` at
    the indices. Errors: `ShapeError` for indices or sizes that do not fit.

    >>> import ferrograd as fg
    >>> F = fg.nn.functional
    >>> x, places = F.max_pool1d(fg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    >>> F.max_unpool1d(x, places, 2).tolist()
    [[0.0, 3.0, 2.0, 0.0]]
    """
    return _max_unpool(1, x, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    x: Any,
    indices: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Any = None,
) -> Tensor:
    """The elements of (N, C, H, W) at the indices from `max_pool2d`; as `max_unpool1d`.

    >>> import ferrograd as fg
    >>> F = fg.nn.functional
    >>> x, places = F.max_pool2d(fg.ones(1, 2, 4, 6), 2, return_indices=True)
    >>> F.max_unpool2d(x, places, 2).shape
    (1, 2, 4, 6)
    """
    return _max_unpool(2, x, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    x: Any,
    indices: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Any = None,
) -> Tensor:
    """The elements of (N, C, D, H, W) at the indices from `max_pool3d`; as `max_unpool1d`.

    >>> import ferrograd as fg
    >>> F = fg.nn.functional
    >>> x, places = F.max_pool3d(fg.ones(1, 2, 4, 6, 2), 2, return_indices=True)
    >>> F.max_unpool3d(x, places, 2).shape
    (1, 2, 4, 6, 2)
    """
    return _max_unpool(3, x, indices, kernel_size, stride, padding, output_size)
