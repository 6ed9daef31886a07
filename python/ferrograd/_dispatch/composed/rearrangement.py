"""Compositions that only move elements: joining, inserting, deleting, choosing, blocks.

Invariant: shapes, errors and order are NumPy's because NumPy makes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray, concatenate, moveaxis, stack, where
from ferrograd._dispatch.composed.registration import (
    get_values,
    make_refusal_error,
    normalize_axis,
    register_composition,
)
from ferrograd._tensor.pytree import check_depth


def rearrange_elements(sources: Sequence[Tensor], arrange: Callable[..., Any]) -> Tensor:
    """The elements rearranged by `arrange`, which is called with their indices."""
    numbers, start = [], 0
    for source in sources:
        count = source.numel()
        numbers.append(np.arange(start, start + count).reshape(source.shape))
        start += count
    flat = [source.reshape(-1) for source in sources]
    joined = flat[0] if len(flat) == 1 else concatenate(flat)
    return joined[np.asarray(arrange(*numbers))]


@register_composition("append")
def append(arr: Any, values: Any, axis: Any = None) -> Tensor:
    """The values after the array."""
    parts = [asarray(arr), asarray(values)]
    if axis is None:
        return concatenate([part.reshape(-1) for part in parts])
    return concatenate(parts, axis)


@register_composition("insert")
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Tensor:
    """Inserts values before the given positions."""
    arr, values = asarray(arr), asarray(values)
    if values.dtype != arr.dtype:
        if values.requires_grad and arr.dtype.kind not in "fc":
            raise make_refusal_error(
                "insert",
                f"values that require grad would become {arr.dtype}",
                "pass arr.astype(np.float64)",
            )
        values = values.astype(arr.dtype)
    if isinstance(obj, Tensor):
        obj = obj.numpy()
    return rearrange_elements([arr, values], lambda a, v: np.insert(a, obj, v, axis))


@register_composition("delete")
def delete(arr: Any, obj: Any, axis: Any = None) -> Tensor:
    """The elements without those at the given positions."""
    if isinstance(obj, Tensor):
        obj = obj.numpy()
    return rearrange_elements([asarray(arr)], lambda a: np.delete(a, obj, axis))


@register_composition("resize")
def resize(a: Any, new_shape: Any) -> Tensor:
    """The elements repeated until they fill the shape."""
    return rearrange_elements([asarray(a)], lambda indices: resize_indices(indices, new_shape))


def resize_indices(indices: Any, new_shape: Any) -> Any:
    """`np.resize` of the indices 0, 1, 2, …, which joins one array for each repetition."""
    shape = (new_shape,) if isinstance(new_shape, int | np.integer) else new_shape
    is_plain = isinstance(shape, tuple | list) and all(
        isinstance(n, int | np.integer) and n >= 0 for n in shape
    )
    if not is_plain or not indices.size:
        return np.resize(indices, new_shape)
    return (np.arange(math.prod(shape)) % indices.size).reshape(shape)


@register_composition("block")
def block(arrays: Any) -> Tensor:
    """Nested lists of blocks put together."""
    parts: list[Tensor] = []

    def collect(item: Any, depth: int = 0) -> None:
        if isinstance(item, list):
            check_depth(item, depth)
            for part in item:
                collect(part, depth + 1)
        else:
            parts.append(asarray(item))

    collect(arrays)

    def arrange(*numbers: Any) -> Any:
        remaining = iter(numbers)

        def rebuild_nesting(item: Any) -> Any:
            return [rebuild_nesting(p) for p in item] if isinstance(item, list) else next(remaining)

        return np.block(rebuild_nesting(arrays))

    made = rearrange_elements(parts, arrange)
    made._become_memory()
    return made


@register_composition("ix_")
def ix_(*args: Any) -> tuple[Any, ...]:
    """An open grid with one axis for each vector; a mask gives the indices of its true elements."""

    def make_axis(k: int, arg: Any) -> Any:
        if np.ndim(arg) != 1:
            raise ValueError(f"numpy.ix_: argument {k} has {np.ndim(arg)} axes; give one")
        vector = arg if isinstance(arg, Tensor) else np.asarray(arg)
        if vector.size == 0 and not isinstance(arg, Tensor | np.ndarray):
            vector = vector.astype(np.intp)
        if vector.dtype == np.bool_:
            (vector,) = vector.nonzero()
        return vector.reshape((1,) * k + (-1,) + (1,) * (len(args) - k - 1))

    return tuple(make_axis(k, arg) for k, arg in enumerate(args))


@register_composition("choose")
def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Tensor:
    """For each index the element of that choice."""
    index = np.asarray(get_values(a))
    parts = [asarray(choice) for choice in choices]
    return rearrange_elements(parts, lambda *numbers: np.choose(index, list(numbers), mode=mode))


@register_composition("extract")
def extract(condition: Any, arr: Any) -> Tensor:
    """The elements where the condition is true."""
    held = np.flatnonzero(np.ravel(get_values(condition)))
    return asarray(arr).reshape(-1)[held]


@register_composition("trim_zeros")
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Without the zeros at the ends."""
    filt = asarray(filt)
    kept = filt.numpy() if not filt.requires_grad else filt.detach().numpy()
    if filt.ndim == 1 or axis is not None:
        held = np.nonzero(kept)[
            0 if axis is None else normalize_axis("trim_zeros", axis, filt.ndim)
        ]
        size = filt.shape[0 if axis is None else axis]
        first = held.min(initial=size) if "f" in trim.lower() else 0
        last = held.max(initial=-1) + 1 if "b" in trim.lower() else size
        window = [slice(None)] * filt.ndim
        window[0 if axis is None else axis] = slice(int(first), max(int(first), int(last)))
        return filt[tuple(window)]
    for each in range(filt.ndim):
        filt = trim_zeros(filt, trim, each)
    return filt


