"""Copies with some elements replaced, under PyTorch's names, and their forms in place.

Invariant: a function without an underscore does not change its argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd import _core as core
from ferrograd._core import Tensor, asarray
from ferrograd._pytorch.validate import check_integers, normalize_dim
from ferrograd._tensor.creation import arange
from ferrograd.errors import ArgumentError, ArgumentTypeError, ShapeError


def where(self: Tensor, condition: Any, other: Any) -> Tensor:
    """`fg.where(condition, self, other)`: this tensor where the condition is true."""
    chosen: Tensor = core.where(condition, self, other)
    return chosen


def split(self: Tensor, *parts: Any, **options: Any) -> list[Tensor]:
    """`fg.split(self, indices_or_sections, axis=0)`: parts of an axis, as in NumPy.

    Errors: `ArgumentError` for an axis by position, since PyTorch's first number is then a length.
    """
    if len(parts) == 2:
        n, axis = parts
        raise ArgumentError(
            f"split: ({n}, {axis}) makes parts of {n} elements in PyTorch and as many parts in"
            f" NumPy; write x.split_with_sizes({n}, dim={axis}) or x.split({n}, axis={axis})"
        )
    return core.split(self, *parts, **options)


def index_put_(
    self: Tensor, indices: Sequence[Any], values: Any, accumulate: bool = False
) -> Tensor:
    """`self[indices] = values`; with `accumulate` values are added, also for repeated indices.

    `indices` is a tuple of integer tensors, or of one boolean tensor. Errors: those of an
    assignment, and `ArgumentTypeError` for indices that are not a tuple.
    """
    if not isinstance(indices, tuple | list):
        raise ArgumentTypeError(
            f"index_put_: indices is a {type(indices).__name__}; give a tuple of tensors"
        )
    places = tuple(slice(None) if index is None else index for index in indices)
    if not accumulate:
        self[places] = values
        return self
    if len(places) == 1 and isinstance(places[0], Tensor) and _is_integer_index(places[0]):
        # Rows of the first axis: they are added where they are, and nothing is laid out.
        rows = places[0]
        added = core.broadcast_to(asarray(values), (*rows.shape, *self.shape[1:]))
        added = added.reshape((-1, *self.shape[1:])).astype(self.dtype)
        return self.index_add_(0, rows.reshape(-1), added)
    chosen = arange(int(self.size)).reshape(self.shape)[places]
    added = core.broadcast_to(asarray(values), chosen.shape).reshape(-1)
    more = self.new_zeros(self.size).index_add(0, chosen.reshape(-1), added.astype(self.dtype))
    return self.add_(more.reshape(self.shape))


def index_put(input: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Tensor:
    """A copy with `copy[indices] = values`; with `accumulate` values are added instead.

    >>> import ferrograd as fg
    >>> fg.index_put(fg.zeros(3), (fg.tensor([0, 0]),), fg.ones(2), accumulate=True).tolist()
    [2.0, 0.0, 0.0]
    """
    return index_put_(asarray(input).clone(), indices, values, accumulate)


def _is_integer_index(index: Tensor) -> bool:
    return index.dtype.kind in "iu" and index.ndim > 0


def _make_row_index(op: str, x: Tensor, dim: int, index: Any) -> tuple[Any, ...]:
    """The subscript of rows along an axis."""
    index = asarray(index)
    if index.ndim > 1 or index.dtype.kind not in "iu":
        raise ArgumentTypeError(
            f"{op}: index is {index.dtype} of shape {tuple(index.shape)}; give a vector of integers"
        )
    place = normalize_dim(op, dim, x.ndim)
    if not x.ndim:
        # A number has one row, itself.
        return (Ellipsis,) if index.size else (False,)
    return (*(slice(None) for _ in range(place)), index.reshape(-1))


def _copy_same_shape(op: str, place: Tensor, source: Any) -> None:
    """Writes elements of exactly this shape."""
    source = asarray(source)
    if tuple(source.shape) != tuple(place.shape):
        raise ShapeError(
            f"{op}: a source of shape {tuple(source.shape)} for elements of shape"
            f" {tuple(place.shape)}; give that shape, as broadcast_to does"
        )
    place.copy_(source)


def _check_number(op: str, value: Any) -> Any:
    """One number for all elements."""
    if getattr(value, "ndim", 0):
        raise ShapeError(f"{op}: a value of shape {tuple(value.shape)}; give one number")
    return value


def index_copy_(self: Tensor, dim: int, index: Any, source: Any) -> Tensor:
    """Copies the rows of `source` along an axis to the positions in `index`.

    Errors: `ShapeError` for a source of another shape than that of these rows.
    """
    places, source = _make_row_index("index_copy_", self, dim, index), asarray(source)
    shape = tuple(self[places].shape)
    if tuple(source.shape) not in ((shape, ()) if shape == (1,) else (shape,)):
        raise ShapeError(
            f"index_copy_: a source of shape {tuple(source.shape)} for rows of shape {shape}; give"
            " that shape, as broadcast_to does"
        )
    self[places] = source
    return self


def index_copy(input: Any, dim: int, index: Any, source: Any) -> Tensor:
    """A copy with the rows of `source` along an axis at the positions in `index`.

    >>> import ferrograd as fg
    >>> fg.index_copy(fg.zeros(3), 0, [2, 0], [5.0, 7.0]).tolist()
    [7.0, 0.0, 5.0]
    """
    return index_copy_(asarray(input).clone(), dim, index, source)


def index_fill_(self: Tensor, dim: int, index: Any, value: Any) -> Tensor:
    """Rows along an axis that `index` names become one number."""
    self[_make_row_index("index_fill_", self, dim, index)] = _check_number("index_fill_", value)
    return self


def index_fill(input: Any, dim: int, index: Any, value: Any) -> Tensor:
    """A copy with one number in the rows along an axis that `index` names.

    >>> import ferrograd as fg
    >>> fg.index_fill(fg.zeros(2, 2), 1, [0], 3.0).tolist()
    [[3.0, 0.0], [3.0, 0.0]]
    """
    return index_fill_(asarray(input).clone(), dim, index, value)


def masked_scatter_(self: Tensor, mask: Any, source: Any) -> Tensor:
    """Replaces the elements where the mask is true by those of `source`, in C order.

    Errors: `ShapeError` for a source with fewer elements than the mask has true ones.
    """
    mask, source = core.broadcast_to(asarray(mask), self.shape), asarray(source)
    count = int(mask.sum().item())
    if source.size < count:
        raise ShapeError(
            f"masked_scatter_: the mask has {count} true elements and source {source.size}; give at"
            " least as many"
        )
    self[mask] = source.reshape(-1)[:count]
    return self


def masked_scatter(input: Any, mask: Any, source: Any) -> Tensor:
    """A copy with elements of `source`, in C order, where the mask is true.

    >>> import ferrograd as fg
    >>> fg.masked_scatter(fg.zeros(3), fg.tensor([True, False, True]), [1.0, 2.0, 3.0]).tolist()
    [1.0, 0.0, 2.0]
    """
    return masked_scatter_(asarray(input).clone(), mask, source)


def select_scatter(input: Any, src: Any, dim: int, index: int) -> Tensor:
    """A copy with `src` at one index of an axis.

    >>> import ferrograd as fg
    >>> fg.select_scatter(fg.zeros(2, 2), fg.ones(2), 0, 1).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    copy = asarray(input).clone()
    _copy_same_shape("select_scatter", copy.select(dim, index), src)
    return copy


