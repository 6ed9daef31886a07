"""NumPy functions that write to their first argument: `copyto`, `put`, `place`, …

Owns: the way of each through a tensor's own in-place operations, which are recorded.
Never writes to an array what requires grad: no graph could follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray, is_grad_enabled
from ferrograd._dispatch.composed.shared import composes, same_kind, values
from ferrograd.errors import DTypeError, GraphCutError

#: These convert as an assignment does: an imaginary part is lost with a warning.
_CONVERTING = ("put", "put_along_axis")


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
            " grad; write to a tensor, use where(), or pass t.detach()"
        )
    return False


@composes("copyto")
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Writes the source to the target, where the mask holds."""
    if casting != "unsafe" and isinstance(dst, Tensor) and not isinstance(src, bool | int):
        kind = src.dtype if hasattr(src, "dtype") else asarray(src).dtype
        if not np.can_cast(kind, dst.dtype, casting):
            raise DTypeError(
                f"numpy.copyto: the value is {kind} and goes into elements of {dst.dtype}, which"
                f" casting={casting!r} does not allow; use astype"
            )
    converts = casting == "unsafe"
    if not (_target("put", dst, src) if converts else _target("copyto", dst, src)):
        np.copyto(dst, values(src), casting, values(where))
    elif where is True:
        dst[...] = src
    else:
        dst[...] = _core.where(asarray(where), _real_for(dst, src), dst)


@composes("putmask")
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Writes values, repeated as often as needed, where the mask holds."""
    places = np.flatnonzero(_plain(mask))
    _write("putmask", a, places, values, places)


@composes("place")
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Writes values in turn to the places where the mask holds."""
    places = np.flatnonzero(_plain(mask))
    _write("place", arr, places, vals, np.arange(len(places)))


@composes("put")
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Writes values in turn to places of the flattened array."""
    size = int(np.size(_plain(a)))
    places = np.arange(size).take(np.ravel(_plain(ind)), mode=mode)
    _write("put", a, places, v, np.arange(len(places)))


@composes("fill_diagonal")
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Writes values to the diagonal."""
    numbers = np.arange(int(np.size(_plain(a)))).reshape(np.shape(_plain(a)))
    marked = np.zeros(numbers.shape, bool)
    np.fill_diagonal(marked, True, wrap)
    places = np.flatnonzero(marked)
    _write("fill_diagonal", a, places, val, np.arange(len(places)))


@composes("put_along_axis")
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Writes values to places along an axis."""
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


def _write(name: str, target: Any, places: Any, source: Any, turn: Any) -> None:
    """Writes elements of the source, taken in turn, to places of the flattened target."""
    if not _target(name, target, source):
        given = np.ravel(_plain(source))
        target[np.unravel_index(places, target.shape)] = given[turn % len(given)]
    elif len(places):
        flat = asarray(source).reshape(-1)
        target[np.unravel_index(places, target.shape)] = flat[turn % len(flat)]