@register_composition("rollaxis")
def rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    """One axis moved before another; a view."""
    a = asarray(a)
    axis, start = (
        normalize_axis("rollaxis", axis, a.ndim),
        normalize_axis("rollaxis", start, a.ndim + 1),
    )
    return moveaxis(a, axis, start - 1 if start > axis else start)


@register_composition("matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(x: Any, /) -> Tensor:
    """The last two axes exchanged; a view."""
    return asarray(x).swapaxes(-1, -2)


@register_composition("apply_along_axis")
def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Tensor:
    """A function of vectors applied to each vector along an axis."""
    arr = asarray(arr)
    axis = normalize_axis("apply_along_axis", axis, arr.ndim)
    rows = moveaxis(arr, axis, -1)
    lead = tuple(rows.shape[:-1])
    if 0 in lead:
        raise ValueError("apply_along_axis: an axis of size 0 gives no vector; pass one that has")
    flat = rows.reshape((-1, arr.shape[axis]))
    made = stack([asarray(func1d(row, *args, **kwargs)) for row in flat])
    inner = tuple(made.shape[1:])
    made = made.reshape((*lead, *inner))
    return moveaxis(
        made,
        tuple(range(len(lead), len(lead) + len(inner))),
        tuple(range(axis, axis + len(inner))),
    )


@register_composition("apply_over_axes")
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """A reduction along several axes, one after the other; the axes are kept."""
    a = asarray(a)
    for axis in np.atleast_1d(axes):
        place = normalize_axis("apply_over_axes", axis, a.ndim)
        made = asarray(func(a, place))
        a = made if made.ndim == a.ndim else made.expand_dims(place)
    return a


@register_composition("piecewise")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Tensor:
    """Each function where its condition is true, evaluated only there."""
    x = asarray(x)
    if isinstance(condlist, Tensor | np.ndarray) and condlist.ndim == x.ndim:
        condlist = [condlist]
    if not isinstance(condlist, list | tuple | np.ndarray | Tensor) or not len(condlist):
        condlist = [condlist]
    if np.ndim(get_values(condlist[0])) == 0 and x.ndim:
        condlist = [condlist]
    masks = [np.asarray(get_values(c), dtype=bool) for c in condlist]
    if len(funclist) == len(masks) + 1:
        masks.append(~np.any(masks, axis=0))
    if len(funclist) != len(masks):
        raise ValueError(
            f"numpy.piecewise: {len(masks)} conditions and {len(funclist)} functions; give one"
            " function for each condition, and one more for the rest"
        )
    made = asarray(np.zeros(x.shape, x.dtype))
    for mask, function in zip(masks, funclist, strict=True):
        mask = np.broadcast_to(mask, x.shape)
        if not callable(function):
            made = where(mask, function, made)
        elif mask.any():
            part = asarray(function(x[mask], *args, **kw))
            places = np.zeros(mask.shape, np.int64)
            places[mask] = np.arange(int(mask.sum()))
            part = part if part.ndim else part.reshape(1)
            made = where(mask, part[places if part.numel() > 1 else np.zeros_like(places)], made)
    return made.astype(x.dtype)
