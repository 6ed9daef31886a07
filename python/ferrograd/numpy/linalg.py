"""`numpy.linalg` for code to be differentiated."""

from functools import wraps as _wraps
from typing import Any

import numpy

from ferrograd import _core
from ferrograd._core import Tensor as _Tensor
from ferrograd.numpy._face import faces as _faces

_names = _faces(numpy.linalg)


def _of_triangle(name: str) -> Any:
    """A decomposition of symmetric matrices whose gradient is zero in the triangle it ignores."""
    theirs, symmetric = getattr(numpy.linalg, name), _names[name]

    @_wraps(theirs)
    def decompose(a: Any, UPLO: str = "L") -> Any:
        if not isinstance(a, _Tensor):
            return theirs(a, UPLO)
        upper = UPLO.upper() == "U"
        cut = _core.triu if upper else _core.tril
        return symmetric(cut(a) + cut(a, 1 if upper else -1).mT, UPLO)

    return decompose


_names.update({name: _of_triangle(name) for name in ("eigh", "eigvalsh")})
# HIPS autograd's names for two of its helpers.
_names.update(T=_names["matrix_transpose"], _dot=_names["matmul"])
globals().update(_names)
__all__ = sorted(_names)


def __getattr__(name: str) -> Any:
    """Every other name is NumPy's."""
    return getattr(numpy.linalg, name)
