"""NumPy's functions, with direct calls of ferrograd's operations for tensors.

Invariant: without a tensor among the arguments the call is NumPy's own; `_creation` decides whether
a new array becomes a tensor.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._dispatch import protocols
from ferrograd._dispatch.function_table import COMPOSED
from ferrograd.numpy._arrays import get_array_functions
from ferrograd.numpy._creation import wrap_creation_functions
from ferrograd.numpy._index_tricks import c_, mgrid, ogrid, r_
from ferrograd.numpy._tensor_arguments import holds_tensor, to_tensor
from ferrograd.numpy._vectorize import ndenumerate, nditer, vectorize

#: Functions that take arrays one by one: from any iterable, as programs pass them.
_JOIN_FUNCTIONS = (np.stack, np.concatenate, np.vstack, np.hstack, np.dstack, np.column_stack)
_LIST_TYPES = (list, tuple)
_SEQUENCE_TYPES = (list, tuple, np.ndarray, Tensor)
#: Operations for which NumPy does not dispatch on every argument.
_PARTIALLY_DISPATCHED = (np.full_like, np.pad)
_UFUNC_METHODS = (
    "accumulate",
    "at",
    "outer",
    "reduce",
    "reduceat",
    "nin",
    "nout",
    "identity",
    "types",
)


def wrap_operation(theirs: Any, ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls `ours` for tensors and `theirs` for everything else."""

    joins, ufunc = theirs in _JOIN_FUNCTIONS, isinstance(theirs, np.ufunc)
    # A ufunc takes `out` after its operands.
    most = theirs.nin if ufunc else sys.maxsize
    # The number of positional arguments with the same meaning in both; found when needed.
    direct = most if ufunc else 1

    def dispatch(*args: Any, **kwargs: Any) -> Any:
        if joins and args and not isinstance(args[0], _SEQUENCE_TYPES):
            args = (list(args[0]), *args[1:])
        if len(args) > most:
            out = args[most:] if theirs.nout > 1 else args[most]
            args, kwargs = args[:most], {**kwargs, "out": out}
        nonlocal direct
        for a in args:
            kind = type(a)
            if kind is Tensor:
                if kwargs:
                    return theirs(*args, **kwargs)
                if len(args) > direct:
                    direct = protocols.count_direct_arguments(theirs, ours)
                    if len(args) > direct:
                        return protocols.array_function(theirs, None, args, kwargs)
                return ours(*args)
            if (kind is list or kind is tuple) and holds_tensor(a):
                return protocols.array_function(theirs, None, args, kwargs)
        for key, a in kwargs.items():
            # NumPy does not dispatch on some keywords.
            if holds_tensor(a) and not (ufunc and (key == "out" or type(a) is Tensor)):
                return protocols.array_function(theirs, None, args, kwargs)
        return theirs(*args, **kwargs)

    for name in _UFUNC_METHODS if ufunc else ():
        setattr(dispatch, name, getattr(theirs, name))
    dispatch.__name__ = dispatch.__qualname__ = theirs.__name__
    dispatch.__doc__ = theirs.__doc__
    return dispatch


def _wrap_composition(theirs: Any) -> Callable[..., Any]:
    """Wraps a NumPy function for which ferrograd has a composition."""

    def dispatch(*args: Any, **kwargs: Any) -> Any:
        if holds_tensor([*args, *kwargs.values()]):
            return protocols.array_function(theirs, None, args, kwargs)
        return theirs(*args, **kwargs)

    return functools.wraps(theirs)(dispatch)


def wrap_module(home: Any) -> dict[str, Any]:
    """The public names of a NumPy module, with wrappers for ferrograd's operations."""
    names: dict[str, Any] = {}
    for name in getattr(home, "__all__", None) or dir(home):
        if name.startswith("_"):
            continue
        names[name] = _wrap_function(getattr(home, name))
    return names


def _wrap_function(theirs: Any) -> Any:
    """A wrapper for a function that ferrograd has; anything else is returned unchanged."""
    if not isinstance(theirs, Hashable) or isinstance(theirs, type):
        return theirs
    ours = protocols.OPERATIONS.get(theirs)
    if theirs in _PARTIALLY_DISPATCHED or (ours is None and theirs in COMPOSED):
        return theirs if isinstance(theirs, np.ufunc) else _wrap_composition(theirs)
    return theirs if ours is None else wrap_operation(theirs, ours)


def get_members() -> dict[str, Any]:
    """All names of `ferrograd.numpy` except its modules."""
    names = wrap_module(np)
    for module in ("fft", "linalg", "random"):
        names.pop(module, None)
    names.update(get_array_functions())
    names["where"] = _wrap_where(names["where"])
    names.update(
        r_=r_, c_=c_, mgrid=mgrid, ogrid=ogrid, make_diagonal=make_diagonal, ndenumerate=ndenumerate
    )
    names.update(nditer=nditer, vectorize=vectorize, metadata=metadata)
    names.update(wrap_creation_functions(names))
    return names


def _wrap_where(dispatch: Any) -> Any:
    """Adds the keywords `x` and `y` of HIPS autograd to `where`."""

    def where(condition: Any, *args: Any, **kwargs: Any) -> Any:
        return dispatch(condition, *args, *(kwargs.pop(k) for k in ("x", "y") if k in kwargs))

    return functools.wraps(np.where)(where)


def make_diagonal(D: Any, offset: int = 0, axis1: int = -1, axis2: int = -2) -> Any:
    """Matrices with the last axis of `D` on their diagonal, along two axes of the result."""
    made = _core.diag_embed(to_tensor(D), offset, axis1, axis2)
    return made if isinstance(D, Tensor) else made.numpy().copy()


def metadata(A: Any) -> tuple[Any, ...]:
    """Shape, number of axes, dtype, and whether the elements are complex."""
    return np.shape(A), np.ndim(A), np.result_type(A), bool(np.iscomplexobj(A))
