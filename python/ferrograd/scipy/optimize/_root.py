"""Roots: `root`, `fsolve`, `root_scalar`, `brentq`, `newton`.

Owns: the equation `fun(x, parameters) = 0` as the definition of its root. SciPy solves it, with our
Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.scipy._library import library
from ferrograd.scipy.optimize._parameters import Problem
from ferrograd.transforms import jacobian


def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """The vector `x` with `fun(x, *args) = 0`, as SciPy's result object.

    `result.x` is differentiable to any order by `args`, floats, arrays and containers of them:
    `dx/dp = -(∂f/∂x)⁻¹ ∂f/∂p`. The derivative by `x0` is zero. Without `jac` the methods "hybr" and
    "lm" get the exact Jacobian. Errors: `NotDifferentiableError` where `fun` closes over a value
    that requires grad; `MatrixError` in the backward pass where the Jacobian is singular.

    >>> from ferrograd.scipy import optimize
    >>> def crossing(p):
    ...     return optimize.root(lambda x, p: x * x - p, [1.0], args=(p,)).x[0]
    >>> round(fg.grad(crossing)(4.0), 9)
    0.25
    """
    problem = Problem("root", fun, x0, args)

    def residual(x: Any, flat: Any) -> Any:
        return np.ravel(np.asarray(problem(np.reshape(x, problem.shape), flat)))

    if (jac is None or jac is False) and method in ("hybr", "lm"):
        jac = problem.on_arrays(lambda x, flat: jacobian(lambda y: residual(y, flat))(x))
    else:
        jac = problem.given(jac)
    found = library("optimize.root")(
        problem.on_arrays(residual),
        problem.start.ravel(),
        (),
        method,
        jac,
        tol,
        callback,
        options,
    )
    if problem.recorded:
        found.x = problem.solved(residual, found.x)
    found.x = np.reshape(found.x, problem.shape)
    return found


def fsolve(func: Callable[..., Any], x0: Any, args: Any = (), **options: Any) -> Any:
    """The vector `x` with `func(x, *args) = 0`; `root` gives more than the root.

    `options` are `xtol` and `maxfev`. Differentiable as `root` is.

    >>> from ferrograd.scipy import optimize
    >>> round(float(optimize.fsolve(lambda x: x**3 - 8.0, 1.0)[0]), 9)
    2.0
    """
    known = {key: value for key, value in options.items() if key in ("xtol", "maxfev")}
    problem = root(func, np.atleast_1d(np.asarray(x0)), args, options=known or None)
    return problem.x


def root_scalar(f: Callable[..., Any], args: Any = (), **options: Any) -> Any:
    """The number `x` with `f(x, *args) = 0`, as SciPy's result object.

    `options` are SciPy's (`bracket`, `x0`, `x1`, `method`, …). `result.root` is differentiable to
    any order by `args`. Errors: those of `root`.

    >>> from ferrograd.scipy import optimize
    >>> def crossing(p):
    ...     return optimize.root_scalar(lambda x, p: x**3 - p, args=(p,), bracket=(0, 9)).root
    >>> round(fg.grad(crossing)(8.0), 9)
    0.083333333
    """
    bracket = options.get("bracket")
    start = options.get("x0") if bracket is None else bracket[0]
    problem = Problem("root_scalar", f, start, args)
    for key in ("fprime", "fprime2"):
        if key in options:
            options[key] = problem.given(options[key])
    scalar = problem.on_arrays(problem)
    found = library("optimize.root_scalar")(lambda x: float(scalar(x)), **options)
    if problem.recorded:
        found.root = _number(problem, found.root)
    return found


def _number(problem: Problem, found: Any) -> Any:
    """One number as the solution of an equation of a vector with one element."""

    def residual(x: Any, flat: Any) -> Any:
        return np.reshape(np.asarray(problem(x[0], flat)), (1,))

    return problem.solved(residual, numpy.reshape(found, (1,)))[0]


def brentq(f: Callable[..., Any], a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    """The number between `a` and `b` with `f(x, *args) = 0`, by Brent's method.

    `options` are `xtol`, `rtol` and `maxiter`. Differentiable to any order by `args`.

    >>> from ferrograd.scipy import optimize
    >>> round(fg.grad(lambda p: optimize.brentq(lambda x, p: x * x - p, 0, 9, (p,)))(4.0), 9)
    0.25
    """
    return root_scalar(f, args, bracket=(a, b), method="brentq", **options).root


def newton(
    f: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), **options: Any
) -> Any:
    """The number near `x0` with `f(x, *args) = 0`, by Newton's method or the secant method.

    `options` are those of `root_scalar`. Differentiable to any order by `args`.

    >>> from ferrograd.scipy import optimize
    >>> round(fg.grad(lambda p: optimize.newton(lambda x, p: x * x - p, 1.0, args=(p,)))(4.0), 9)
    0.25
    """
    if fprime is None:
        return root_scalar(f, args, x0=x0, method="secant", **options).root
    return root_scalar(f, args, x0=x0, fprime=fprime, method="newton", **options).root
