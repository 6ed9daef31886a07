"""Iterative solvers of SciPy, with derivatives of the solution.

SciPy iterates, also for the derivatives. Invariant: a derivative solves with the transposed matrix
to the same tolerance, or a warning says that it did not converge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

import ferrograd.numpy as np
from ferrograd._inspect.warn import warn_user
from ferrograd.errors import NotDifferentiableError, ShapeError
from ferrograd.extend import defvjp, primitive
from ferrograd.scipy._conversions import as_floats, detach
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.sparse._arrays import _convert_array, _sparse
from ferrograd.scipy.sparse._structure import SparseStructure, _dot_rows

#: Methods for matrices that are their own conjugate transpose.
_SYMMETRIC = {"cg", "minres"}


class _SolverStatus:
    """The status that the method returned."""

    status = 0


class _SolverConfig(NamedTuple):
    """The method, its options, and the constant parts of the matrix."""

    name: str
    options: dict[str, Any]
    #: The positions of the values; None for a dense matrix or a SciPy operator.
    matrix: Any
    turned: bool = False
    #: Whether the solution is a part of a gradient.
    derived: bool = False

    def transposed(self) -> _SolverConfig:
        """The same equations with the transposed matrix, and its preconditioner."""
        options = {k: v for k, v in self.options.items() if k not in ("x0", "callback")}
        if options.get("M") is not None:
            options["M"] = self._transpose_operator(options["M"])
        matrix = self.matrix
        if isinstance(matrix, SparseStructure):
            matrix = matrix.transposed()
        elif matrix is not None:
            matrix = self._transpose_operator(matrix)
        return self._replace(options=options, matrix=matrix, turned=not self.turned, derived=True)

    def _transpose_operator(self, operator: Any) -> Any:
        """The transpose of an operator; a symmetric one needs no `rmatvec` for it."""
        operator = get_scipy_function("sparse.linalg.aslinearoperator")(operator)
        if self.name not in _SYMMETRIC:
            return operator.T
        if operator.dtype is not None and numpy.dtype(operator.dtype).kind != "c":
            return operator
        return get_scipy_function("sparse.linalg.LinearOperator")(
            operator.shape, lambda v: operator.matvec(v.conj()).conj(), dtype=operator.dtype
        )

    def make_operator(self, values: Any) -> Any:
        """The linear operator for SciPy."""
        if isinstance(self.matrix, SparseStructure):
            return self.matrix.to_scipy(values)
        if self.matrix is not None:
            return self.matrix
        return values.T if self.turned else values


def _run_solver(values: Any, right: Any, how: _SolverConfig) -> tuple[Any, int]:
    solve = get_scipy_function(f"sparse.linalg.{how.name}")
    try:
        found, state = solve(how.make_operator(values), right, **how.options)
    except NotImplementedError:
        if not how.derived:
            raise
        raise NotDifferentiableError(
            f"{how.name}: a derivative solves the transposed equations, and A or M is a"
            " LinearOperator without rmatvec; give it one"
        ) from None
    if how.derived and state:
        warn_user(
            f"{how.name}: the equations of the derivative have not converged (info={state}), so"
            " the gradient is not exact; raise maxiter, or rtol",
            RuntimeWarning,
        )
    return found.reshape(numpy.shape(right)), state


@primitive
def _solve(values: Any, right: Any, how: _SolverConfig, state: Any = None) -> Any:
    """The solution; the status of the method is stored in the state."""
    found, reached = _run_solver(values, right, how)
    if state is not None:
        state.status = reached
    return found


def _values_vjp(ans: Any, values: Any, right: Any, how: _SolverConfig, state: Any = None) -> Any:
    def pull(g: Any) -> Any:
        weight = _solve(values, g, how.transposed())
        if isinstance(how.matrix, SparseStructure):
            return -_dot_rows(how.matrix, weight, ans)
        outer = -weight.reshape(-1, 1) * ans.reshape(1, -1)
        return outer.T if how.turned else outer

    return pull


def _right_vjp(ans: Any, values: Any, right: Any, how: _SolverConfig, state: Any = None) -> Any:
    return lambda g: _solve(values, g, how.transposed())


defvjp(_solve, _values_vjp, _right_vjp, argnums=[0, 1])


def make_iterative_solver(name: str) -> Callable[..., tuple[Any, int]]:
    """Makes a solver of `scipy.sparse.linalg` whose solution is differentiable."""

    def solve(A: Any, b: Any, x0: Any = None, **options: Any) -> tuple[Any, int]:
        right = as_floats(b)
        if x0 is not None:
            options["x0"] = numpy.asarray(detach(x0))
        if hasattr(A, "matvec") or callable(A):
            values, matrix = numpy.zeros(0), get_scipy_function("sparse.linalg.aslinearoperator")(A)
        elif _is_sparse(A):
            own = _convert_array(A)
            values, matrix = own.data, own._structure
        else:
            values, matrix = as_floats(A), None
        shape = np.shape(A)
        if len(shape) != 2 or shape[0] != shape[1] or np.size(right) != shape[0]:
            raise ShapeError(
                f"{name}: A has shape {tuple(shape)} and b {tuple(np.shape(right))}; give a square"
                " matrix and a vector with as many elements"
            )
        state = _SolverStatus()
        found = _solve(values, right, _SolverConfig(name, options, matrix), state)
        return found, state.status

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = f"""`(x, info)` with `A x = b`, by `scipy.sparse.linalg.{name}`.

    `info` is 0 where it converged. Differentiable to any order by `b` and by the elements of `A`:
    a dense tensor, or the values of a sparse array (`ferrograd.scipy.sparse.csr_array`); a linear
    operator is constant. A derivative solves the transposed equations by the same method and
    tolerance, `rtol=1e-5` unless said otherwise; a `RuntimeWarning` where it does not converge.
    Takes SciPy's options. Errors: `ShapeError`; `NotDifferentiableError` in the backward pass for
    an operator without `rmatvec`, which cg and minres do not need.

    >>> from ferrograd.scipy.sparse import linalg
    >>> A = np.array([[2.0, 0.0], [0.0, 4.0]])
    >>> fg.grad(lambda b: linalg.{name}(A, b)[0].sum())(np.ones(2)).round(9).tolist()
    [0.5, 0.25]
    """
    return solve


def _is_sparse(value: Any) -> bool:
    return not isinstance(value, numpy.ndarray | list) and _sparse(value)
