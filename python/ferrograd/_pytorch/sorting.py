"""Order, counts and runs under PyTorch's names.

Invariant: pairs are named tuples.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core as core
from ferrograd._core import Tensor, asarray, tensor
from ferrograd._pytorch.validate import check_integer, normalize_dim
from ferrograd._tensor.device import check_device
from ferrograd.errors import ArgumentError, DTypeError, ShapeError


class Picked(NamedTuple):
    """Elements and their indices along the axis."""

    values: Tensor
    indices: Tensor


class Extremes(NamedTuple):
    """The least and the greatest element."""

    min: Tensor
    max: Tensor


def _take_along_dim(x: Tensor, places: Any, dim: int, keepdim: bool) -> Picked:
    """The elements at indices along an axis; a 0-d tensor is its own element."""
    places = asarray(places)
    found = core.take_along_axis(core.atleast_1d(x), places, dim)
    kept = keepdim and x.ndim > 0
    pair = (found, places) if kept else (found.squeeze(dim), places.squeeze(dim))
    return Picked(*pair)


def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Picked:
    """The k-th smallest element along an axis, from 1 on, and its index.

    Errors: `ArgumentError` for a k that the axis does not have.

    >>> import ferrograd as fg
    >>> fg.kthvalue(fg.tensor([3.0, 1.0, 2.0]), 2).values.item()
    2.0
    """
    x = asarray(input)
    dim = normalize_dim("kthvalue", dim, x.ndim)
    line = core.atleast_1d(x.detach())
    length, k = int(line.shape[dim]), check_integer("kthvalue", "k", k, -(1 << 62))
    if not 1 <= k <= length:
        raise ArgumentError(
            f"kthvalue: k is {k} and the axis has {length}; give one of 1..{length}"
        )
    first = core.topk(line, k, dim, False).indices
    return _take_along_dim(x, core.take(first, [k - 1], dim), dim, keepdim)


def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Picked:
    """The most frequent element along an axis, the least of several, and its last index.

    >>> import ferrograd as fg
    >>> fg.mode(fg.tensor([2.0, 1.0, 2.0])).values.item()
    2.0
    """
    x = asarray(input)
    dim = normalize_dim("mode", dim, x.ndim)
    rows = np.moveaxis(np.atleast_1d(x.detach().numpy()), dim, -1)
    if rows.shape[-1] == 0:
        raise ShapeError(f"mode: the axis {dim} of shape {tuple(x.shape)} is empty; give elements")
    places = np.empty((*rows.shape[:-1], 1), np.int64)
    for at in np.ndindex(rows.shape[:-1]):
        found, counts = np.unique(rows[at], return_counts=True)
        places[at] = np.flatnonzero(rows[at] == found[np.argmax(counts)])[-1]
    return _take_along_dim(x, np.moveaxis(places, -1, dim), dim, keepdim)


def msort(input: Any) -> Tensor:
    """The elements in order along the first axis.

    >>> import ferrograd as fg
    >>> fg.msort([3, 1, 2]).tolist()
    [1, 2, 3]
    """
    return core.sort(input, 0)


def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> Extremes:
    """The least and the greatest element, of all or along an axis.

    >>> import ferrograd as fg
    >>> fg.aminmax(fg.tensor([3.0, 1.0, 2.0])).max.item()
    3.0
    """
    return Extremes(
        core.amin(input, dim, keepdims=keepdim), core.amax(input, dim, keepdims=keepdim)
    )


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """The count of each integer from 0 on, or the sum of its weights: (n,).

    Gradients reach the weights. Errors: NumPy's, for negative numbers and for other ranks than 1.

    >>> import ferrograd as fg
    >>> fg.bincount(fg.tensor([0, 2, 2])).tolist()
    [1, 0, 2]
    """
    plain = asarray(input).detach().numpy()
    if plain.dtype.kind not in "iub":
        raise DTypeError(f"bincount: dtype {plain.dtype} is not supported; give whole numbers")
    if plain.ndim != 1:
        raise ShapeError(f"bincount: the numbers have shape {plain.shape}; give a vector")
    minlength = check_integer("bincount", "minlength", minlength)
    heavy = None if weights is None else asarray(weights)
    found: Any = np.bincount(plain, heavy, minlength)
    return asarray(found)


def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """The counts of elements in equal parts of [min, max]; if both are 0, of the data's range.

    Elements outside are not counted. A constant of the input's dtype.

    >>> import ferrograd as fg
    >>> fg.histc(fg.tensor([1.0, 2.0, 1.0]), 4, 0, 3).tolist()
    [0.0, 2.0, 1.0, 0.0]
    """
    # Contiguous: NumPy would walk an expanded tensor, however long.
    x = np.ascontiguousarray(asarray(input).detach().numpy())
    bins = check_integer("histc", "bins", bins, 1)
    low, high = (min, max) if min != max or x.size == 0 else (x.min(), x.max())
    low, high = (low - 1, high + 1) if low == high else (low, high)
    low, high = float(low), float(high)
    if not (x.dtype.char in "fd" and math.isfinite(low) and math.isfinite(high) and low < high):
        return tensor(np.histogram(x, bins, (low, high))[0], dtype=x.dtype)
    # NumPy's edges; the last part has its upper end.
    edges = np.arange(bins + 1) * ((high - low) / bins) + low
    edges = edges.astype(x.dtype)
    edges[-1] = np.nextafter(x.dtype.type(high), x.dtype.type(np.inf))
    places = core.searchsorted(edges, x.reshape(-1), "right").numpy()
    return tensor(np.bincount(places, minlength=bins + 2)[1 : bins + 1], dtype=x.dtype)


def bucketize(
    input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The interval of each element between sorted boundaries: `searchsorted`, arguments swapped.

    >>> import ferrograd as fg
    >>> fg.bucketize([3, 6], [1, 3, 5]).tolist()
    [1, 3]
    """
    found = core.searchsorted(boundaries, input, "right" if right else "left")
    return found.astype("int32") if out_int32 else found


