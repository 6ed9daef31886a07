"""Roots: `root`, `fsolve`, `root_scalar`, `newton`, and those between two ends.

SciPy solves the equation, with our Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._dispatch.detach import detach_tensors
from ferrograd._inspect.warn import warn_user
from ferrograd.errors import ArgumentTypeError
from ferrograd.scipy._conversions import to_float_array
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.optimize._parametrized_function import Problem
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
    that requires grad; `MatrixError` in the backward pass where the Jacobian is singular. A
    `RuntimeWarning` where the solver has not converged and a derivative of its point is recorded.

    >>> from ferrograd.scipy import optimize
    >>> def crossing(p):
    ...     return optimize.root(lambda x, p: x * x - p, [1.0], args=(p,)).x[0]
    >>> round(fg.grad(crossing)(4.0), 9)
    0.25
    """
    found, recorded = _solve(fun, x0, args, method, jac, tol, callback, options)
    if recorded and not found.success:
        warn_user(
            f"root: {found.message} The derivatives are those of a point that is no root; try"
            " another x0 or method, or check result.success",
            RuntimeWarning,
        )
    return found


def _solve(
    fun: Callable[..., Any],
    x0: Any,
    args: Any,
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Any = None,
    options: Any = None,
) -> tuple[Any, bool]:
    """SciPy's result object, and whether its point is recorded."""
    problem = Problem("root", fun, x0, args, least=1)
    residual = problem.residual
    if (jac is None or jac is False) and method in ("hybr", "lm"):
        jac = problem.to_array_function(lambda x, flat: jacobian(lambda y: residual(y, flat))(x))
    else:
        jac = problem.bind_derivative(jac)
    found = get_scipy_function("optimize.root")(
        problem.to_array_function(residual),
        problem.start.ravel(),
        (),
        method,
        jac,
        tol,
        callback,
        options,
    )
    if problem.is_recorded:
        found.x = problem.attach_derivative(residual, found.x)
    found.x = np.reshape(found.x, problem.shape)
    return found, problem.is_recorded


def fsolve(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    fprime: Any = None,
    full_output: bool = False,
    col_deriv: bool = False,
    **options: Any,
) -> Any:
    """The vector `x` with `func(x, *args) = 0`; `root` also returns details.

    `options` are SciPy's: `xtol`, `maxfev`, `band`, `epsfcn`, `factor`, `diag`. With `full_output`,
    `(x, infodict, ier, mesg)`. Differentiable as `root` is. Errors: `ArgumentTypeError` for unknown
    options, and those of `root`.

    >>> from ferrograd.scipy import optimize
    >>> round(float(optimize.fsolve(lambda x: x**3 - 8.0, 1.0)[0]), 9)
    2.0
    """
    wrong = sorted(set(options) - {"xtol", "maxfev", "band", "epsfcn", "factor", "diag"})
    if wrong:
        raise ArgumentTypeError(
            f"fsolve: unknown options {wrong}; give xtol, maxfev, band, epsfcn, factor or diag"
        )
    names = {"epsfcn": "eps"}
    known: dict[str, Any] = {names.get(key, key): value for key, value in options.items()}
    if fprime is not None:
        known["col_deriv"] = col_deriv
    found, _ = _solve(func, x0, args, jac=fprime, options=known or None)
    if not full_output:
        if not found.success:
            warn_user(f"fsolve: {found.message}", RuntimeWarning)
        return found.x
    kept = ("nfev", "njev", "fjac", "r", "qtf")
    info = {key: found[key] for key in kept if key in found} | {"fvec": found.fun}
    return found.x, info, found.status, found.message


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
            options[key] = problem.bind_derivative(options[key])
    scalar = problem.to_array_function(problem)
    found = get_scipy_function("optimize.root_scalar")(lambda x: float(scalar(x)), **options)
    if problem.is_recorded:
        found.root = _make_scalar_root(problem, found.root)
    return found


def _make_scalar_root(problem: Problem, found: Any) -> Any:
    """Makes a scalar root differentiable, as the solution of an equation of one-element vectors."""

    def residual(x: Any, flat: Any) -> Any:
        return np.reshape(np.asarray(problem(x[0], flat)), (1,))

    return problem.attach_derivative(residual, numpy.reshape(found, (1,)))[0]


def _call_root_finder(
    name: str, f: Callable[..., Any], args: Any, start: Any, *ends: Any, **own: Any
) -> Any:
    """The result of SciPy's function with this name, with a differentiable root."""
    problem = Problem(name, f, start, args)
    numbers = problem.to_array_function(lambda x, flat: np.reshape(problem(x, flat), np.shape(x)))
    full_output = own.pop("full_output", False)
    for key in ("fprime", "fprime2"):
        if key in own:
            own[key] = problem.bind_derivative(own[key])
    found = get_scipy_function(f"optimize.{name}")(numbers, *ends, full_output=full_output, **own)
    if not problem.is_recorded:
        return found
    root = found[0] if full_output else found
    if problem.shape:
        root = np.reshape(
            problem.attach_derivative(problem.residual, np.ravel(root)), problem.shape
        )
    else:
        root = _make_scalar_root(problem, root)
    if not full_output:
        return root
    if hasattr(found, "_replace"):
        return found._replace(root=root)
    found[1].root = root
    return (root, *found[1:])


def _make_bracketing_finder(name: str, how: str) -> Callable[..., Any]:
    """SciPy's function of this name, which finds a root between two ends."""

    def find_root(f: Callable[..., Any], a: Any, b: Any, args: Any = (), **options: Any) -> Any:
        a, b = float(detach_tensors(a)), float(detach_tensors(b))
        return _call_root_finder(name, f, args, a, a, b, **options)

    find_root.__name__ = find_root.__qualname__ = name
    find_root.__doc__ = f"""The number between `a` and `b` with `f(x, *args) = 0`, by {how}.

    `options` are SciPy's: `xtol`, `rtol`, `maxiter`, `disp` and `full_output`, which gives the
    root and a result object. Differentiable to any order by `args`. Errors: SciPy's `ValueError`
    where `f` has one sign at both ends.

    >>> from ferrograd.scipy import optimize
    >>> round(fg.grad(lambda p: optimize.{name}(lambda x, p: x * x - p, 0, 9, (p,)))(4.0), 6)
    0.25
    """
    return find_root


brentq = _make_bracketing_finder("brentq", "Brent's method with inverse quadratic steps")
brenth = _make_bracketing_finder("brenth", "Brent's method with hyperbolic steps")
bisect = _make_bracketing_finder("bisect", "halving")
ridder = _make_bracketing_finder("ridder", "Ridders' method")


def newton(
    f: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), **options: Any
) -> Any:
    """The number near `x0` with `f(x, *args) = 0`, by Newton's method or the secant method.

    For an array of starts, the result is an array of roots, one for each element. `options` are
    SciPy's: `tol`, `maxiter`, `fprime2`, `x1`, `rtol`, `disp` and `full_output`. Differentiable to
    any order by `args`.

    >>> from ferrograd.scipy import optimize
    >>> round(fg.grad(lambda p: optimize.newton(lambda x, p: x * x - p, 1.0, args=(p,)))(4.0), 9)
    0.25
    """
    start = to_float_array(x0)
    if "xtol" in options:
        options["tol"] = options.pop("xtol")
    return _call_root_finder("newton", f, args, start, start[()], fprime=fprime, **options)
