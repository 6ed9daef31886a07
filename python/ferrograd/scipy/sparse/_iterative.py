"""Equations that SciPy solves step by step, with derivatives of the solution.

Owns: the rules. SciPy iterates, also for the derivatives. Invariant: a derivative solves with the
transposed matrix to the same tolerance, so it is as exact as that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ShapeError
from ferrograd.extend import defvjp, primitive
from ferrograd.scipy._closures import fixed, floats
from ferrograd.scipy._library import library
from ferrograd.scipy.sparse._arrays import _of, _sparse
from ferrograd.scipy.sparse._structure import Structure, _dotted


class _State:
    """What the method said when it ended."""

    reached = 0


class _How(NamedTuple):
    """The method, its options, and what is constant of the matrix."""

    name: str
    options: dict[str, Any]
    #: Where the values stand; None for a dense matrix, or an operator of SciPy's.
    matrix: Any
    turned: bool = False

    def transposed(self) -> _How:
        """The same equations with the transposed matrix, and its preconditioner."""
        options = {k: v for k, v in self.options.items() if k not in ("x0", "callback", "M")}
        if self.options.get("M") is not None:
            options["M"] = library("sparse.linalg.aslinearoperator")(self.options["M"]).T
        matrix = self.matrix.transposed() if isinstance(self.matrix, Structure) else self.matrix
        return self._replace(options=options, matrix=matrix, turned=not self.turned)

    def operator(self, values: Any) -> Any:
        """What SciPy multiplies by."""
        if isinstance(self.matrix, Structure):
            return self.matrix.matrix(values)
        if self.matrix is not None:
            return self.matrix.T if self.turned else self.matrix
        return values.T if self.turned else values


def _run(values: Any, right: Any, how: _How) -> tuple[Any, int]:
    solve = library(f"sparse.linalg.{how.name}")
    found, state = solve(how.operator(values), right, **how.options)
    return found.reshape(numpy.shape(right)), state


@primitive
def _iterated(values: Any, right: Any, how: _How, state: Any = None) -> Any:
    """The solution; what the method said of it is left in the state."""
    found, reached = _run(values, right, how)
    if state is not None:
        state.reached = reached
    return found


def _by_values(ans: Any, values: Any, right: Any, how: _How, state: Any = None) -> Any:
    def pull(g: Any) -> Any:
        weight = _iterated(values, g, how.transposed())
        if isinstance(how.matrix, Structure):
            return -_dotted(how.matrix, weight, ans)
        outer = -weight.reshape(-1, 1) * ans.reshape(1, -1)
        return outer.T if how.turned else outer

    return pull


def _by_right(ans: Any, values: Any, right: Any, how: _How, state: Any = None) -> Any:
    return lambda g: _iterated(values, g, how.transposed())


defvjp(_iterated, _by_values, _by_right, argnums=[0, 1])


def iterative(name: str) -> Callable[..., tuple[Any, int]]:
    """A method of `scipy.sparse.linalg` whose solution has derivatives."""

    def solve(A: Any, b: Any, x0: Any = None, **options: Any) -> tuple[Any, int]:
        right = floats(b)
        if x0 is not None:
            options["x0"] = numpy.asarray(fixed(x0))
        if hasattr(A, "matvec") or callable(A):
            values, matrix = numpy.zeros(0), library("sparse.linalg.aslinearoperator")(A)
        elif _is_sparse(A):
            own = _of(A)
            values, matrix = own.data, own._structure
        else:
            values, matrix = floats(A), None
        shape = np.shape(A)
        if len(shape) != 2 or shape[0] != shape[1] or np.size(right) != shape[0]:
            raise ShapeError(
                f"{name}: A has shape {tuple(shape)} and b {tuple(np.shape(right))}; give a square"
                " matrix and a vector with as many elements"
            )
        state = _State()
        found = _iterated(values, right, _How(name, options, matrix), state)
        return found, state.reached

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = f"""`(x, info)` with `A x = b`, by `scipy.sparse.linalg.{name}`.

    `info` is 0 where it converged. Differentiable to any order by `b` and by the elements of `A`:
    a dense tensor, or the values of a sparse array (`ferrograd.scipy.sparse.csr_array`); a linear
    operator is constant. A derivative solves the transposed equations by the same method and
    tolerance, `rtol=1e-5` unless said otherwise. Takes SciPy's options. Errors: `ShapeError`.
    """
    return solve


def _is_sparse(value: Any) -> bool:
    return not isinstance(value, numpy.ndarray | list) and _sparse(value)
