"""`r_`, `c_`, `mgrid` and `ogrid`, with tensors between the brackets of the first two."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import Tensor, _records_arrays, asarray
from ferrograd._dispatch.composed.rearrangement import rearrange_elements
from ferrograd.numpy._creation import to_buffer
from ferrograd.numpy._tensor_arguments import holds_tensor


class Joiner:
    """Joins the arrays, numbers, slices and tensors between its brackets."""

    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs
        self.__doc__ = theirs.__doc__

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if not any(map(holds_tensor, items)):
            made = self._theirs[key]
            return to_buffer(made) if _records_arrays() else made
        sources = [_to_tensor(item) for item in items if not isinstance(item, str)]

        def arrange(*numbers: Any) -> Any:
            remaining = iter(numbers)
            return self._theirs[
                tuple(item if isinstance(item, str) else next(remaining) for item in items)
            ]

        return rearrange_elements(sources, arrange)


def _to_tensor(item: Any) -> Tensor:
    made: Tensor = asarray(np.r_[item] if isinstance(item, slice) else item)
    return made


r_, c_ = Joiner(np.r_), Joiner(np.c_)
mgrid, ogrid = Joiner(np.mgrid), Joiner(np.ogrid)
