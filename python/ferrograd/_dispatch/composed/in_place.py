"""NumPy functions that write to their first argument: `copyto`, `put`, `place`, …"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray, is_grad_enabled
from ferrograd._dispatch.composed.registration import (
    check_same_kind,
    get_values,
    register_composition,
)
from ferrograd._tensor.pytree import flatten
from ferrograd.errors import ArgumentError, DTypeError, GraphCutError, ShapeError

#: These convert arrays as an assignment does: an imaginary part is lost with a warning.
_UNSAFE_CASTING_FUNCTIONS = ("put", "put_along_axis", "fill_diagonal")


def _check_target(name: str, target: Any, *sources: Any) -> bool:
    """Whether the target is a tensor; refuses an array that cannot take a recorded value."""
    if isinstance(target, Tensor | np.ndarray) and name not in _UNSAFE_CASTING_FUNCTIONS:
        for source in sources:
            check_same_kind(name, source, target.dtype)
    if isinstance(target, Tensor):
        return True
    if is_grad_enabled() and any(isinstance(s, Tensor) and s.requires_grad for s in sources):
        raise GraphCutError(
            f"numpy.{name}: the result would silently leave the graph of a tensor that requires"
            " grad; make the array with ferrograd.numpy (import ferrograd.numpy as np), use"
            " where(), or pass t.detach(); see docs/when_it_goes_wrong.md"
        )
    return False


def _convert_to_target(name: str, target: Any, source: Any) -> Any:
    """Numbers and lists in the target's dtype; values that do not fit raise, as in NumPy.

    Arrays, tensors, and lists of tensors are returned unchanged.
    """
    if not isinstance(target, Tensor) or isinstance(source, Tensor | np.ndarray):
        return source
    if any(isinstance(leaf, Tensor) for leaf in flatten(source)[0]):
        return source
    try:
        return np.asarray(source, dtype=target.dtype)
    except TypeError as error:
        raise DTypeError(
            f"numpy.{name}: the value {source!r} goes into elements of {target.dtype}; take its"
            " real part, or use a complex dtype"
        ) from error


@register_composition("copyto")
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Writes the source to the target where the mask is true."""
    if casting != "unsafe" and isinstance(dst, Tensor) and not isinstance(src, bool | int):
        kind = src.dtype if hasattr(src, "dtype") else asarray(src).dtype
        if not np.can_cast(kind, dst.dtype, casting):
            raise DTypeError(
                f"numpy.copyto: the value is {kind} and goes into elements of {dst.dtype}, which"
                f" casting={casting!r} does not allow; use astype"
            )
    if isinstance(src, np.generic):
        src = np.asarray(src)
    converts = casting == "unsafe"
    if not (_check_target("put", dst, src) if converts else _check_target("copyto", dst, src)):
        np.copyto(dst, get_values(src), casting, get_values(where))
    elif where is True:
        dst[...] = src
    else:
        dst[...] = _core.where(asarray(where), _drop_imaginary_part(dst, src), dst)


@register_composition("putmask")
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Writes values, repeated as necessary, where the mask is true."""
    values = _convert_to_target("putmask", a, values)
    if not _check_target("putmask", a, values):
        np.putmask(a, _to_array(mask), _to_array(values))
        return
    flat, chosen = asarray(values).reshape(-1), _convert_mask("putmask", a, mask)
    if len(flat):
        turns = flat if len(flat) == 1 else flat[np.arange(a.numel()) % len(flat)].reshape(a.shape)
        a[...] = _core.where(chosen, _drop_imaginary_part(a, turns), a)


@register_composition("place")
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Writes values, one after the other, where the mask is true."""
    vals = _convert_to_target("place", arr, vals)
    if not _check_target("place", arr, vals):
        np.place(arr, _to_array(mask), _to_array(vals))
        return
    flat, chosen = asarray(vals).reshape(-1), _convert_mask("place", arr, mask)
    if len(flat):
        # Values for positions where the mask is false are not written.
        number = _core.cumsum(chosen.reshape(-1)) - 1
        turns = flat if len(flat) == 1 else flat[number % len(flat)].reshape(arr.shape)
        arr[...] = _core.where(chosen, _drop_imaginary_part(arr, turns), arr)
    elif _core.any(chosen):
        raise ArgumentError("numpy.place: there are places and no values; give at least one value")


def _convert_mask(name: str, target: Tensor, mask: Any) -> Tensor:
    """A mask with the shape of the target: NumPy only compares the numbers of elements."""
    made: Tensor = asarray(mask)
    if made.numel() != target.numel():
        raise ShapeError(
            f"numpy.{name}: the mask has shape {tuple(made.shape)} and the array"
            f" {tuple(target.shape)}; give one truth value for each element"
        )
    return (made if made.dtype == np.bool_ else made != 0).reshape(target.shape)


@register_composition("put")
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Writes values, one after the other, to positions of the flattened array."""
    places = np.arange(math.prod(np.shape(a))).take(np.ravel(_to_array(ind)), mode=mode)
    _write_flat("put", a, places, v)


@register_composition("fill_diagonal")
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Writes values to the diagonal."""
    shape = tuple(np.shape(a))
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(
            f"numpy.fill_diagonal: the array has shape {shape}; give a matrix, or equal axes"
        )
    step = 1 + sum(math.prod(shape[k:]) for k in range(1, len(shape)))
    end = shape[1] * shape[1] if len(shape) == 2 and not wrap else None
    _write_flat("fill_diagonal", a, np.arange(math.prod(shape))[:end:step], val)


@register_composition("put_along_axis")
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Writes values to positions along an axis."""
    values = _convert_to_target("put_along_axis", arr, values)
    if not _check_target("put_along_axis", arr, values):
        np.put_along_axis(arr, _to_array(indices), _to_array(values), axis)
    elif axis is None:
        put(arr, indices, values)
    else:
        arr[...] = _core.put_along_axis(arr, indices, _drop_imaginary_part(arr, values), axis)


def _drop_imaginary_part(target: Any, source: Any) -> Any:
    """The source, without its imaginary part where the target has none."""
    if target.dtype.kind == "c" or isinstance(source, int | float):
        return source
    given = asarray(source)
    return given.astype(target.dtype) if given.dtype.kind == "c" else source


def _to_array(value: Any) -> Any:
    return np.asarray(get_values(value))


def _write_flat(name: str, target: Any, places: Any, source: Any) -> None:
    """Writes elements of the source, one after the other, to positions of the flattened target."""
    source = _convert_to_target(name, target, source)
    recorded = _check_target(name, target, source)
    flat = asarray(source).reshape(-1) if recorded else np.ravel(_to_array(source))
    if not len(places) or not len(flat):
        return
    taken = flat[np.arange(len(places)) % len(flat)]
    if np.ndim(target):
        target[np.unravel_index(places, target.shape)] = taken
    else:
        target[()] = taken[-1]
