"""Classical orthogonal polynomials of constant degrees.

The derivative of a family is the next family one degree below (DLMF 18.9).
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as _face
from ferrograd.extend import Primitive
from ferrograd.scipy._computed_by_scipy import of_scipy

np: Any = _face


def _below(n: Any, value: Any) -> Any:
    """The derivative for degrees other than 0; a constant has none."""
    return np.where(np.asarray(n) != 0, value, 0.0)


def _less(n: Any) -> Any:
    """The degree minus 1, which need not be an integer; for a constant it does not matter."""
    n = np.asarray(n)
    return np.where(n == 0, n, n - 1)


def _legendre_slope(n: Any, x: Any) -> Any:
    """Functions of the degrees `n` and `-n - 1` are the same."""
    n = np.asarray(n)
    n = np.where(n < 0, -n - 1, n)
    return _below(n, (n + 1.0) / 2 * eval_jacobi(_less(n), 1, 1, x))


def _chebyu_slope(n: Any, x: Any) -> Any:
    """The function of the degree `-n - 2` is minus that of `n`, and that of -1 vanishes."""
    n = np.asarray(n)
    low = n < -1
    sign, n = np.where(low, -1.0, 1.0), np.where(low, -n - 2, n)
    return np.where(n == -1, 0.0, sign * _below(n, 2.0 * eval_gegenbauer(_less(n), 2, x)))


eval_jacobi: Primitive = of_scipy(
    "special.eval_jacobi",
    None,
    None,
    None,
    lambda ans, n, a, b, x: (
        lambda g: g * _below(n, (n + a + b + 1.0) / 2 * eval_jacobi(_less(n), a + 1, b + 1, x))
    ),
)
eval_legendre: Primitive = of_scipy(
    "special.eval_legendre",
    None,
    lambda ans, n, x: lambda g: g * _legendre_slope(n, x),
)
eval_gegenbauer: Primitive = of_scipy(
    "special.eval_gegenbauer",
    None,
    None,
    lambda ans, n, a, x: lambda g: g * _below(n, 2.0 * a * eval_gegenbauer(_less(n), a + 1, x)),
)
eval_chebyu: Primitive = of_scipy(
    "special.eval_chebyu",
    None,
    lambda ans, n, x: lambda g: g * _chebyu_slope(n, x),
)
eval_chebyt: Primitive = of_scipy(
    "special.eval_chebyt",
    None,
    lambda ans, n, x: lambda g: g * _below(n, n * eval_chebyu(_less(n), x)),
)
eval_hermite: Primitive = of_scipy(
    "special.eval_hermite",
    None,
    lambda ans, n, x: lambda g: g * _below(n, 2.0 * n * eval_hermite(_less(n), x)),
)
eval_hermitenorm: Primitive = of_scipy(
    "special.eval_hermitenorm",
    None,
    lambda ans, n, x: lambda g: g * _below(n, n * eval_hermitenorm(_less(n), x)),
)
eval_genlaguerre: Primitive = of_scipy(
    "special.eval_genlaguerre",
    None,
    None,
    lambda ans, n, a, x: lambda g: -g * _below(n, eval_genlaguerre(_less(n), a + 1, x)),
)
eval_laguerre: Primitive = of_scipy(
    "special.eval_laguerre",
    None,
    lambda ans, n, x: lambda g: -g * _below(n, eval_genlaguerre(_less(n), 1, x)),
)
