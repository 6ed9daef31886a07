"""NumPy functions whose result has no derivative by nature: masks, positions, shapes, texts.

Owns: the list. They run on detached values, whatever requires grad.
Invariant: arrays that they give come as tensors, everything else as NumPy gives it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import tensor
from ferrograd._dispatch.table import numpy_function, register
from ferrograd._dispatch.ufuncs import on_arrays

_NAMES = """
    argpartition array2string array_equiv array_repr array_str can_cast common_type
    diag_indices_from digitize einsum_path isneginf isposinf ix_
    lexsort linalg.matrix_rank may_share_memory min_scalar_type nanargmax nanargmin
    ravel_multi_index result_type save savetxt savez savez_compressed shares_memory size
    tril_indices_from triu_indices_from unravel_index
"""


def _enter(path: str) -> None:
    theirs = numpy_function(path)
    if theirs is None:
        return

    def apply(*args: Any, **kwargs: Any) -> Any:
        found = on_arrays(theirs, args, kwargs)
        placed = kwargs.get("out") is not None
        if isinstance(found, np.ndarray) and found.dtype.kind in "bif" and not placed:
            return tensor(found)
        return found

    register(apply, path)


for _path in _NAMES.split():
    _enter(_path)
