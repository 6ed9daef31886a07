"""Tensors among the arguments of NumPy's functions."""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor, tensor
from ferrograd._tensor.pytree import check_depth, sequence_items


def holds_tensor(value: Any, depth: int = 0) -> bool:
    """Whether a tensor is somewhere in nested lists and tuples."""
    if not isinstance(value, list | tuple):
        return isinstance(value, Tensor)
    check_depth(value, depth)
    return any(holds_tensor(item, depth + 1) for item in sequence_items(value))


def to_tensor(value: Any) -> Tensor:
    """Converts to a tensor; a tensor is returned unchanged."""
    return value if isinstance(value, Tensor) else tensor(value)
