"""NumPy functions that write to their first argument: `copyto`, `put`, `place`, …"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray, is_grad_enabled
from ferrograd._dispatch.composed.registration import composes, same_kind, values
from ferrograd._tensor.pytree import flatten
from ferrograd.errors import ArgumentError, DTypeError, GraphCutError, ShapeError

#: These convert arrays as an assignment does: an imaginary part is lost with a warning.
_CONVERTING = ("put", "put_along_axis", "fill_diagonal")


def _target(name: str, target: Any, *sources: Any) -> bool:
    """Whether the target is a tensor; refuses an array that cannot take a recorded value."""
    if isinstance(target, Tensor | np.ndarray) and name not in _CONVERTING:
        for source in sources:
            same_kind(name, source, target.dtype)
    if isinstance(target, Tensor):
        return True
    if is_grad_enabled() and any(isinstance(s, Tensor) and s.requires_grad for s in sources):
        raise GraphCutError(
            f"numpy.{name}: the result would silently leave the graph of a tensor that requires"
            " grad; make the array with ferrograd.numpy (import ferrograd.numpy as np), use"
            " where(), or pass t.detach(); see docs/when_it_goes_wrong.md"
        )
    return False


def _of_target(name: str, target: Any, source: Any) -> Any:
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


@composes("copyto")
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
    if not (_target("put", dst, src) if converts else _target("copyto", dst, src)):
        np.copyto(dst, values(src), casting, values(where))
    elif where is True:
        dst[...] = src
    else:
        dst[...] = _core.where(asarray(where), _real_for(dst, src), dst)


@composes("putmask")
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Writes values, repeated as necessary, where the mask is true."""
    values = _of_target("putmask", a, values)
    if not _target("putmask", a, values):
        np.putmask(a, _plain(mask), _plain(values))
        return
    flat, chosen = asarray(values).reshape(-1), _mask("putmask", a, mask)
    if len(flat):
        turns = flat if len(flat) == 1 else flat[np.arange(a.numel()) % len(flat)].reshape(a.shape)
        a[...] = _core.where(chosen, _real_for(a, turns), a)


@composes("place")
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Writes values, one after the other, where the mask is true."""
    vals = _of_target("place", arr, vals)
    if not _target("place", arr, vals):
        np.place(arr, _plain(mask), _plain(vals))
        return
    flat, chosen = asarray(vals).reshape(-1), _mask("place", arr, mask)
    if len(flat):
        # Values for positions where the mask is false are not written.
        number = _core.cumsum(chosen.reshape(-1)) - 1
        turns = flat if len(flat) == 1 else flat[number % len(flat)].reshape(arr.shape)
        arr[...] = _core.where(chosen, _real_for(arr, turns), arr)
    elif _core.any(chosen):
        raise ArgumentError("numpy.place: there are places and no values; give at least one value")


def _mask(name: str, target: Tensor, mask: Any) -> Tensor:
    """A mask with the shape of the target: NumPy only compares the numbers of elements."""
    made: Tensor = asarray(mask)
    if made.numel() != target.numel():
        raise ShapeError(
            f"numpy.{name}: the mask has shape {tuple(made.shape)} and the array"
            f" {tuple(target.shape)}; give one truth value for each element"
        )
    return (made if made.dtype == np.bool_ else made != 0).reshape(target.shape)


@composes("put")
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Writes values, one after the other, to positions of the flattened array."""
    places = np.arange(math.prod(np.shape(a))).take(np.ravel(_plain(ind)), mode=mode)
    _write("put", a, places, v)


@composes("fill_diagonal")
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Writes values to the diagonal."""
    shape = tuple(np.shape(a))
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(
            f"numpy.fill_diagonal: the array has shape {shape}; give a matrix, or equal axes"
        )
    step = 1 + sum(math.prod(shape[k:]) for k in range(1, len(shape)))
    end = shape[1] * shape[1] if len(shape) == 2 and not wrap else None
    _write("fill_diagonal", a, np.arange(math.prod(shape))[:end:step], val)


@composes("put_along_axis")
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Writes values to positions along an axis."""
    values = _of_target("put_along_axis", arr, values)
    if not _target("put_along_axis", arr, values):
        np.put_along_axis(arr, _plain(indices), _plain(values), axis)
    elif axis is None:
        put(arr, indices, values)
    else:
        arr[...] = _core.put_along_axis(arr, indices, _real_for(arr, values), axis)


def _real_for(target: Any, source: Any) -> Any:
    """The source, without its imaginary part where the target has none."""
    if target.dtype.kind == "c" or isinstance(source, int | float):
        return source
    given = asarray(source)
    return given.astype(target.dtype) if given.dtype.kind == "c" else source


def _plain(value: Any) -> Any:
    return np.asarray(values(value))


def _write(name: str, target: Any, places: Any, source: Any) -> None:
    """Writes elements of the source, one after the other, to positions of the flattened target."""
    source = _of_target(name, target, source)
    recorded = _target(name, target, source)
    flat = asarray(source).reshape(-1) if recorded else np.ravel(_plain(source))
    if not len(places) or not len(flat):
        return
    taken = flat[np.arange(len(places)) % len(flat)]
    if np.ndim(target):
        target[np.unravel_index(places, target.shape)] = taken
    else:
        target[()] = taken[-1]
