"""NumPy functions whose results have no derivative: masks, positions, shapes, strings.

They run on detached values, even if arguments require grad. Invariant: array results become
tensors; other results are NumPy's.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from ferrograd._core import tensor
from ferrograd._dispatch.function_table import numpy_function, register
from ferrograd._dispatch.ufuncs import on_arrays

_NAMES = """
    argpartition array2string array_equiv array_repr array_str can_cast common_type
    digitize einsum_path isneginf isposinf
    lexsort linalg.matrix_rank may_share_memory min_scalar_type nanargmax nanargmin
    ravel_multi_index result_type save savetxt savez savez_compressed shares_memory size
    unravel_index
"""

_OF_SHAPES = "diag_indices_from tril_indices_from triu_indices_from"


def _enter(path: str) -> None:
    theirs = numpy_function(path)
    if theirs is None:
        return

    place = list(_parameters(theirs)).index("out") if "out" in _parameters(theirs) else sys.maxsize

    def apply(*args: Any, **kwargs: Any) -> Any:
        if len(args) > place:
            args, kwargs = args[:place], {**kwargs, "out": args[place]}
        found = on_arrays(theirs, args, kwargs)
        placed = kwargs.get("out") is not None
        if isinstance(found, np.ndarray) and found.dtype.kind in "bif" and not placed:
            return tensor(found)
        return found

    register(apply, path)


def _parameters(theirs: Any) -> Iterable[str]:
    """The names of a function's parameters, if it has a signature."""
    try:
        return inspect.signature(theirs).parameters
    except ValueError:
        return ()


def _enter_shaped(path: str) -> None:
    """A function that reads only the shape of its argument."""
    theirs = numpy_function(path)

    def apply(arr: Any, *args: Any, **kwargs: Any) -> Any:
        # No element is read, which programs of compiled functions could not repeat.
        like = np.broadcast_to(np.int8(0), tuple(arr.shape))
        return theirs(like, *args, **kwargs)

    register(apply, path)


for _path in _NAMES.split():
    _enter(_path)
for _path in _OF_SHAPES.split():
    _enter_shaped(_path)
