"""Rosenbrock's valley, on which minimisers are tried: `rosen` and its derivatives.

Invariant: a function and its derivatives agree.
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as np
from ferrograd.errors import ShapeError
from ferrograd.scipy._conversions import as_floats


def rosen(x: Any) -> Any:
    """`Σ 100 (x[i+1] - x[i]²)² + (1 - x[i])²` along the first axis.

    >>> from ferrograd.scipy import optimize
    >>> optimize.rosen(np.array([1.0, 2.0])).item()
    100.0
    """
    x = as_floats(x)
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2, axis=0)


def rosen_der(x: Any) -> Any:
    """The gradient of `rosen`.

    >>> from ferrograd.scipy import optimize
    >>> optimize.rosen_der([1.0, 2.0]).tolist()
    [-400.0, 200.0]
    """
    x = as_floats(x)
    apart = 200 * (x[1:] - x[:-1] ** 2)
    before = -2 * x[:-1] * apart - 2 * (1 - x[:-1])
    none = np.zeros_like(x[:1])
    return np.concatenate([before, none]) + np.concatenate([none, apart])


def rosen_hess(x: Any) -> Any:
    """The Hessian of `rosen` at a point, (n, n).

    >>> from ferrograd.scipy import optimize
    >>> optimize.rosen_hess([1.0, 2.0]).tolist()
    [[402.0, -400.0], [-400.0, 200.0]]
    """
    x = as_floats(x)
    if x.ndim != 1:
        raise ShapeError(f"rosen_hess: x has shape {tuple(x.shape)}; give a vector")
    none = np.zeros_like(x[:1])
    diagonal = np.concatenate([1200 * x[:-1] ** 2 - 400 * x[1:] + 2, none])
    diagonal = diagonal + np.concatenate([none, np.full_like(x[1:], 200)])
    beside = -400 * x[:-1]
    return np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)


def rosen_hess_prod(x: Any, p: Any) -> Any:
    """The product of the Hessian of `rosen` with a vector.

    >>> from ferrograd.scipy import optimize
    >>> optimize.rosen_hess_prod([1.0, 2.0], [1.0, 0.0]).tolist()
    [402.0, -400.0]
    """
    return rosen_hess(x) @ as_floats(p)
