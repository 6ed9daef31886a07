"""Properties of tensors, under PyTorch's names: kinds of dtypes, sizes, devices.

Invariant: tensors live in main memory, and queries for other devices return False.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray, get_default_dtype
from ferrograd._tensor.creation import linspace
from ferrograd._tensor.device import check_device
from ferrograd.errors import ArgumentError


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of the data, which shares memory with an array and is a tensor's own.

    >>> import ferrograd as fg
    >>> x = fg.ones(2)
    >>> fg.as_tensor(x) is x, fg.as_tensor([1, 2]).tolist()
    (True, [1, 2])
    """
    check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return asarray(data, dtype)


def numel(input: Tensor) -> int:
    """The number of elements."""
    return int(input.size)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real float."""
    return bool(input.is_floating_point())


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero. Errors: `ArgumentError` for another number of them."""
    if input.size != 1:
        raise ArgumentError(f"is_nonzero: the tensor has {input.size} elements; give one of one")
    return bool(input.detach().reshape(()).item() != 0)


def _kind(x: Any) -> Any:
    return x if not isinstance(x, Tensor) else x.detach().numpy()


def result_type(tensor1: Any, tensor2: Any) -> np.dtype[Any]:
    """The dtype of a result of both, which may be numbers: `np.result_type`."""
    return np.result_type(_kind(tensor1), _kind(tensor2))


def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """The smallest dtype that both fit into: `np.promote_types`."""
    return np.promote_types(type1, type2)


def can_cast(from_: Any, to: Any) -> bool:
    """Whether a cast keeps or raises the kind of the dtype: not from float to integer."""
    return bool(np.can_cast(from_, to, "same_kind"))


def finfo(dtype: Any = None) -> Any:
    """The limits of a float dtype, or of the default one: `np.finfo`."""
    return np.finfo(get_default_dtype() if dtype is None else dtype)


def iinfo(dtype: Any) -> Any:
    """The limits of an integer dtype: `np.iinfo`."""
    return np.iinfo(dtype)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to."""
    return tuple(np.broadcast_shapes(*shapes))


def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """`steps` powers of `base` with evenly spaced exponents from `start` to `end`.

    >>> import ferrograd as fg
    >>> fg.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    made: Tensor = base ** linspace(start, end, steps, device=device)
    made = made if dtype is None else made.to(dtype)
    return made.requires_grad_() if requires_grad and made.is_leaf else made


# --- methods -----------------------------------------------------------------------------------


def nelement(self: Tensor) -> int:
    """The number of elements."""
    return int(self.size)


def ndimension(self: Tensor) -> int:
    """The number of axes."""
    return int(self.ndim)


def get_device(self: Tensor) -> int:
    """-1: the tensor is on no accelerator."""
    return -1


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return tuple(self.shape) == tuple(other.shape)


def is_signed(self: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return self.dtype.kind in "ifc"


def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The tensor in another dtype, `to(dtype)`; without a dtype, the name of the current one."""
    return str(self.dtype) if dtype is None else self.to(dtype)


def pin_memory(self: Tensor) -> Tensor:
    """Returns the tensor: there is no accelerator."""
    return self


def share_memory_(self: Tensor) -> Tensor:
    """The tensor: threads share all memory."""
    return self
