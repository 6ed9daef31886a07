"""Matrix equations, matrix functions and structured matrices of `scipy.linalg`.

Everything is composed of operations, so derivatives of every order exist.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd import _core
from ferrograd.errors import ArgumentError
from ferrograd.scipy._conversions import as_floats, detach
from ferrograd.scipy._linalg_options import check_options, select_eigenvalues
from ferrograd.scipy._lu_polar import adjoint, solve_sylvester
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy._wrappers import wrap_operation

_expm = wrap_operation(_core._namespaces["linalg"]["expm"], "expm")


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """The solution of `a x + x aᴴ = q`."""
    a = as_floats(a)
    return solve_sylvester(a, adjoint(a), as_floats(q))


solve_lyapunov = solve_continuous_lyapunov


def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """The solution of `a x aᴴ - x + q = 0`, as a linear system."""
    a, q = as_floats(a), as_floats(q)
    size = np.shape(a)[0] ** 2
    system = np.eye(size) - np.kron(a, np.conj(a))
    return np.reshape(np.linalg.solve(system, np.reshape(q, (size,))), np.shape(q))


def solve_continuous_are(a: Any, b: Any, q: Any, r: Any) -> Any:
    """The stabilising solution of `aᴴ x + x a - x b r⁻¹ bᴴ x + q = 0`.

    SciPy's solution and two recorded steps of Newton (D. Kleinman, IEEE Trans. Automat. Control 13,
    1968), which have its derivatives up to the third order.
    """
    a, b, q, r = (as_floats(v) for v in (a, b, q, r))
    x = get_scipy_function("linalg.solve_continuous_are")(
        *(numpy.asarray(detach(v)) for v in (a, b, q, r))
    )
    for _ in range(2):
        gain = np.linalg.solve(r, adjoint(b) @ x)
        closed = adjoint(a - b @ gain)
        x = solve_continuous_lyapunov(closed, -q - adjoint(gain) @ r @ gain)
    return x


def solve_discrete_are(a: Any, b: Any, q: Any, r: Any) -> Any:
    """The stabilising solution of `aᴴ x a - x - aᴴ x b (r + bᴴ x b)⁻¹ bᴴ x a + q = 0`.

    SciPy's solution and two recorded steps of Newton (G. Hewer, IEEE Trans. Automat. Control 16,
    1971), which have its derivatives up to the third order.
    """
    a, b, q, r = (as_floats(v) for v in (a, b, q, r))
    x = get_scipy_function("linalg.solve_discrete_are")(
        *(numpy.asarray(detach(v)) for v in (a, b, q, r))
    )
    for _ in range(2):
        gain = np.linalg.solve(r + adjoint(b) @ x @ b, adjoint(b) @ x @ a)
        closed = adjoint(a - b @ gain)
        x = solve_discrete_lyapunov(closed, q + adjoint(gain) @ r @ gain)
    return x


def expm_frechet(a: Any, e: Any, method: Any = None, compute_expm: bool = True) -> Any:
    """`(expm(a), d)` with the derivative `d` of `expm` at `a` in the direction `e`."""
    a, e = as_floats(a), as_floats(e)
    size = np.shape(a)[0]
    found = _expm(np.block([[a, e], [np.zeros((size, size)), a]]))
    direction = found[:size, size:]
    return (found[:size, :size], direction) if compute_expm else direction


def _exp_sum_and_difference(a: Any, turn: complex) -> tuple[Any, Any]:
    """Half of the sum and of the difference of `expm(turn a)` and `expm(-turn a)`."""
    up, down = _expm(turn * a), _expm(-turn * a)
    return (up + down) / 2, (up - down) / 2


def cosm(a: Any) -> Any:
    """The cosine of a matrix."""
    a = as_floats(a)
    return _exp_sum_and_difference(a, 1j)[0] if np.iscomplexobj(a) else np.real(_expm(1j * a))


def sinm(a: Any) -> Any:
    """The sine of a matrix."""
    a = as_floats(a)
    return -1j * _exp_sum_and_difference(a, 1j)[1] if np.iscomplexobj(a) else np.imag(_expm(1j * a))


def tanm(a: Any) -> Any:
    """The tangent of a matrix."""
    return np.linalg.solve(cosm(a), sinm(a))


def coshm(a: Any) -> Any:
    """The hyperbolic cosine of a matrix."""
    return _exp_sum_and_difference(as_floats(a), 1)[0]


def sinhm(a: Any) -> Any:
    """The hyperbolic sine of a matrix."""
    return _exp_sum_and_difference(as_floats(a), 1)[1]


def tanhm(a: Any) -> Any:
    """The hyperbolic tangent of a matrix."""
    even, odd = _exp_sum_and_difference(as_floats(a), 1)
    return np.linalg.solve(even, odd)


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with the first column `c`, the first row `r` and constant diagonals."""
    c = np.ravel(np.asarray(c))
    conjugate = np.conj(c) if np.iscomplexobj(c) else c
    r = conjugate if r is None else np.ravel(np.asarray(r))
    rows, columns = np.shape(c)[0], np.shape(r)[0]
    places = numpy.arange(rows)[:, None] - numpy.arange(columns) + columns - 1
    return np.concatenate([r[:0:-1], c])[places]


