"""Arrays made from nothing, from numbers and from other libraries' memory.

Invariant: what is made of tensors that require grad is recorded; `asarray(copy=None)` shares memory
where it can.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._tensor import creation
from ferrograd.array_api._devices import check_device
from ferrograd.errors import ArgumentError


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """An array of numbers, nested sequences, a tensor, or memory of another library.

    `copy=None` shares memory where dtype and source allow it, `copy=True` never does, and
    `copy=False` raises `ArgumentError` (a ValueError) where a copy is needed. Of a tensor that
    requires grad, or of sequences that hold such, the result has their history.

    >>> import ferrograd.array_api as xp
    >>> xp.asarray([1, 2], dtype=xp.float32, copy=True)
    tensor([1., 2.], dtype=float32)
    """
    check_device("asarray", device)
    made = _core.asarray(obj, dtype)
    if copy is None:
        return made
    shares = made is obj if isinstance(obj, Tensor) else _shares_memory(obj, made)
    if copy:
        return _core.clone(made) if shares else made
    if not shares:
        raise ArgumentError(
            "asarray: copy=False, and the elements have to be copied; pass copy=None, or an array"
            " of the dtype that is asked for"
        )
    return made


def _shares_memory(source: Any, made: Tensor) -> bool:
    """Whether a tensor made of something has its memory."""
    if isinstance(source, np.ndarray):
        return bool(np.shares_memory(source, made.detach().numpy())) or source.size == 0
    if isinstance(source, bool | int | float | complex | list | tuple | np.generic):
        return False
    return hasattr(source, "__dlpack__") or hasattr(source, "__array_interface__")


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Evenly spaced numbers from `start` (or 0) up to but without `stop`.

    >>> import ferrograd.array_api as xp
    >>> xp.arange(1, 7, 2).tolist()
    [1, 3, 5]
    """
    check_device("arange", device)
    ends = [_to_python_number(value) for value in (start, stop, step)]
    return creation.arange(*ends, dtype=dtype)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` evenly spaced numbers from `start` to `stop`.

    >>> import ferrograd.array_api as xp
    >>> xp.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    check_device("linspace", device)
    ends = (_to_python_number(start), _to_python_number(stop))
    if dtype is None and any(isinstance(end, complex) for end in ends):
        dtype = np.result_type(_core.get_default_dtype(), np.complex64)
    made: Tensor = creation.linspace(*ends, num, dtype=dtype, endpoint=bool(endpoint))
    return made


def _to_python_number(value: Any) -> Any:
    """A number of Python's, also of an array of no dimensions."""
    return value.item() if isinstance(value, Tensor | np.ndarray | np.generic) else value


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array whose elements do not matter; they are zeros."""
    check_device("empty", device)
    return creation.empty(shape, dtype=dtype)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros of a shape."""
    check_device("zeros", device)
    return creation.zeros(shape, dtype=dtype)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones of a shape."""
    check_device("ones", device)
    return creation.ones(shape, dtype=dtype)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """One repeated number, whose kind decides the dtype unless `dtype` does.

    A tensor of one number is repeated, and gradients reach it.
    """
    check_device("full", device)
    return creation.full(shape, fill_value, dtype=dtype)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array like another whose elements do not matter; they are zeros."""
    check_device("empty_like", device)
    return creation.empty_like(x, dtype=dtype)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros of the shape and dtype of another array."""
    check_device("zeros_like", device)
    return creation.zeros_like(x, dtype=dtype)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones of the shape and dtype of another array."""
    check_device("ones_like", device)
    return creation.ones_like(x, dtype=dtype)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """One repeated number in the shape and dtype of another array."""
    check_device("full_like", device)
    return creation.full_like(x, fill_value, dtype=dtype)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Ones on a diagonal of a matrix, zeros elsewhere.

    >>> import ferrograd.array_api as xp
    >>> xp.eye(2, 3, k=1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    check_device("eye", device)
    return creation.eye(n_rows, n_cols, k=k, dtype=dtype)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """An array on the memory of any object with `__dlpack__`; `copy` as `asarray` has it."""
    check_device("from_dlpack", device)
    return _core.from_dlpack(x, device=device, copy=copy)


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """The coordinates of a grid from those of its axes; `indexing` is `"xy"` or `"ij"`."""
    made: tuple[Tensor, ...] = _core._meshgrid(*arrays, indexing=indexing)
    return made


def tril(x: Any, /, *, k: int = 0) -> Tensor:
    """The elements on and below diagonal `k` of the last two axes, zeros elsewhere."""
    return _core.tril(x, k)


def triu(x: Any, /, *, k: int = 0) -> Tensor:
    """The elements on and above diagonal `k` of the last two axes, zeros elsewhere."""
    return _core.triu(x, k)
