"""`scipy.sparse.linalg`: equations with sparse matrices, differentiable.

SciPy factorises.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor as _Tensor
from ferrograd.errors import ArgumentTypeError as _TypeError, ShapeError as _ShapeError
from ferrograd.scipy._closed_over import floats as _floats
from ferrograd.scipy._computed_by_scipy import rest_of as _rest_of
from ferrograd.scipy.sparse._arrays import _of
from ferrograd.scipy.sparse._iterative import iterative as _iterative
from ferrograd.scipy.sparse._structure import solved as _solved

__getattr__ = _rest_of("sparse.linalg")

cg, minres = _iterative("cg"), _iterative("minres")
bicgstab, gmres = _iterative("bicgstab"), _iterative("gmres")


def spsolve(A: Any, b: Any, **options: Any) -> Any:
    """The solution of `A x = b` for a sparse square matrix and a dense vector or matrix.

    Differentiable to any order by `b` and by values of `A` that are a tensor
    (`ferrograd.scipy.sparse.csr_array`). Errors: `ShapeError`; SciPy's warning and NaN where `A` is
    singular.

    >>> import scipy.sparse
    >>> from ferrograd.scipy.sparse import linalg
    >>> A = scipy.sparse.csc_array(np.diag([2.0, 4.0]))
    >>> fg.grad(lambda b: linalg.spsolve(A, b).sum())(np.ones(2)).tolist()
    [0.5, 0.25]
    """
    if isinstance(A, _numpy.ndarray | _Tensor):
        raise _TypeError(
            f"spsolve: A is a dense {type(A).__name__}; use np.linalg.solve, or make it sparse with"
            " ferrograd.scipy.sparse.csr_array"
        )
    matrix, right = _of(A), _floats(b)
    fits = np.ndim(right) in (1, 2) and np.shape(right)[0] == matrix.shape[0]
    if matrix.shape[0] != matrix.shape[1] or not fits:
        raise _ShapeError(
            f"spsolve: A has shape {matrix.shape} and b {np.shape(right)}; give a square matrix and"
            " as many rows of b"
        )
    return _solved(matrix.data, right, matrix._structure)
