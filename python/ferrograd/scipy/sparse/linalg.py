"""`scipy.sparse.linalg`: equations with sparse matrices, differentiable.

SciPy factorises.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor as _Tensor
from ferrograd.errors import ArgumentTypeError as _TypeError, ShapeError as _ShapeError
from ferrograd.scipy._conversions import as_floats as _as_floats
from ferrograd.scipy._scipy_primitives import make_scipy_getattr as _make_scipy_getattr
from ferrograd.scipy.sparse._arrays import _convert_array
from ferrograd.scipy.sparse._iterative import make_iterative_solver as _make_iterative_solver
from ferrograd.scipy.sparse._structure import solve as _solve

__getattr__ = _make_scipy_getattr("sparse.linalg")

cg, minres = _make_iterative_solver("cg"), _make_iterative_solver("minres")
bicgstab, gmres = _make_iterative_solver("bicgstab"), _make_iterative_solver("gmres")


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
    matrix, right = _convert_array(A), _as_floats(b)
    fits = np.ndim(right) in (1, 2) and np.shape(right)[0] == matrix.shape[0]
    if matrix.shape[0] != matrix.shape[1] or not fits:
        raise _ShapeError(
            f"spsolve: A has shape {matrix.shape} and b {np.shape(right)}; give a square matrix and"
            " as many rows of b"
        )
    return _solve(matrix.data, right, matrix._structure)
