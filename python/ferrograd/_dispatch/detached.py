"""Arguments as arrays: `detached`.

Owns: the walk through nested arguments. Never copies an element.
Invariant: whatever requires grad comes as its values; everything that is no tensor stays as it is.
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor


def detached(value: Any) -> Any:
    """The value with read-only arrays in place of tensors, also in lists, tuples and dicts."""
    if isinstance(value, Tensor):
        return value.detach().numpy()
    if type(value) in (list, tuple):
        return type(value)(map(detached, value))
    if isinstance(value, dict):
        return {key: detached(item) for key, item in value.items()}
    return value
