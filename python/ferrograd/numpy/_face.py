"""NumPy's functions, with a short way to ours where an argument is a tensor.

Owns: the face of each function and the creation of arrays from nested lists of tensors. Never
computes. Invariant: without a tensor among the arguments the call is NumPy's own; `_buffers` says
where the array that it makes becomes a tensor.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, tensor
from ferrograd._dispatch import protocols
from ferrograd._dispatch.table import COMPOSED
from ferrograd._tensor import creation
from ferrograd.numpy._creation import creators
from ferrograd.numpy._elements import ndenumerate, nditer, vectorize
from ferrograd.numpy._joining import c_, r_
from ferrograd.numpy._values import holds_tensor, tensor_of

#: Functions that take arrays one by one: from any iterable, as programs pass them.
_JOIN = (np.stack, np.concatenate, np.vstack, np.hstack, np.dstack, np.column_stack)
_LISTS = (list, tuple)
_SEQUENCES = (list, tuple, np.ndarray, Tensor)
#: Operations of which NumPy does not ask each argument.
_BROADCASTING = (np.full_like, np.pad)
_METHODS = ("accumulate", "at", "outer", "reduce", "reduceat", "nin", "nout", "identity", "types")


def face(theirs: Any, ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is `ours` for tensors and `theirs` for everything else."""

    joins, ufunc = theirs in _JOIN, isinstance(theirs, np.ufunc)
    # A ufunc takes `out` behind its operands.
    most = theirs.nin if ufunc else sys.maxsize

    def either(*args: Any, **kwargs: Any) -> Any:
        if joins and args and not isinstance(args[0], _SEQUENCES):
            args = (list(args[0]), *args[1:])
        if len(args) > most:
            args, kwargs = args[:most], {**kwargs, "out": args[most:]}
        for a in args:
            kind = type(a)
            if kind is Tensor:
                return theirs(*args, **kwargs) if kwargs else ours(*args)
            if (kind is list or kind is tuple) and holds_tensor(a):
                return protocols.array_function(theirs, None, args, kwargs)
        for a in kwargs.values():
            # Of some keywords NumPy does not ask whose functions they have.
            if (type(a) is Tensor and not ufunc) or (isinstance(a, _LISTS) and holds_tensor(a)):
                return protocols.array_function(theirs, None, args, kwargs)
        return theirs(*args, **kwargs)

    for name in _METHODS if ufunc else ():
        setattr(either, name, getattr(theirs, name))
    either.__name__ = either.__qualname__ = theirs.__name__
    either.__doc__ = theirs.__doc__
    return either


def _composed(theirs: Any) -> Callable[..., Any]:
    """A function that takes tensors as any of its arguments."""

    def either(*args: Any, **kwargs: Any) -> Any:
        if holds_tensor([*args, *kwargs.values()]):
            return protocols.array_function(theirs, None, args, kwargs)
        return theirs(*args, **kwargs)

    return functools.wraps(theirs)(either)


def faces(home: Any) -> dict[str, Any]:
    """The public names of a NumPy module, with faces where we have an operation."""
    names: dict[str, Any] = {}
    for name in getattr(home, "__all__", None) or dir(home):
        if name.startswith("_"):
            continue
        names[name] = _faced(getattr(home, name))
    return names


def _faced(theirs: Any) -> Any:
    """A face of a function that we have, everything else as it is."""
    if not isinstance(theirs, Hashable) or isinstance(theirs, type):
        return theirs
    ours = protocols.OPERATIONS.get(theirs)
    if theirs in _BROADCASTING or (ours is None and theirs in COMPOSED):
        return theirs if isinstance(theirs, np.ufunc) else _composed(theirs)
    return theirs if ours is None else face(theirs, ours)


def members() -> dict[str, Any]:
    """Everything that `ferrograd.numpy` offers beside its modules."""
    names = faces(np)
    for module in ("fft", "linalg", "random"):
        names.pop(module, None)
    for own in (array, full):
        names[own.__name__] = functools.wraps(getattr(np, own.__name__))(own)
    for alias in ("asarray", "asanyarray", "ascontiguousarray", "asarray_chkfinite"):
        names[alias] = _as_array(getattr(np, alias))
    names["where"] = _named_where(names["where"])
    names.update(r_=r_, c_=c_, make_diagonal=make_diagonal, ndenumerate=ndenumerate)
    names.update(nditer=nditer, vectorize=vectorize, metadata=metadata)
    names.update(creators(names))
    return names


def array(object: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """An array; from tensors, also deep in lists, a tensor that keeps their gradients."""
    if not holds_tensor(object):
        return np.array(object, dtype=dtype, **kwargs)
    made = object.clone() if isinstance(object, Tensor) else tensor(object)
    made._become_memory()
    return _shaped(made, dtype, kwargs.get("ndmin", 0))


def _as_array(theirs: Any) -> Callable[..., Any]:
    def as_array(a: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if not holds_tensor(a):
            return theirs(a, dtype=dtype, **kwargs)
        if not isinstance(a, Tensor):
            return _shaped(tensor(a), dtype, 0)
        # A value is no array yet; an array is given back as it is.
        made = _core.clone(a) if a._is_value() else _core.asarray(a)
        made._become_memory()
        made = _shaped(made, dtype, 0)
        if theirs is np.ascontiguousarray:
            made = _core.atleast_1d(made).contiguous()
        elif theirs is np.asarray_chkfinite:
            np.asarray_chkfinite(made.detach().numpy())
        return made

    return functools.wraps(theirs)(as_array)


def _shaped(made: Tensor, dtype: Any, ndmin: int) -> Tensor:
    if dtype is not None and made.dtype != np.dtype(dtype):
        made = made.astype(dtype)
    if made.ndim < ndmin:
        made = made.reshape((1,) * (ndmin - made.ndim) + tuple(made.shape))
    return made


def _named_where(either: Any) -> Any:
    """`where` with the keywords that HIPS autograd's has and NumPy's has not."""

    def where(condition: Any, *args: Any, **kwargs: Any) -> Any:
        return either(condition, *args, *(kwargs.pop(k) for k in ("x", "y") if k in kwargs))

    return functools.wraps(np.where)(where)


def full(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """One value, or values that are broadcast, in an array."""
    if not holds_tensor([shape, fill_value]):
        return np.full(shape, fill_value, dtype, **kwargs)
    return creation.full(shape, tensor_of(fill_value), dtype=dtype)


def make_diagonal(D: Any, offset: int = 0, axis1: int = -1, axis2: int = -2) -> Any:
    """Matrices with the last axis of `D` on their diagonal, along two axes of the result."""
    made = _core.diag_embed(tensor_of(D), offset, axis1, axis2)
    return made if isinstance(D, Tensor) else made.numpy().copy()


def metadata(A: Any) -> tuple[Any, ...]:
    """Shape, number of axes, dtype, and whether the elements are complex."""
    return np.shape(A), np.ndim(A), np.result_type(A), bool(np.iscomplexobj(A))
