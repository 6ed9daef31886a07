"""Embeddings with options, and bags of embeddings. The core does the lookup.

Invariant: `max_norm` changes the looked-up rows in place, outside the graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core, linalg
from ferrograd._core import Tensor, asarray
from ferrograd._tensor import creation
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import ArgumentError, ShapeError


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight` by index, of any shape; the row `padding_idx` gets no gradient.

    Shapes: input (…), weight (V, E), result (…, E). Rows longer than `max_norm` (in the norm of
    order `norm_type`) are first scaled down in the weight. dweight = `g` added to the rows; with
    `scale_grad_by_freq` divided by the count of each index.
    Errors: `IndexOutOfRangeError` for an index out of range, `ArgumentError` for `sparse=True`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.embedding(fg.tensor([1, 0, 1]), fg.tensor([[1.0], [2.0]])).tolist()
    [[2.0], [1.0], [2.0]]
    """
    if sparse:
        raise ArgumentError("embedding: sparse=True; gradients are dense here, leave it out")
    if max_norm is not None:
        _renormalize_rows(weight, asarray(input), max_norm, norm_type)
    rows = _core.embedding(input, weight, padding_idx)
    if not scale_grad_by_freq:
        return rows
    share = 1.0 / _count_indices(asarray(input), int(asarray(weight).shape[0]), rows.dtype)
    return share * rows + ((1.0 - share) * rows).detach()


def _renormalize_rows(weight: Tensor, numbers: Tensor, longest: float, order: float) -> None:
    """Scales the rows with these indices to a length of at most `longest`."""
    with no_grad():
        used = creation.zeros(int(weight.shape[0]), dtype="bool")
        used = _core.put_along_axis(used, numbers.reshape(-1), True, 0)
        lengths = linalg.vector_norm(weight.detach(), order, axis=1)
        scale = _core.where(used & (lengths > longest), longest / (lengths + 1e-7), 1.0)
        weight.mul_(scale.unsqueeze(1))


def _count_indices(numbers: Tensor, rows: int, dtype: Any) -> Tensor:
    """The count of each index, with a last axis of size 1."""
    flat = numbers.reshape(-1)
    zeros = creation.zeros(rows, dtype=dtype)
    counts = _core.index_add(zeros, 0, flat, creation.ones(flat.shape, dtype=dtype))
    return counts[flat].reshape((*numbers.shape, 1))


def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or largest elements of the embeddings in each bag.

    Shapes: input (B, n), a bag in each row; or (N) with `offsets` (B), the begin of each bag (with
    `include_last_offset` also the end of the last). Result (B, E), zeros for an empty bag.
    `per_sample_weights`, with the shape of the input, multiply the rows (sums only); indices equal
    to `padding_idx` do not count. The derivative of `mode="max"` goes to the first of equal
    elements.
    Errors: `ArgumentError` for another mode, for weights with "mean" or "max", for
    `scale_grad_by_freq` with "max" and for offsets that do not belong to the input.

    >>> import ferrograd as fg
    >>> weight = fg.tensor([[1.0], [2.0], [4.0]])
    >>> fg.nn.functional.embedding_bag(fg.tensor([0, 1, 2]), weight, fg.tensor([0, 1])).tolist()
    [[1.0], [3.0]]
    """
    numbers = asarray(input)
    if scale_grad_by_freq and mode == "max":
        raise ArgumentError('embedding_bag: scale_grad_by_freq with mode="max"; leave it out')
    _check_bag(numbers, offsets, mode, per_sample_weights)
    rows = embedding(numbers, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * asarray(per_sample_weights).unsqueeze(-1)
    counted = None
    if padding_idx is not None:
        padding_idx = padding_idx % int(asarray(weight).shape[0])
        counted = (numbers != padding_idx).astype(rows.dtype).unsqueeze(-1)
        rows = rows * counted
    if numbers.ndim == 2:
        if mode == "max":
            return _max_of_rows(rows, ~creation.zeros(*numbers.shape, 1, dtype="bool"), counted)
        sums = rows.sum(1)
        if mode == "sum":
            return sums
        return rows.mean(1) if counted is None else sums / counted.sum(1).clip(min=1.0)
    offsets = asarray(offsets)
    bags = int(offsets.shape[0]) - int(include_last_offset)
    places = creation.arange(int(numbers.shape[0]))
    bag = _core.searchsorted(offsets[:bags], places, side="right") - 1
    if mode == "max":
        inside = bag == creation.arange(bags).unsqueeze(1)
        return _max_of_rows(rows.unsqueeze(0), inside.unsqueeze(-1), counted)
    zeros = creation.zeros(bags, int(rows.shape[-1]), dtype=rows.dtype)
    sums = _core.index_add(zeros, 0, bag, rows)
    if mode == "sum":
        return sums
    if counted is None:
        counted = creation.ones(numbers.shape[0], 1, dtype=rows.dtype)
    counts = _core.index_add(creation.zeros(bags, 1, dtype=rows.dtype), 0, bag, counted)
    return sums / counts.clip(min=1.0)


def _max_of_rows(rows: Tensor, inside: Tensor, counted: Tensor | None) -> Tensor:
    """The largest elements (B, E) of the rows (B, n, E) that are inside, zeros where none is."""
    if counted is not None:
        inside = inside & (counted != 0)
    seen = _core.where(inside, rows, -np.inf)
    if not seen.shape[1]:
        return seen.sum(1)
    place = _core.argmax(seen.detach(), 1, keepdims=True)
    found: Tensor = _core.where(
        inside.any(1), _core.take_along_axis(seen, place, 1).squeeze(1), 0.0
    )
    return found


def _check_bag(numbers: Tensor, offsets: Any, mode: str, weights: Any) -> None:
    if mode not in ("sum", "mean", "max"):
        raise ArgumentError(f'embedding_bag: mode={mode!r}; use "sum", "mean" or "max"')
    if numbers.ndim not in (1, 2) or (numbers.ndim == 2) != (offsets is None):
        raise ArgumentError(
            f"embedding_bag: an input of {numbers.ndim} axes"
            f" {'without' if offsets is None else 'with'} offsets; give (B, n), or (N) and offsets"
        )
    if offsets is not None and not _core._is_recording_program():
        _check_offsets(asarray(offsets).detach().numpy(), int(numbers.shape[0]))
    if weights is None:
        return
    if mode != "sum":
        raise ArgumentError(f'embedding_bag: per_sample_weights with mode={mode!r}; use "sum"')
    if tuple(asarray(weights).shape) != tuple(numbers.shape):
        raise ShapeError(
            f"embedding_bag: an input of shape {tuple(numbers.shape)} and per_sample_weights of"
            f" shape {tuple(asarray(weights).shape)}; give both the same shape"
        )


def _check_offsets(starts: np.ndarray, count: int) -> None:
    fits = starts.ndim == 1 and starts.dtype.kind in "iu"
    if not fits or (starts.size and starts[0] != 0) or np.any(np.diff(starts) < 0):
        raise ArgumentError(
            f"embedding_bag: offsets {starts.tolist()}; give a vector of integers that begins with"
            " 0 and never falls"
        )
    if starts.size and starts[-1] > count:
        raise ArgumentError(
            f"embedding_bag: offsets end at {starts[-1]} and the input has {count} numbers; give"
            " offsets inside it"
        )
