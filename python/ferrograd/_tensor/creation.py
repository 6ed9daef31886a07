"""Creation of tensors; dtypes and constants.

NumPy computes elements that are not constant; the core owns the memory. Invariant: floats get the
default dtype unless `dtype` says otherwise.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from itertools import islice
from math import ceil, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ferrograd._core import Tensor, _full, asarray, get_default_dtype, tensor
from ferrograd._tensor.adopt_memory import adopt_array
from ferrograd._tensor.as_array import check_finite_numbers, get_small_identity, linspace_array
from ferrograd._tensor.device import check_device
from ferrograd._tensor.fill_values import broadcast_fill_value, convert_fill_value
from ferrograd.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

float64 = np.dtype("float64")
float32 = np.dtype("float32")
float16 = np.dtype("float16")
complex128 = np.dtype("complex128")
complex64 = np.dtype("complex64")
int64 = np.dtype("int64")
int32 = np.dtype("int32")
int16 = np.dtype("int16")
int8 = np.dtype("int8")
uint64 = np.dtype("uint64")
uint32 = np.dtype("uint32")
uint16 = np.dtype("uint16")
uint8 = np.dtype("uint8")
bool_ = np.dtype("bool")

pi = np.pi
e = np.e
inf = np.inf
nan = np.nan
newaxis = None

#: The most dimensions of a tensor, as in NumPy.
MAX_NDIM = 64
#: The most elements of eight bytes that memory can address.
MAX_ELEMENTS = 2**60

#: Python types of real numbers, which have no dtype.
_REAL_TYPES = frozenset({bool, int, float})

Shape = int | Sequence[int]


def parse_shape(op: str, sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Checks a shape that is passed as several integers or as one sequence."""
    given = sizes[0] if len(sizes) == 1 and type(sizes[0]) in (tuple, list) else sizes
    count = 1
    for size in given:
        if type(size) is not int or size < 0:
            break
        count *= size
    else:
        if count <= MAX_ELEMENTS and len(given) <= MAX_NDIM:
            return tuple(given)
    return _parse_general_shape(op, sizes)


