"""Classical orthogonal polynomials of constant degrees.

The derivative of a family is the next family one degree below (DLMF 18.9).
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.extend import Primitive
from ferrograd.scipy._scipy_primitives import make_scipy_primitive

np: Any = _ferrograd_numpy


def _zero_for_constant(n: Any, value: Any) -> Any:
    """The derivative for degrees other than 0; a constant has none."""
    return np.where(np.asarray(n) != 0, value, 0.0)


def _lower_degree(n: Any) -> Any:
    """The degree minus 1, which need not be an integer; for a constant it does not matter."""
    n = np.asarray(n)
    return np.where(n == 0, n, n - 1)


def _legendre_derivative(n: Any, x: Any) -> Any:
    """Functions of the degrees `n` and `-n - 1` are the same."""
    n = np.asarray(n)
    n = np.where(n < 0, -n - 1, n)
    return _zero_for_constant(n, (n + 1.0) / 2 * eval_jacobi(_lower_degree(n), 1, 1, x))


def _chebyu_derivative(n: Any, x: Any) -> Any:
    """The function of the degree `-n - 2` is minus that of `n`, and that of -1 vanishes."""
    n = np.asarray(n)
    low = n < -1
    sign, n = np.where(low, -1.0, 1.0), np.where(low, -n - 2, n)
    return np.where(
        n == -1, 0.0, sign * _zero_for_constant(n, 2.0 * eval_gegenbauer(_lower_degree(n), 2, x))
    )


eval_jacobi: Primitive = make_scipy_primitive(
    "special.eval_jacobi",
    None,
    None,
    None,
    lambda ans, n, a, b, x: (
        lambda g: (
            g
            * _zero_for_constant(
                n, (n + a + b + 1.0) / 2 * eval_jacobi(_lower_degree(n), a + 1, b + 1, x)
            )
        )
    ),
)
eval_legendre: Primitive = make_scipy_primitive(
    "special.eval_legendre",
    None,
    lambda ans, n, x: lambda g: g * _legendre_derivative(n, x),
)
eval_gegenbauer: Primitive = make_scipy_primitive(
    "special.eval_gegenbauer",
    None,
    None,
    lambda ans, n, a, x: (
        lambda g: g * _zero_for_constant(n, 2.0 * a * eval_gegenbauer(_lower_degree(n), a + 1, x))
    ),
)
eval_chebyu: Primitive = make_scipy_primitive(
    "special.eval_chebyu",
    None,
    lambda ans, n, x: lambda g: g * _chebyu_derivative(n, x),
)
eval_chebyt: Primitive = make_scipy_primitive(
    "special.eval_chebyt",
    None,
    lambda ans, n, x: lambda g: g * _zero_for_constant(n, n * eval_chebyu(_lower_degree(n), x)),
)
eval_hermite: Primitive = make_scipy_primitive(
    "special.eval_hermite",
    None,
    lambda ans, n, x: (
        lambda g: g * _zero_for_constant(n, 2.0 * n * eval_hermite(_lower_degree(n), x))
    ),
)
eval_hermitenorm: Primitive = make_scipy_primitive(
    "special.eval_hermitenorm",
    None,
    lambda ans, n, x: (
        lambda g: g * _zero_for_constant(n, n * eval_hermitenorm(_lower_degree(n), x))
    ),
)
eval_genlaguerre: Primitive = make_scipy_primitive(
    "special.eval_genlaguerre",
    None,
    None,
    lambda ans, n, a, x: (
        lambda g: -g * _zero_for_constant(n, eval_genlaguerre(_lower_degree(n), a + 1, x))
    ),
)
eval_laguerre: Primitive = make_scipy_primitive(
    "special.eval_laguerre",
    None,
    lambda ans, n, x: (
        lambda g: -g * _zero_for_constant(n, eval_genlaguerre(_lower_degree(n), 1, x))
    ),
)
