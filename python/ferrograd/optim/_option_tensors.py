"""Numbers as tensors without axes, for loops that read them with the parameters.

Invariant: equal constants share one tensor, which is never written.
"""

from __future__ import annotations

import functools
from typing import Any

from ferrograd._core import Tensor, tensor

#: A number, or a tensor of one.
Number = float | Tensor


@functools.lru_cache(maxsize=256)
def _make_scalar(number: float, dtype: Any) -> Tensor:
    """A number as a tensor of no axes."""
    return tensor(number, dtype=dtype)


def as_tensor(number: Number, dtype: Any) -> Tensor:
    """A number, or a tensor of one, as a tensor of no axes in this dtype."""
    if isinstance(number, Tensor):
        return number.detach().astype(dtype)
    return _make_scalar(float(number), dtype)
