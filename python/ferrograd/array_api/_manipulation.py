"""Other arrangements of the same elements.

Every function is an operation of the core, whose derivatives it has.
"""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError


def broadcast_arrays(*arrays: Any) -> tuple[Tensor, ...]:
    """The arrays under their common shape, without copying."""
    made: tuple[Tensor, ...] = _core.broadcast_arrays(*arrays)
    return made if isinstance(made, tuple) else (made,)


def broadcast_to(x: Any, /, shape: Any) -> Tensor:
    """Repeats along new axes and axes of size 1, without copying."""
    return _core.broadcast_to(x, shape)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    """Joined along an existing axis; None joins the flattened arrays."""
    return _core.concatenate(arrays, axis)


def expand_dims(x: Any, /, *, axis: Any = 0) -> Tensor:
    """A new axis of size 1."""
    return _core.expand_dims(x, axis)


def flip(x: Any, /, *, axis: Any = None) -> Tensor:
    """The order of elements reversed along the axes, by default along all."""
    return _core.flip(x, axis)


def moveaxis(x: Any, source: Any, destination: Any, /) -> Tensor:
    """Axes moved to other places, the others in their order."""
    return _core.moveaxis(x, source, destination)


def permute_dims(x: Any, /, axes: Any) -> Tensor:
    """The axes in the order given."""
    return _core.permute(x, axes)


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element repeated along an axis, or of the flattened array."""
    return _core.repeat(x, repeats, axis)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Tensor:
    """The same elements under another shape.

    A view where there can be one. `copy=True` is never one, and `copy=False` raises
    `ArgumentError` (a ValueError) where the elements have to be copied.

    >>> import ferrograd.array_api as xp
    >>> xp.reshape(xp.arange(6), (2, -1)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    made = _core.reshape(x, shape)
    if copy is None or not isinstance(x, Tensor):
        return made
    shares = made.size == 0 or made.data_ptr() == x.data_ptr()
    if copy:
        return _core.clone(made) if shares else made
    if not shares:
        raise ArgumentError(
            f"reshape: copy=False, and the elements of shape {tuple(x.shape)} have to be copied to"
            f" get shape {tuple(made.shape)}; pass copy=None"
        )
    return made


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Tensor:
    """The elements moved on along axes, those that leave come in at the other end."""
    return _core.roll(x, shift, axis)


def squeeze(x: Any, /, axis: Any) -> Tensor:
    """The named axes of size 1 dropped; an axis of another size is an error."""
    x = _core.asarray(x)
    made = _core.squeeze(x, axis)
    named = len(axis) if isinstance(axis, tuple | list) else 1
    if made.ndim + named != x.ndim:
        raise ArgumentError(
            f"squeeze: axis {axis} of shape {tuple(x.shape)} has another size than 1; name axes of"
            " size 1"
        )
    return made


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Joined along a new axis."""
    return _core.stack(arrays, axis)


def tile(x: Any, repetitions: Any, /) -> Tensor:
    """The whole array side by side, so many times along each axis."""
    return _core.tile(x, repetitions)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, which disappears."""
    made: tuple[Tensor, ...] = _core.unbind(x, axis)
    return made
