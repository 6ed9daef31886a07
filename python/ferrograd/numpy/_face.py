"""NumPy's functions, with a short way to ours where an argument is a tensor.

Owns: the face of each function and the creation of arrays from nested lists of tensors. Never
computes. Invariant: without a tensor among the arguments the call is NumPy's own; `_buffers` says
where the array that it makes becomes a tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, tensor
from ferrograd._dispatch import protocols
from ferrograd.errors import ArgumentError
from ferrograd.numpy._buffers import creators
from ferrograd.numpy._elements import ndenumerate, vectorize
from ferrograd.numpy._joining import c_, r_
from ferrograd.numpy._values import holds_tensor, tensor_of

#: Functions that take arrays one by one: from any iterable, as programs pass them.
_JOIN = (np.stack, np.concatenate, np.vstack, np.hstack, np.dstack, np.column_stack)
_SEQUENCES = (list, tuple, np.ndarray, Tensor)
#: Arguments that NumPy does not ask for a function of ours, and functions of which it asks none.
_UNASKED = {"initial", "left", "right", "period"}
_COMPOSED = ("pad", "piecewise", "select")
_METHODS = ("accumulate", "at", "outer", "reduce", "reduceat", "nin", "nout", "identity", "types")


def face(theirs: Any, ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is `ours` for tensors and `theirs` for everything else."""

    joins = theirs in _JOIN

    def either(*args: Any, **kwargs: Any) -> Any:
        if joins and args and not isinstance(args[0], _SEQUENCES):
            args = (list(args[0]), *args[1:])
        for a in args:
            kind = type(a)
            if kind is Tensor:
                return theirs(*args, **kwargs) if kwargs else ours(*args)
            if (kind is list or kind is tuple) and holds_tensor(a):
                return protocols.array_function(theirs, None, args, kwargs)
        if kwargs and any(isinstance(a, list | tuple) and holds_tensor(a) for a in kwargs.values()):
            return protocols.array_function(theirs, None, args, kwargs)
        if kwargs and any(type(kwargs.get(name)) is Tensor for name in _UNASKED):
            return protocols.array_function(theirs, None, args, kwargs)
        return theirs(*args, **kwargs)

    for name in _METHODS if isinstance(theirs, np.ufunc) else ():
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
        theirs = getattr(home, name)
        try:
            ours = protocols.OPERATIONS.get(theirs)
        except TypeError:
            ours = None
        names[name] = theirs if ours is None else face(theirs, ours)
    return names


def members() -> dict[str, Any]:
    """Everything that `ferrograd.numpy` offers beside its modules."""
    names = faces(np)
    for module in ("fft", "linalg", "random"):
        names.pop(module, None)
    for own in (append, array, full, full_like, imag, iscomplexobj, isrealobj, linspace, real):
        names[own.__name__] = functools.wraps(getattr(np, own.__name__))(own)
    for alias in ("asarray", "asanyarray", "ascontiguousarray", "asarray_chkfinite"):
        names[alias] = _as_array(getattr(np, alias))
    names.update((name, _composed(getattr(np, name))) for name in _COMPOSED)
    names["where"] = _named_where(names["where"])
    names["conj"] = names["conjugate"] = _conjugate
    names.update(r_=r_, c_=c_, make_diagonal=make_diagonal, ndenumerate=ndenumerate)
    names.update(vectorize=vectorize, metadata=metadata)
    names.update(creators(names))
    return names


def array(object: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """An array; from tensors, also deep in lists, a tensor that keeps their gradients."""
    if not holds_tensor(object):
        return np.array(object, dtype=dtype, **kwargs)
    made = object.clone() if isinstance(object, Tensor) else tensor(object)
    return _shaped(made, dtype, kwargs.get("ndmin", 0))


def _as_array(theirs: Any) -> Callable[..., Any]:
    def as_array(a: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if not holds_tensor(a):
            return theirs(a, dtype=dtype, **kwargs)
        return _shaped(a if isinstance(a, Tensor) else tensor(a), dtype, 0)

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
    """One value everywhere."""
    if not holds_tensor(fill_value):
        return np.full(shape, fill_value, dtype, **kwargs)
    return _core.broadcast_to(_shaped(tensor_of(fill_value), dtype, 0), shape).clone()


def full_like(a: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """One value everywhere, in the shape of another array."""
    if not holds_tensor(fill_value):
        return np.full_like(a, fill_value, dtype, **kwargs)
    return full(np.shape(a), fill_value, dtype or a.dtype)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, **kwargs: Any) -> Any:
    """Evenly spaced numbers between two ends."""
    if not holds_tensor([start, stop]):
        return np.linspace(start, stop, num, endpoint, **kwargs)
    if kwargs:
        raise ArgumentError(
            f"linspace: {', '.join(kwargs)} cannot be used with tensors; leave it out"
        )
    step = np.linspace(0.0, 1.0, num, endpoint).reshape(
        (num,) + (1,) * max(map(np.ndim, (start, stop)))
    )
    return start + (stop - start) * step


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """The values after the array."""
    if not holds_tensor([arr, values]):
        return np.append(arr, values, axis)
    parts = [tensor_of(arr), tensor_of(values)]
    if axis is None:
        return _core.concatenate([part.reshape(-1) for part in parts])
    return _core.concatenate(parts, axis)


def make_diagonal(D: Any, offset: int = 0, axis1: int = -1, axis2: int = -2) -> Any:
    """Matrices with the last axis of `D` on their diagonal, along two axes of the result."""
    made = _core.diag_embed(tensor_of(D), offset, axis1, axis2)
    return made if isinstance(D, Tensor) else made.numpy().copy()


def metadata(A: Any) -> tuple[Any, ...]:
    """Shape, number of axes, dtype, and whether the elements are complex."""
    return np.shape(A), np.ndim(A), np.result_type(A), iscomplexobj(A)


def real(val: Any) -> Any:
    """The real part: of a real tensor, itself."""
    return val.real if isinstance(val, Tensor) else np.real(val)


def imag(val: Any) -> Any:
    """The imaginary part: of a real tensor, zeros that are an array."""
    if isinstance(val, Tensor) and val.dtype.kind != "c":
        return np.zeros(val.shape, val.dtype)
    return val.imag if isinstance(val, Tensor) else np.imag(val)


def isrealobj(x: Any) -> bool:
    """Whether the dtype is real."""
    return not iscomplexobj(x)


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return x.dtype.kind == "c" if isinstance(x, Tensor) else bool(np.iscomplexobj(x))


def _conjugate(x: Any, *args: Any, **kwargs: Any) -> Any:
    """The complex conjugate: of a real tensor, a copy."""
    return x.conj() if isinstance(x, Tensor) else np.conjugate(x, *args, **kwargs)
