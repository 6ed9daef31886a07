"""The positions of the values of a sparse matrix, and operations on the values.

SciPy computes the positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

import ferrograd.numpy as np
from ferrograd.extend import defvjp, primitive
from ferrograd.scipy._computed_by_scipy import library


class Structure(NamedTuple):
    """The indices of a compressed matrix: by rows ("csr") or by columns ("csc")."""

    format: str
    indices: Any
    indptr: Any
    shape: tuple[int, int]

    def transposed(self) -> Structure:
        """The same indices read the other way round."""
        other = {"csr": "csc", "csc": "csr"}[self.format]
        return Structure(other, self.indices, self.indptr, (self.shape[1], self.shape[0]))

    def matrix(self, values: Any) -> Any:
        """SciPy's matrix of these values."""
        made = library(f"sparse.{self.format}_array")
        return made((values, self.indices, self.indptr), shape=self.shape)

    def places(self) -> tuple[Any, Any]:
        """The row and the column of each value."""
        sizes = numpy.diff(self.indptr)
        outer = numpy.repeat(numpy.arange(len(sizes)), sizes)
        return (outer, self.indices) if self.format == "csr" else (self.indices, outer)


@primitive
def times(values: Any, dense: Any, structure: Structure) -> Any:
    """`A x` of the matrix `A` with these values and a vector or a matrix `x`.

    Derivatives: `Aᵀ g` by `x`, `g[row] · x[column]` by each value.
    """
    return structure.matrix(values) @ dense


@primitive
def solved(values: Any, dense: Any, structure: Structure) -> Any:
    """The solution of `A x = b`.

    Derivatives: `w = A⁻ᵀ g` by `b`, `-w[row] · x[column]` by each value.
    """
    # Copies, because SciPy sorts values and indices in place.
    own = structure.matrix(values).tocsc(copy=True)
    found = library("sparse.linalg.spsolve")(own, dense)
    return found.reshape(numpy.shape(dense))


def _dotted(structure: Structure, left: Any, right: Any) -> Any:
    """The product of a row of one and a row of the other, for each value of the matrix."""
    rows, columns = structure.places()
    found = left[rows] * right[columns]
    return found if np.ndim(found) == 1 else np.sum(found, -1)


def _times_by_values(ans: Any, values: Any, dense: Any, structure: Any) -> Callable[[Any], Any]:
    return lambda g: _dotted(structure, g, dense)


def _times_by_dense(ans: Any, values: Any, dense: Any, structure: Any) -> Callable[[Any], Any]:
    return lambda g: times(values, g, structure.transposed())


def _solved_by_values(ans: Any, values: Any, dense: Any, structure: Any) -> Callable[[Any], Any]:
    return lambda g: -_dotted(structure, solved(values, g, structure.transposed()), ans)


def _solved_by_dense(ans: Any, values: Any, dense: Any, structure: Any) -> Callable[[Any], Any]:
    return lambda g: solved(values, g, structure.transposed())


defvjp(times, _times_by_values, _times_by_dense)
defvjp(solved, _solved_by_values, _solved_by_dense)
