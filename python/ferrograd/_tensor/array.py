"""`array`: a differentiable copy of a tensor, or a tensor of numbers, with NumPy's rules.

Invariant: the result shares memory with its argument exactly when NumPy's does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ferrograd._core import Tensor, tensor
from ferrograd._tensor.device import check_device
from ferrograd.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

#: The memory orders that NumPy accepts.
_ORDERS = frozenset({None, "C", "F", "A", "K"})


def array(
    object: Any,
    dtype: DTypeLike | None = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    ndmin: int = 0,
    requires_grad: bool = False,
    name: str | None = None,
    device: Any = None,
) -> Tensor:
    """A tensor with its own memory; it keeps the history of tensors, also in nested lists.

    `copy=None` copies only if `dtype` or `order` require it. `fg.tensor`, as in PyTorch, returns a
    copy without the history.
    Errors: `ArgumentError` for `copy=False` if a copy is needed.

    >>> import ferrograd as fg
    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> fg.array(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    check_device(device)
    object = sequence_to_list(object)
    fresh = not isinstance(object, Tensor)
    made = tensor(object, dtype) if fresh else object
    made = copy_with_layout("array", made, dtype, copy, order, ndmin, fresh=fresh)
    if requires_grad and made.is_leaf:
        made.requires_grad_()
    if name is not None:
        made.name = name
    return made


def sequence_to_list(value: Any) -> Any:
    """Converts other Python sequences, such as a deque, to lists."""
    other = isinstance(value, Sequence) and not isinstance(value, list | tuple | str | bytes)
    return list(value) if other and not isinstance(value, range | memoryview) else value


def copy_with_layout(
    op: str,
    made: Tensor,
    dtype: DTypeLike | None,
    copy: bool | None,
    order: str | None,
    ndmin: int = 0,
    *,
    fresh: bool = False,
) -> Tensor:
    """A tensor with a dtype, an order and a number of axes, copied as NumPy copies an array.

    `fresh` means that its memory has no other references. A value is copied, because it is not
    memory.
    """
    if order not in _ORDERS:
        raise ArgumentError(f"{op}: order is {order!r}; give 'C', 'F', 'A' or 'K'")
    kind = made.dtype if dtype is None else np.dtype(dtype)
    casts = made.dtype != kind
    misplaced = _needs_reordering(made, order)
    if copy is False and (fresh or casts or misplaced or made._is_value()):
        raise ArgumentError(
            f"{op}: copy=False, and a copy is needed for this dtype, order or argument; leave it"
            " out, or give copy=None"
        )
    if casts:
        made, fresh, misplaced = made.astype(kind), True, order == "F"
    if misplaced or not (fresh or copy is None or copy is False) or made._is_value():
        made = made.T.clone().T if order == "F" and made.ndim > 1 else made.clone()
    made._become_memory()
    if made.ndim < ndmin:
        made = made.reshape((1,) * (ndmin - made.ndim) + tuple(made.shape))
    return made


def _needs_reordering(made: Tensor, order: str | None) -> bool:
    """Whether the elements are not in the requested order."""
    if order == "C":
        return not made.is_contiguous()
    return order == "F" and made.ndim > 1 and not made.T.is_contiguous()