def unique_consecutive(
    input: Any,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The input with each run of equal elements, or rows along an axis, as one.

    With `return_inverse` also the number of the run of each element, with `return_counts` the
    lengths of runs.

    >>> import ferrograd as fg
    >>> fg.unique_consecutive([1, 1, 2, 2, 1]).tolist()
    [1, 2, 1]
    """
    x = asarray(input)
    flat = x.reshape(-1) if dim is None else x
    if not flat.ndim:
        raise ShapeError("unique_consecutive: the tensor has no axes; leave dim out")
    place = 0 if dim is None else normalize_dim("unique_consecutive", dim, flat.ndim)
    rows = np.moveaxis(flat.detach().numpy(), place, 0)
    rows = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    first = np.ones(len(rows), np.bool_)
    first[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    starts = np.flatnonzero(first)
    outs = [core.take(flat, starts, place)]
    if return_inverse:
        numbers = np.cumsum(first) - 1
        outs.append(tensor(numbers.reshape(tuple(x.shape)) if dim is None else numbers))
    if return_counts:
        outs.append(tensor(np.diff(np.append(starts, len(rows)))))
    return outs[0] if len(outs) == 1 else tuple(outs)


def _make_triangle_indices(first: np.ndarray, counts: np.ndarray, dtype: Any) -> Tensor:
    """The rows 0, 1, … with `counts` columns each, from `first` on: (2, n)."""
    ends = np.cumsum(counts)
    found = np.empty((2, int(ends[-1]) if len(ends) else 0), np.int64)
    found[0] = np.repeat(np.arange(len(counts)), counts)
    np.add(np.arange(found.shape[1]), np.repeat(first + counts - ends, counts), out=found[1])
    if dtype is not None and np.dtype(dtype).kind not in "iu":
        raise DTypeError(f"indices of a triangle: dtype={np.dtype(dtype)}; give whole numbers")
    return tensor(found, dtype=dtype)


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Rows and columns of the lower triangle of a matrix: (2, n).

    >>> import ferrograd as fg
    >>> fg.tril_indices(2, 2).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    check_device(device)
    rows, columns = (
        check_integer("tril_indices", "row", row),
        check_integer("tril_indices", "col", col),
    )
    offset = check_integer("tril_indices", "offset", offset, -(1 << 62))
    offset = min(max(offset, -rows), columns)
    counts = np.clip(np.arange(rows) + (offset + 1), 0, columns)
    return _make_triangle_indices(np.zeros_like(counts), counts, dtype)


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Rows and columns of the upper triangle of a matrix: (2, n).

    >>> import ferrograd as fg
    >>> fg.triu_indices(2, 2).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """
    check_device(device)
    rows, columns = (
        check_integer("triu_indices", "row", row),
        check_integer("triu_indices", "col", col),
    )
    offset = check_integer("triu_indices", "offset", offset, -(1 << 62))
    offset = min(max(offset, -rows), columns)
    first = np.clip(np.arange(rows) + offset, 0, columns)
    return _make_triangle_indices(first, columns - first, dtype)
