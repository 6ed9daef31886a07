"""Conversion of arguments and results of transforms: arrays and numbers to tensors and back.

Invariant: a returned array is fresh, writable, C-contiguous and has the dtype of the argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor, _copy_dual, _leaf, _TracedCall, tensor
from ferrograd.errors import ArgumentTypeError, DTypeError

#: Kinds of arguments; the lowest decides on the kind of results.
TENSOR, ARRAY = _TracedCall.TENSOR, _TracedCall.ARRAY
SCALAR, FLOAT = _TracedCall.SCALAR, _TracedCall.FLOAT

#: What to pass in place of arguments of other dtypes, by the kind of the dtype.
_DTYPE_REMEDIES = {
    "i": "pass x.astype(float)",
    "u": "pass x.astype(float)",
    "b": "pass x.astype(float)",
    "c": "pass x.astype(np.complex128)",
    "O": "an array of objects has no derivative; pass a list or tuple of float arrays",
    "f": "pass x.astype(np.float64) or x.astype(np.float32)",
}


def make_input(op: str, where: str, value: Any, recording: bool) -> tuple[Tensor, int]:
    """A new tensor for an argument, and the kind of the argument.

    A tensor that is being recorded stays connected: the new tensor is computed from it. So outer
    derivatives include the inner one, and the two are not confused.
    """
    kind = type(value)
    if isinstance(value, Tensor):
        if value.dtype.kind not in "fc":
            raise make_refusal_error(op, where, value)
        if value.requires_grad and recording:
            copy = _copy_dual(value)
            return value.clone() if copy is None else copy, TENSOR
        return _leaf(value), TENSOR
    if kind is float:
        return _leaf(value, np.float64), FLOAT
    if kind is complex:
        return _leaf(value, np.complex128), FLOAT
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentTypeError(
            f"{op}: {where} is a masked array, whose mask a derivative would lose; pass x.filled(0)"
            " and use the mask inside the function: np.where(mask, 0, ...)"
        )
    if isinstance(value, np.ndarray | np.inexact) and value.dtype.char in "efdFD":
        native = value.dtype if value.dtype.isnative else value.dtype.newbyteorder("=")
        return _leaf(value, native), ARRAY if isinstance(value, np.ndarray) else SCALAR
    raise make_refusal_error(op, where, value)


def make_refusal_error(op: str, where: str, value: Any) -> Exception:
    dtype = getattr(value, "dtype", None)
    if isinstance(value, np.ndarray | np.generic | Tensor) and isinstance(dtype, np.dtype):
        what = "a tensor" if isinstance(value, Tensor) else "an array"
        remedy = _DTYPE_REMEDIES.get(dtype.kind, "pass an array of floats")
        return DTypeError(
            f"{op}: {where} is {what} of dtype {dtype}, not a float that tensors have;"
            f" {remedy}{_get_binding_remedy(op)}"
        )
    if isinstance(value, bool):
        return DTypeError(
            f"{op}: {where} is the bool {value}; pass a float or an array of"
            f" floats{_get_binding_remedy(op)}"
        )
    if isinstance(value, int):
        return DTypeError(
            f"{op}: {where} is the integer {value}; pass {value}.0{_get_binding_remedy(op)}"
        )
    shown = f"the string {value!r}" if isinstance(value, str) else f"a {type(value).__name__}"
    return ArgumentTypeError(
        f"{op}: {where} is {shown}, and no derivative exists with respect to it; give floats, float"
        " arrays, tensors or containers of them, and pass everything else in another argument"
    )


def _get_binding_remedy(op: str) -> str:
    """What to do if some arguments cannot be differentiated and no argnums are given."""
    if op not in ("vjp", "jvp"):
        return ""
    return ", or bind an argument that is not differentiated: lambda x: f(x, i)"


def to_array(found: Tensor) -> np.ndarray:
    """A gradient without other references, as an array; not copied if it is in C order."""
    array = found.numpy(writable=True)
    return array if array.flags.c_contiguous else array.copy()


def conjugate(found: Tensor) -> Tensor:
    """Converts between gradients of the engine and of transforms: `conj` of complex ones.

    The engine's gradient is the direction of steepest ascent, `dL/dx + i dL/dy`. In transforms, the
    derivative of a holomorphic function is `f'`.
    """
    return found.conj() if found.dtype.kind == "c" else found


def convert_derivative(kind: int, found: Tensor) -> Any:
    """A derivative, converted to the kind of its argument; a recorded one stays a tensor."""
    if kind == TENSOR or found.requires_grad:
        return found
    if kind == ARRAY:
        return to_array(found)
    if found.ndim:
        return to_array(found)
    return found.item() if kind == FLOAT else found.numpy().copy()[()]


def make_zero_derivative(kind: int, like: Tensor) -> Any:
    """The derivative of a result that does not depend on an argument."""
    if kind == FLOAT:
        return 0.0 if like.dtype.kind == "f" else 0j
    array = np.zeros(like.shape, like.dtype)
    if kind == TENSOR:
        return tensor(array)
    return array if kind == ARRAY else array[()]


def get_common_kind(kinds: Sequence[int]) -> int:
    """The kind of the results: tensor if any argument is one, else array, else float."""
    if not kinds:
        return ARRAY
    lowest = min(kinds)
    return ARRAY if lowest == SCALAR else lowest


def convert_value(kind: int, out: Any, attached: bool) -> Any:
    """A result of the function in the caller's kind; a number for a 0-d result."""
    if not isinstance(out, Tensor) or (attached and out.requires_grad):
        return out
    if kind == TENSOR:
        return out.detach()
    if kind == FLOAT and out.ndim == 0:
        return out.detach().item()
    return out.detach().numpy().copy()[()]


def is_integer(value: Any) -> bool:
    """Whether a value has a boolean or integer dtype."""
    if isinstance(value, Tensor | np.ndarray | np.generic):
        return value.dtype.kind in "biu"
    return isinstance(value, bool | int)
