"""`numpy.linalg` for code to be differentiated.

Invariant: a decomposition of an array has the bits of that of a tensor with the same elements.
"""

from functools import wraps as _wraps
from typing import Any

import numpy

from ferrograd import _core
from ferrograd._core import Tensor as _Tensor
from ferrograd.numpy._wrappers import wrap_module as _faces

_names = _faces(numpy.linalg)


def _as_tensor(a: Any) -> Any:
    """A numeric array as a tensor; None for every other argument."""
    if type(a) in (list, tuple):
        a = numpy.asarray(a)
    if type(a) is not numpy.ndarray or a.dtype.kind not in "fiubc" or a.dtype.itemsize < 4:
        return None
    if a.dtype.char in "fF":
        return _core.asarray(a)
    return _core.asarray(a.astype(numpy.complex128 if a.dtype.kind == "c" else numpy.float64))


def _to_array(part: Any) -> Any:
    return part.numpy().copy()


def _wrap_decomposition(name: str) -> Any:
    """A decomposition with the signs and null spaces of the tensor version, also for arrays."""
    theirs, ours = getattr(numpy.linalg, name), _names[name]

    @_wraps(theirs)
    def decompose(a: Any, *args: Any, **kwargs: Any) -> Any:
        x = None if isinstance(a, _Tensor) or kwargs.get("hermitian") else _as_tensor(a)
        if x is None:
            return ours(a, *args, **kwargs)
        out = ours(x, *args, **kwargs)
        return type(out)(*map(_to_array, out)) if isinstance(out, tuple) else _to_array(out)

    return decompose


def _wrap_triangle_decomposition(name: str) -> Any:
    """A decomposition of symmetric matrices with a zero gradient in the ignored triangle."""
    theirs, symmetric = getattr(numpy.linalg, name), _names[name]

    @_wraps(theirs)
    def decompose(a: Any, UPLO: str = "L") -> Any:
        if not isinstance(a, _Tensor):
            return symmetric(a, UPLO)
        upper = UPLO.upper() == "U"
        cut = _core.triu if upper else _core.tril
        other = cut(a, 1 if upper else -1).mT
        return symmetric(cut(a) + (other.conj() if a.dtype.kind == "c" else other), UPLO)

    return decompose


_names.update({name: _wrap_decomposition(name) for name in ("eigh", "qr", "svd")})
_names.update({name: _wrap_triangle_decomposition(name) for name in ("eigh", "eigvalsh")})
# HIPS autograd's names for two of its helpers.
_names.update(T=_names["matrix_transpose"], _dot=_names["matmul"])
globals().update(_names)
__all__ = sorted(name for name in _names if not name.startswith("_"))


def __getattr__(name: str) -> Any:
    """Every other name is NumPy's."""
    return getattr(numpy.linalg, name)
