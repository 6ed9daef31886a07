"""Arguments as arrays: `detached`.

Invariant: tensors become arrays of their values; other objects are unchanged.
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor
from ferrograd._tensor.pytree import check_depth


def detach_tensors(value: Any, depth: int = 0) -> Any:
    """The value with read-only arrays in place of tensors, also in lists, tuples and dicts."""
    if isinstance(value, Tensor):
        return value.detach().numpy(writable=False)
    if type(value) in (list, tuple):
        check_depth(value, depth)
        return type(value)([detach_tensors(item, depth + 1) for item in value])
    if isinstance(value, dict):
        check_depth(value, depth)
        return {key: detach_tensors(item, depth + 1) for key, item in value.items()}
    return value
