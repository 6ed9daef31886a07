"""Arrays whose memory becomes the memory of a tensor.

Invariant: neither the array nor its base has other references.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ferrograd._core import Tensor, _taken

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


def adopt_array(values: Any, dtype: DTypeLike | None, requires_grad: bool) -> Tensor:
    """Makes a tensor that owns the memory of a new array."""
    base = values.base
    if base is not None and base.shape == values.shape and base.dtype == values.dtype:
        values = base
    return _taken(values, dtype, requires_grad)