def slice_scatter(
    input: Any,
    src: Any,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """A copy with `src` in a slice of an axis.

    >>> import ferrograd as fg
    >>> fg.slice_scatter(fg.zeros(4), fg.ones(2), start=1, end=3).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    copy = asarray(input).clone()
    place = copy.moveaxis(dim, 0)[start:end:step]
    _copy_same_shape("slice_scatter", place.moveaxis(0, dim), src)
    return copy


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy with `src` on a diagonal.

    >>> import ferrograd as fg
    >>> fg.diagonal_scatter(fg.zeros(2, 2), fg.ones(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    copy = asarray(input).clone()
    _copy_same_shape("diagonal_scatter", copy.diagonal(offset, dim1, dim2), src)
    return copy


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Fills the diagonal of a matrix with a number; `wrap` continues below a tall matrix.

    Errors: `ShapeError` for fewer than two axes, and for more than two axes of different lengths.
    """
    if self.ndim < 2 or (self.ndim > 2 and len(set(self.shape)) > 1):
        raise ShapeError(
            f"fill_diagonal_: the tensor has shape {tuple(self.shape)}; give a matrix, or axes of"
            " one length"
        )
    width = int(self.shape[1])
    if self.ndim == 2 and not (wrap and self.shape[0] > width + 1):
        self.diagonal().fill_(fill_value)
    elif self.ndim == 2:
        rows = [k // width for k in range(0, int(self.size), width + 1)]
        columns = [k % width for k in range(0, int(self.size), width + 1)]
        self[core.tensor(rows), core.tensor(columns)] = fill_value
    else:
        places = core.tensor(list(range(width)))
        self[(places,) * self.ndim] = fill_value
    return self


def unflatten(input: Any, dim: int, sizes: Sequence[int]) -> Tensor:
    """One axis as several of these sizes, of which one may be -1; a view where possible.

    >>> import ferrograd as fg
    >>> fg.unflatten(fg.zeros(2, 12), 1, (3, -1)).shape
    (2, 3, 4)
    """
    input = asarray(input)
    place = normalize_dim("unflatten", dim, input.ndim)
    sizes = list(check_integers("unflatten", "sizes", sizes, -1))
    if not input.ndim:
        raise ShapeError("unflatten: the tensor has no axes; give one with an axis to divide")
    known, length = 1, int(input.shape[place])
    for size in sizes:
        known *= 1 if size == -1 else size
    if sizes.count(-1) == 1 and known > 0 and length % known == 0:
        sizes[sizes.index(-1)] = length // known
    elif -1 in sizes or known != length:
        raise ShapeError(
            f"unflatten: axis {place} has length {length} and the sizes are {tuple(sizes)}; give"
            " sizes whose product it is"
        )
    shaped: Tensor = input.reshape((*input.shape[:place], *sizes, *input.shape[place + 1 :]))
    return shaped
