"""`scipy.sparse`: differentiable products and solutions with sparse matrices.

Sparse arrays of SciPy are constants: `A @ t` and `t @ A` are tensors. `csr_array`, `csc_array` and
`coo_array` of this package may also have tensors as values.
"""

from ferrograd.scipy._scipy_primitives import make_scipy_getattr as _make_scipy_getattr
from ferrograd.scipy.sparse import linalg as linalg
from ferrograd.scipy.sparse._arrays import (
    coo_array as coo_array,
    csc_array as csc_array,
    csr_array as csr_array,
    product as product,
)

__getattr__ = _make_scipy_getattr("sparse")