def _parse_general_shape(op: str, sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """`parse_shape` for all integer-like arguments; raises the errors."""
    try:
        if len(sizes) == 1 and not hasattr(sizes[0], "__index__"):
            # One more than there may be: a longer sequence, or one without an end, is not read.
            sizes = tuple(islice(sizes[0], MAX_NDIM + 1))
        shape = tuple([size.__index__() for size in sizes])
    except (AttributeError, TypeError):
        named = any(isinstance(size, type | np.dtype | str) for size in sizes[1:])
        remedy = (
            "the dtype by name, as dtype=" if named else "a tuple of integers or several integers"
        )
        raise ArgumentTypeError(
            f"{op}: the shape {reprlib.repr(sizes)} holds something else than integers; pass"
            f" {remedy}"
        ) from None
    if len(shape) > MAX_NDIM:
        raise ShapeError(
            f"{op}: the shape has more than {MAX_NDIM} sizes; use at most {MAX_NDIM} dimensions"
        )
    if shape and min(shape) < 0:
        raise ArgumentError(
            f"{op}: the shape holds the negative size {min(shape)}; give sizes of at least 0"
        )
    if prod(shape) > MAX_ELEMENTS:
        raise ShapeError(
            f"{op}: an array of shape {shape} has more elements than memory can address; use a"
            " smaller shape"
        )
    return shape


def parse_shape_keywords(op: str, sizes: tuple[Any, ...], shape: Any, size: Any) -> tuple[int, ...]:
    """A shape passed by position, as NumPy's `shape=`, or as PyTorch's `size=`."""
    if shape is None and size is None:
        return parse_shape(op, sizes)
    given = [(each,) for each in (shape, size) if each is not None]
    given += [sizes] if sizes else []
    if len(given) > 1:
        raise ArgumentTypeError(f"{op}: the shape is given {len(given)} times; give it once")
    return parse_shape(op, given[0])


def get_prototype(op: str, x: Any) -> Any:
    """The prototype of shape and dtype: a tensor, or an array made from the argument."""
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return x
    if isinstance(x, int | float | list | tuple):
        return asarray(x)
    raise ArgumentTypeError(f"{op}: x is a {type(x).__name__}; pass a tensor, an array or numbers")


def resolve_dtype(dtype: DTypeLike | None, out: Tensor | None) -> DTypeLike | None:
    """The dtype of new numbers: the requested one, else that of `out`."""
    return out.dtype if dtype is None and isinstance(out, Tensor) else dtype


def write_out(op: str, made: Tensor, out: Tensor | None) -> Tensor:
    """Writes the result to `out` if it is given; `out` keeps its dtype and shape."""
    if out is None:
        return made
    if not isinstance(out, Tensor):
        raise ArgumentTypeError(f"{op}: out is a {type(out).__name__}; pass a tensor as out")
    if made.requires_grad and made.is_leaf:
        raise ArgumentError(f"{op}: requires_grad=True beside out; call out.requires_grad_()")
    if out.shape != made.shape:
        raise ShapeError(
            f"{op}: out has shape {tuple(out.shape)} and the result {tuple(made.shape)}; give an"
            " out of the result's shape"
        )
    if not np.can_cast(made.dtype, out.dtype, "same_kind"):
        raise DTypeError(
            f"{op}: the result is {made.dtype} and out {out.dtype}; give an out of the result's"
            " dtype"
        )
    return out.copy_(made)


def zeros(
    *sizes: Any,
    shape: Any = None,
    size: Any = None,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Zeros with a shape, passed as a tuple, as several integers, or as `shape=`."""
    if shape is size is out is device is None:
        return _full("zeros", parse_shape("zeros", sizes), 0, dtype, requires_grad)
    check_device(device)
    dtype = resolve_dtype(dtype, out)
    made = _full(
        "zeros", parse_shape_keywords("zeros", sizes, shape, size), 0, dtype, requires_grad
    )
    return write_out("zeros", made, out)


def ones(
    *sizes: Any,
    shape: Any = None,
    size: Any = None,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Ones with a shape, passed as a tuple, as several integers, or as `shape=`."""
    if shape is size is out is device is None:
        return _full("ones", parse_shape("ones", sizes), 1, dtype, requires_grad)
    check_device(device)
    dtype = resolve_dtype(dtype, out)
    made = _full("ones", parse_shape_keywords("ones", sizes, shape, size), 1, dtype, requires_grad)
    return write_out("ones", made, out)


def empty(
    *sizes: Any,
    shape: Any = None,
    size: Any = None,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """A tensor whose values do not matter; they are zeros."""
    if shape is size is out is device is None:
        return _full("empty", parse_shape("empty", sizes), 0, dtype, requires_grad)
    check_device(device)
    dtype = resolve_dtype(dtype, out)
    made = _full(
        "empty", parse_shape_keywords("empty", sizes, shape, size), 0, dtype, requires_grad
    )
    return write_out("empty", made, out)


def full(
    shape: Shape | None = None,
    fill_value: bool | int | float | complex | Tensor | None = None,
    *,
    size: Shape | None = None,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """One repeated number; its kind decides the dtype unless `dtype` does.

    Tensors and arrays are broadcast and keep their dtype, and gradients reach a tensor. `size` is
    PyTorch's name of the shape.
    """
    if type(fill_value) is float and size is None and out is device is None:
        return _full("full", parse_shape("full", (shape,)), fill_value, dtype, requires_grad)
    check_device(device)
    if fill_value is None:
        raise ArgumentTypeError("full: fill_value is None; give a number")
    sizes, dtype = parse_shape_keywords("full", (), shape, size), resolve_dtype(dtype, out)
    number = convert_fill_value(fill_value)
    if isinstance(number, Tensor):
        return write_out(
            "full", broadcast_fill_value("full", sizes, number, dtype, requires_grad), out
        )
    if dtype is None and isinstance(number, complex):
        dtype = tensor(number).dtype
    elif dtype is None and not isinstance(number, float):
        dtype = bool_ if isinstance(number, bool) else int64
    return write_out("full", _full("full", sizes, number, dtype, requires_grad), out)


def zeros_like(
    x: Any,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Zeros of the shape and dtype of another tensor or array."""
    if device is not None:
        check_device(device)
    x = x if type(x) is Tensor else get_prototype("zeros_like", x)
    return _full("zeros_like", x.shape, 0, x.dtype if dtype is None else dtype, requires_grad)


def ones_like(
    x: Any,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Ones of the shape and dtype of another tensor or array."""
    if device is not None:
        check_device(device)
    x = x if type(x) is Tensor else get_prototype("ones_like", x)
    return _full("ones_like", x.shape, 1, x.dtype if dtype is None else dtype, requires_grad)


def empty_like(
    x: Any,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """A tensor like another whose values do not matter; they are zeros."""
    if device is not None:
        check_device(device)
    x = x if type(x) is Tensor else get_prototype("empty_like", x)
    return _full("empty_like", x.shape, 0, x.dtype if dtype is None else dtype, requires_grad)


def full_like(
    x: Any,
    fill_value: bool | int | float | complex | Tensor,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """One repeated number, or broadcast values, in the shape and dtype of a tensor or array."""
    if device is not None:
        check_device(device)
    x = x if type(x) is Tensor else get_prototype("full_like", x)
    dtype = x.dtype if dtype is None else dtype
    number = convert_fill_value(fill_value)
    if isinstance(number, Tensor):
        return broadcast_fill_value("full_like", tuple(x.shape), number, dtype, requires_grad)
    return _full("full_like", x.shape, number, dtype, requires_grad)


def arange(
    start: float | None = None,
    stop: float | None = None,
    step: float = 1,
    *,
    end: float | None = None,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Evenly spaced numbers from `start` (default 0) up to, but not including, `stop`.

    `end` is PyTorch's name of `stop`.
    """
    check_device(device)
    if stop is None:
        start, stop = (0, start) if end is None else (0 if start is None else start, end)
    elif end is not None:
        raise ArgumentTypeError(f"arange: stop is {stop} and end is {end}; give one of them")
    if start is None or stop is None:
        raise ArgumentTypeError(
            "arange: there is no stop; give arange(stop) or arange(start, stop)"
        )
    if not type(start) is type(stop) is int or not 0 <= start <= stop <= MAX_ELEMENTS or step != 1:
        check_finite_numbers("arange", start=start, stop=stop, step=step)
        if step == 0:
            raise ArgumentError("arange: step is 0; give a step that leads from start to stop")
        parse_shape("arange", (max(ceil((stop - start) / step), 0),))
    dtype = resolve_dtype(dtype, out)
    if dtype is None and (
        isinstance(start, float) or isinstance(stop, float) or isinstance(step, float)
    ):
        dtype = get_default_dtype()
    return write_out("arange", adopt_array(np.arange(start, stop, step), dtype, requires_grad), out)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    out: Tensor | None = None,
    requires_grad: bool = False,
    device: Any = None,
    steps: int | None = None,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`; `steps` is PyTorch's name of `num`.

    As `np.linspace`: arrays as ends give a new axis, and `retstep` also returns the step. Gradients
    reach ends that are tensors. If the ends are Python numbers, the result has the default dtype.
    """
    check_device(device)
    (num,) = parse_shape("linspace", (num if steps is None else steps,))
    kind = resolve_dtype(dtype, out)
    real = type(start) in _REAL_TYPES and type(stop) in _REAL_TYPES
    if kind is None and (real or _REAL_TYPES.union({complex}).issuperset(map(type, (start, stop)))):
        kind = get_default_dtype()
    kind = None if kind is None else np.dtype(kind)
    narrow = not real and kind is not None and kind.kind != "c"
    if narrow and any(map(np.iscomplexobj, (start, stop))):
        raise DTypeError(
            f"linspace: the ends {start} and {stop} are complex and the elements {kind};"
            " give dtype=complex, or real ends"
        )
    values: Any = linspace_array(start, stop, num, endpoint, retstep, kind, axis)
    values, *step = values if retstep else (values,)
    if not isinstance(values, Tensor):
        values = adopt_array(values, kind, requires_grad)
    elif requires_grad and values.is_leaf:
        values.requires_grad_()
    values = write_out("linspace", values, out)
    return (values, *step) if retstep else values


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Ones on a diagonal of an `n` by `m` matrix, zeros elsewhere."""
    check_device(device)
    n, m = parse_shape("eye", (n, n if m is None else m))
    dtype = resolve_dtype(dtype, out) or get_default_dtype()
    if k == 0 and n * m < 2048:
        made = tensor(get_small_identity(n, m, np.dtype(dtype)), requires_grad=requires_grad)
        return write_out("eye", made, out)
    made = _full("eye", (n, m), 0, dtype, False)
    made.diagonal(k).fill_(1)
    return write_out("eye", made.requires_grad_() if requires_grad else made, out)
