"""`scipy.sparse.linalg`: equations with sparse matrices, differentiable.

Owns: `spsolve`. SciPy factorises.
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as np
from ferrograd.errors import ShapeError as _ShapeError
from ferrograd.scipy._closures import floats as _floats
from ferrograd.scipy._library import rest_of as _rest_of
from ferrograd.scipy.sparse._arrays import _of
from ferrograd.scipy.sparse._structure import solved as _solved

__getattr__ = _rest_of("sparse.linalg")


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
    matrix, right = _of(A), _floats(b)
    fits = np.ndim(right) in (1, 2) and np.shape(right)[0] == matrix.shape[0]
    if matrix.shape[0] != matrix.shape[1] or not fits:
        raise _ShapeError(
            f"spsolve: A has shape {matrix.shape} and b {np.shape(right)}; give a square matrix and"
            " as many rows of b"
        )
    return _solved(matrix.data, right, matrix._structure)
