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
from ferrograd._dispatch.function_table import get_numpy_function, register
from ferrograd._dispatch.ufuncs import run_on_arrays

_FUNCTION_NAMES = """
    argpartition array2string array_equiv array_repr array_str can_cast common_type
    digitize einsum_path isneginf isposinf
    lexsort linalg.matrix_rank may_share_memory min_scalar_type nanargmax nanargmin
    ravel_multi_index result_type save savetxt savez savez_compressed shares_memory size
    unravel_index
"""

_SHAPE_FUNCTION_NAMES = "diag_indices_from tril_indices_from triu_indices_from"


def _register_on_arrays(path: str) -> None:
    theirs = get_numpy_function(path)
    if theirs is None:
        return

    place = (
        list(_get_parameter_names(theirs)).index("out")
        if "out" in _get_parameter_names(theirs)
        else sys.maxsize
    )

    def apply(*args: Any, **kwargs: Any) -> Any:
        if len(args) > place:
            args, kwargs = args[:place], {**kwargs, "out": args[place]}
        found = run_on_arrays(theirs, args, kwargs)
        placed = kwargs.get("out") is not None
        if isinstance(found, np.ndarray) and found.dtype.kind in "bif" and not placed:
            return tensor(found)
        return found

    register(apply, path)


def _get_parameter_names(theirs: Any) -> Iterable[str]:
    """The names of a function's parameters, if it has a signature."""
    try:
        return inspect.signature(theirs).parameters
    except ValueError:
        return ()


def _register_shape_function(path: str) -> None:
    """A function that reads only the shape of its argument."""
    theirs = get_numpy_function(path)

    def apply(arr: Any, *args: Any, **kwargs: Any) -> Any:
        # No element is read, which programs of compiled functions could not repeat.
        like = np.broadcast_to(np.int8(0), tuple(arr.shape))
        return theirs(like, *args, **kwargs)

    register(apply, path)


for _path in _FUNCTION_NAMES.split():
    _register_on_arrays(_path)
for _path in _SHAPE_FUNCTION_NAMES.split():
    _register_shape_function(_path)
