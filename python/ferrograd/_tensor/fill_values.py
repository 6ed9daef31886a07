"""Values that fill a tensor: a number, or values that are broadcast.

Invariant: gradients reach values that are a tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ferrograd._core import Tensor, asarray
from ferrograd.errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


#: Python's number types.
_PYTHON_NUMBER_TYPES = frozenset({bool, int, float, complex})


def convert_fill_value(value: Any) -> Any:
    """Converts a NumPy scalar or a 0-d array to a Python number.

    Arrays and lists become tensors.
    """
    if type(value) in _PYTHON_NUMBER_TYPES:
        return value
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    return asarray(value) if isinstance(value, np.ndarray | list | tuple) else value


def broadcast_fill_value(
    op: str, shape: tuple[int, ...], value: Tensor, dtype: DTypeLike | None, requires_grad: bool
) -> Tensor:
    """Broadcasts a tensor to a shape and copies it; gradients reach the tensor."""
    value = value.reshape(()) if value.size == 1 else value
    fits = value.ndim <= len(shape) and all(
        size in (1, wanted) for size, wanted in zip(value.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise ShapeError(
            f"{op}: fill_value has shape {tuple(value.shape)} and the result {shape}; give one"
            " number, or values that broadcast"
        )
    out = value if dtype is None else value.astype(dtype)
    out = out.expand(shape).clone()
    out._become_memory()
    return out.requires_grad_() if requires_grad and out.is_leaf else out