def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with the first column `c`, the last row `r` and constant antidiagonals."""
    c = np.ravel(np.asarray(c))
    r = np.zeros_like(c) if r is None else np.ravel(np.asarray(r))
    places = numpy.arange(np.shape(c)[0])[:, None] + numpy.arange(np.shape(r)[0])
    return np.concatenate([c, r[1:]])[places]


def circulant(c: Any) -> Any:
    """The matrix whose columns are cyclic shifts of `c`."""
    c = np.ravel(np.asarray(c))
    places = numpy.arange(np.shape(c)[0])
    return c[(places[:, None] - places) % len(places)]


def companion(a: Any) -> Any:
    """The matrix whose characteristic polynomial has the coefficients `a`, highest power first."""
    a = as_floats(a)
    size = np.shape(a)[0] - 1
    return np.concatenate([-a[None, 1:] / a[0], np.eye(size)[:-1]])


def leslie(f: Any, s: Any) -> Any:
    """The matrix with the first row `f` and `s` below the diagonal."""
    f, s = np.asarray(f), np.asarray(s)
    return np.concatenate([f[None], s[:, None] * np.eye(np.shape(f)[0])[:-1]])


def fiedler(a: Any) -> Any:
    """The differences of all pairs, without signs."""
    a = np.asarray(a)
    return np.abs(a[:, None] - a)


def khatri_rao(a: Any, b: Any) -> Any:
    """The Kronecker products of the columns, one by one."""
    a, b = np.asarray(a), np.asarray(b)
    return np.reshape(a[:, None] * b[None], (-1, np.shape(b)[1]))


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """The solution with a Toeplitz matrix, `c` or `(c, r)`, as with a dense one."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return np.linalg.solve(toeplitz(as_floats(c), r), as_floats(b))


def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """The product of a Toeplitz matrix, `c` or `(c, r)`, with `x`, as with a dense one."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return toeplitz(c, r) @ np.asarray(x)


def eigvalsh_tridiagonal(
    d: Any, e: Any, select: str = "a", select_range: Any = None, **options: Any
) -> Any:
    """The eigenvalues of the symmetric matrix with the diagonals `d` and `e`."""
    return eigh_tridiagonal(d, e, True, select, select_range, **options)


def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: Any = None,
    **options: Any,
) -> Any:
    """The eigenvalues and eigenvectors of the symmetric matrix with the diagonals `d` and `e`.

    `select="i"` selects indices from `select_range[0]` to `select_range[1]`, `"v"` values above the
    first and up to the second.
    """
    check_options("eigh_tridiagonal", {**options, "tol": None}, d, e)
    if select not in ("a", "i", "v", "all", "index", "value"):
        raise ArgumentError(f"eigh_tridiagonal: select is {select!r}; give 'a', 'i' or 'v'")
    matrix = _make_tridiagonal(as_floats(d), as_floats(e))
    if eigvals_only:
        values, vectors = np.linalg.eigvalsh(matrix), None
    else:
        values, vectors = np.linalg.eigh(matrix)
    index, value = (select_range if select[0] == letter else None for letter in "iv")
    return select_eigenvalues(values, vectors, index, value)


def _make_tridiagonal(d: Any, e: Any) -> Any:
    return np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
