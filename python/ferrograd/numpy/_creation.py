"""Arrays that a program makes and writes to: `zeros`, `linspace`, `concatenate` and others.

While a transform runs or a function is compiled, float and complex ones are tensors, so that `A[i,
j] = t` is recorded. Otherwise, and for other dtypes, they are NumPy's arrays. Results computed from
arrays, such as `np.sin(a)`, stay arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd._core import _full, _records_arrays
from ferrograd._tensor.adopt_memory import adopt_array
from ferrograd._tensor.creation import parse_shape

#: The codes of NumPy's dtypes that tensors have and that have derivatives.
_INEXACT_CODES = frozenset("efdFD")
#: Functions that take a shape, with the number that fills it.
_FILL_VALUES = {"zeros": 0, "ones": 1, "empty": 0}
#: Functions that return their argument, or a view of it, if possible.
_CONVERSION_FUNCTIONS = """
    array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray atleast_1d
    atleast_2d atleast_3d diag require
"""
#: Arguments of which NumPy makes a new array.
_NON_ARRAY_TYPES = (list, tuple, float, int, complex)
#: Functions that always make a new array: by creating, joining or repeating.
_CREATION_FUNCTIONS = """
    append arange block column_stack concat concatenate copy delete diagflat dstack empty_like eye
    fromfunction fromiter full full_like geomspace hstack identity insert linspace logspace meshgrid
    ones_like pad repeat resize row_stack stack tile tri vstack zeros_like
"""


def wrap_creation_functions(names: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Wrappers of the functions in `names` that make arrays."""
    found = {name: _wrap_fill_function(names[name], value) for name, value in _FILL_VALUES.items()}
    found |= {
        name: _wrap_conversion_function(names[name]) for name in _CONVERSION_FUNCTIONS.split()
    }
    return found | {
        name: _wrap_creation_function(names[name])
        for name in _CREATION_FUNCTIONS.split()
        if name in names
    }


def to_buffer(made: Any) -> Any:
    """A new array as a tensor, if its dtype has derivatives; several in a tuple or list."""
    if type(made) is np.ndarray and made.dtype.char in _INEXACT_CODES:
        return adopt_array(made, None, False)
    return type(made)(map(to_buffer, made)) if type(made) in (tuple, list) else made


def _wrap_fill_function(plain: Callable[..., Any], value: int) -> Callable[..., Any]:
    """`zeros` and similar functions: the buffer is made without an intermediate array."""
    op = plain.__name__

    def make_filled(shape: Any, dtype: Any = float, *args: Any, **kwargs: Any) -> Any:
        found = np.dtype(dtype)
        if args or kwargs or found.char not in _INEXACT_CODES:
            return to_buffer(plain(shape, dtype, *args, **kwargs))
        return _full(op, parse_shape(op, (shape,)), value, found, False)

    @functools.wraps(plain)
    def create(*args: Any, **kwargs: Any) -> Any:
        return make_filled(*args, **kwargs) if _records_arrays() else plain(*args, **kwargs)

    return create


def _wrap_creation_function(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def create(*args: Any, **kwargs: Any) -> Any:
        made = plain(*args, **kwargs)
        # `meshgrid` returns views if requested.
        return to_buffer(made) if _records_arrays() and kwargs.get("copy", True) else made

    return create


def _wrap_conversion_function(plain: Callable[..., Any]) -> Callable[..., Any]:
    """`array` and similar functions: shared memory stays an array, since writes must reach it."""

    @functools.wraps(plain)
    def create(*args: Any, **kwargs: Any) -> Any:
        made = plain(*args, **kwargs)
        if type(made) is not np.ndarray or not _records_arrays():
            return made
        own = made.base is None and not any(made is value for value in (*args, *kwargs.values()))
        return to_buffer(made) if own or (args and isinstance(args[0], _NON_ARRAY_TYPES)) else made

    return create
