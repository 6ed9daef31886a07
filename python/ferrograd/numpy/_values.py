"""Tensors among the arguments of NumPy's functions.

Owns: the search for them in nested lists. Never computes.
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor, tensor


def holds_tensor(value: Any) -> bool:
    """Whether a tensor is somewhere in nested lists and tuples."""
    return isinstance(value, Tensor) or (
        isinstance(value, list | tuple) and any(map(holds_tensor, value))
    )


def tensor_of(value: Any) -> Tensor:
    """A tensor as it is, anything else as a new one."""
    return value if isinstance(value, Tensor) else tensor(value)
