"""The positions of the values of a sparse matrix, and operations on the values.

SciPy computes the positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

import ferrograd.numpy as np
from ferrograd.extend import defvjp, primitive
from ferrograd.scipy._scipy_primitives import get_scipy_function


class SparseStructure(NamedTuple):
    """The indices of a compressed matrix: by rows ("csr") or by columns ("csc")."""

    format: str
    indices: Any
    indptr: Any
    shape: tuple[int, int]

    def transposed(self) -> SparseStructure:
        """The same indices read the other way round."""
        other = {"csr": "csc", "csc": "csr"}[self.format]
        return SparseStructure(other, self.indices, self.indptr, (self.shape[1], self.shape[0]))

    def to_scipy(self, values: Any) -> Any:
        """SciPy's matrix of these values."""
        made = get_scipy_function(f"sparse.{self.format}_array")
        return made((values, self.indices, self.indptr), shape=self.shape)

    def get_coordinates(self) -> tuple[Any, Any]:
        """The row and the column of each value."""
        sizes = numpy.diff(self.indptr)
        outer = numpy.repeat(numpy.arange(len(sizes)), sizes)
        return (outer, self.indices) if self.format == "csr" else (self.indices, outer)


@primitive
def multiply(values: Any, dense: Any, structure: SparseStructure) -> Any:
    """`A x` of the matrix `A` with these values and a vector or a matrix `x`.

    Derivatives: `Aᵀ g` by `x`, `g[row] · x[column]` by each value.
    """
    return structure.to_scipy(values) @ dense


@primitive
def solve(values: Any, dense: Any, structure: SparseStructure) -> Any:
    """The solution of `A x = b`.

    Derivatives: `w = A⁻ᵀ g` by `b`, `-w[row] · x[column]` by each value.
    """
    # Copies, because SciPy sorts values and indices in place.
    own = structure.to_scipy(values).tocsc(copy=True)
    found = get_scipy_function("sparse.linalg.spsolve")(own, dense)
    return found.reshape(numpy.shape(dense))


def _dot_rows(structure: SparseStructure, left: Any, right: Any) -> Any:
    """For each value of the matrix, the dot product of a row of `left` and a row of `right`."""
    rows, columns = structure.get_coordinates()
    found = left[rows] * right[columns]
    return found if np.ndim(found) == 1 else np.sum(found, -1)


def _multiply_values_vjp(ans: Any, values: Any, dense: Any, structure: Any) -> Callable[[Any], Any]:
    return lambda g: _dot_rows(structure, g, dense)


def _multiply_dense_vjp(ans: Any, values: Any, dense: Any, structure: Any) -> Callable[[Any], Any]:
    return lambda g: multiply(values, g, structure.transposed())


def _solve_values_vjp(ans: Any, values: Any, dense: Any, structure: Any) -> Callable[[Any], Any]:
    return lambda g: -_dot_rows(structure, solve(values, g, structure.transposed()), ans)


def _solve_dense_vjp(ans: Any, values: Any, dense: Any, structure: Any) -> Callable[[Any], Any]:
    return lambda g: solve(values, g, structure.transposed())


defvjp(multiply, _multiply_values_vjp, _multiply_dense_vjp)
defvjp(solve, _solve_values_vjp, _solve_dense_vjp)
