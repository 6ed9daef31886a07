"""Sparse arrays whose values may be tensors, and the products of SciPy's sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor
from ferrograd.errors import ArgumentTypeError, ShapeError
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.sparse._structure import SparseStructure, multiply


class _SparseArray:
    """A compressed sparse matrix with constant positions; `data` are its values."""

    #: Has priority over NumPy's arrays in `array @ sparse`.
    __array_priority__ = 10.2
    __array_ufunc__ = None

    def __init__(self, data: Any, structure: SparseStructure) -> None:
        self.data, self._structure = data, structure

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return self._structure.shape

    @property
    def ndim(self) -> int:
        """Two."""
        return 2

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.data.dtype

    @property
    def format(self) -> str:
        """The storage format: "csr" or "csc"."""
        return self._structure.format

    @property
    def indices(self) -> Any:
        """The columns (of "csr") or rows (of "csc") of the values."""
        return self._structure.indices

    @property
    def indptr(self) -> Any:
        """The start of each row (of "csr") or column (of "csc") among the values."""
        return self._structure.indptr

    @property
    def nnz(self) -> int:
        """The number of stored values."""
        return int(np.shape(self.data)[0])

    @property
    def T(self) -> _SparseArray:  # noqa: N802
        """The transposed matrix, which shares the values."""
        return self.transpose()

    def transpose(self) -> _SparseArray:
        """The transposed matrix, which shares the values."""
        return _SparseArray(self.data, self._structure.transposed())

    def toarray(self) -> Any:
        """The dense matrix."""
        if not isinstance(self.data, Tensor):
            return self._structure.to_scipy(self.data).toarray()
        return multiply(self.data, numpy.eye(self.shape[1], dtype=self.dtype), self._structure)

    todense = toarray

    def dot(self, other: Any) -> Any:
        """The product with a vector or a matrix, which is dense."""
        return product(self, other)

    def __matmul__(self, other: Any) -> Any:
        return product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return product(other, self)

    def __mul__(self, other: Any) -> Any:
        if np.ndim(other):
            return NotImplemented
        return _SparseArray(self.data * other, self._structure)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self * (1.0 / other)

    def __neg__(self) -> _SparseArray:
        return _SparseArray(-self.data, self._structure)

    def __repr__(self) -> str:
        return f"<sparse {self.format} array of shape {self.shape} with {self.nnz} stored values>"


def csr_array(arg: Any, shape: tuple[int, int] | None = None) -> Any:
    """A sparse array by rows, from `(data, indices, indptr)`, `(data, (row, column))` or SciPy's.

    `data` may be a tensor: products and solutions are differentiable by it. Values at the same
    position are added.

    >>> from ferrograd.scipy import sparse
    >>> def product(values):
    ...     matrix = sparse.csr_array((values, ([0, 1, 1], [0, 0, 1])), shape=(2, 2))
    ...     return (matrix @ np.array([1.0, 10.0])).sum()
    >>> fg.grad(product)(np.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 1.0, 10.0]
    """
    return _make_array("csr", arg, shape)


def csc_array(arg: Any, shape: tuple[int, int] | None = None) -> Any:
    """A sparse array by columns; the arguments are those of `csr_array`."""
    return _make_array("csc", arg, shape)


def coo_array(arg: Any, shape: tuple[int, int] | None = None) -> Any:
    """A sparse array of `(data, (row, column))`, stored by rows."""
    return _make_array("csr", arg, shape)


def _make_array(format: str, arg: Any, shape: tuple[int, int] | None) -> _SparseArray:
    if isinstance(arg, _SparseArray) or hasattr(arg, "tocsr"):
        return _convert_array(arg, format)
    if not isinstance(arg, tuple) or len(arg) not in (2, 3):
        raise ArgumentTypeError(
            f"{format}_array: got a {type(arg).__name__}; give (data, indices, indptr),"
            " (data, (row, column)) or a sparse array"
        )
    data = as_floats(arg[0])
    if len(arg) == 2:
        data, indices, indptr, shape = _compress(format, data, arg[1], shape)
    else:
        indices, indptr = (numpy.asarray(part) for part in arg[1:])
    if shape is None:
        outer, inner = len(indptr) - 1, int(indices.max(initial=-1)) + 1
        shape = (outer, inner) if format == "csr" else (inner, outer)
    if np.shape(data) != indices.shape:
        raise ShapeError(
            f"{format}_array: data has shape {np.shape(data)} and there are {len(indices)} places;"
            " give one value for each"
        )
    structure = SparseStructure(format, indices, indptr, (int(shape[0]), int(shape[1])))
    structure.to_scipy(numpy.zeros(len(indices)))
    return _SparseArray(data, structure)


def _compress(format: str, data: Any, places: Any, shape: Any) -> tuple[Any, Any, Any, Any]:
    """The values in the order of rows or columns, with the indices of that order."""
    rows, columns = (numpy.asarray(part, dtype=int) for part in places)
    if not np.shape(data) == rows.shape == columns.shape:
        raise ShapeError(
            f"{format}_array: data has shape {np.shape(data)}, rows {rows.shape} and columns"
            f" {columns.shape}; give one value and one place for each"
        )
    if shape is None:
        shape = (int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1)
    outer, inner = (rows, columns) if format == "csr" else (columns, rows)
    count = shape[0] if format == "csr" else shape[1]
    order = numpy.argsort(outer, kind="stable")
    starts = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(outer, minlength=count))])
    return data[order], inner[order], starts, shape


def _convert_array(matrix: Any, format: str | None = None) -> _SparseArray:
    """Converts SciPy's sparse arrays to this class, optionally in another format."""
    if isinstance(matrix, _SparseArray):
        if format in (None, matrix.format):
            return matrix
        return _make_array(
            str(format), (matrix.data, matrix._structure.get_coordinates()), matrix.shape
        )
    if matrix.ndim != 2:
        raise ShapeError(f"sparse: the array has {matrix.ndim} axes; give a matrix")
    known = matrix if matrix.format in ("csr", "csc") and format is None else None
    known = getattr(matrix, f"to{format or 'csr'}")() if known is None else known
    structure = SparseStructure(known.format, known.indices, known.indptr, known.shape)
    return _SparseArray(as_floats(known.data), structure)


def product(a: Any, b: Any) -> Any:
    """`a @ b`, one of them a sparse matrix, the other a vector or a matrix that is dense.

    The result is dense. Differentiable by the dense side and by values that are a tensor.

    >>> import scipy.sparse
    >>> from ferrograd.scipy import sparse
    >>> shift = scipy.sparse.csr_array(np.eye(3, k=1))
    >>> fg.grad(lambda x: sparse.product(shift, x)[0])(np.zeros(3)).tolist()
    [0.0, 1.0, 0.0]
    """
    if not _sparse(a):
        turned = product(_convert_array(b).T, np.swapaxes(a, -1, -2) if np.ndim(a) == 2 else a)
        return turned.T if np.ndim(a) == 2 else turned
    matrix, dense = _convert_array(a), as_floats(b)
    if np.ndim(dense) not in (1, 2) or np.shape(dense)[0] != matrix.shape[1]:
        raise ShapeError(
            f"sparse product: the matrix has shape {matrix.shape}, the other side"
            f" {np.shape(dense)}; give a vector or a matrix with fitting sizes"
        )
    return multiply(matrix.data, dense, matrix._structure)


def _sparse(value: Any) -> bool:
    return isinstance(value, _SparseArray) or bool(get_scipy_function("sparse.issparse")(value))
