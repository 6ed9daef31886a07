"""Minima: `minimize`, `least_squares`, `curve_fit`.

SciPy minimises with ferrograd's gradients. Derivatives of the minimum follow from the equation
"the gradient is zero"; under constraints and for robust losses it does not hold, so these are
refused if a gradient is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ShapeError
from ferrograd.scipy._conversions import as_floats, to_float_array
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.optimize._parametrized_function import Problem
from ferrograd.transforms import grad, hessian, jacobian

#: Methods that take a gradient, and those that take a Hessian.
_GRADIENT_METHODS = {"CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "NEWTON-CG", "TRUST-NCG", "DOGLEG"}
_GRADIENT_METHODS |= {"TRUST-KRYLOV", "TRUST-EXACT", "TRUST-CONSTR"}
_HESSIAN_METHODS = {"NEWTON-CG", "TRUST-NCG", "DOGLEG", "TRUST-KRYLOV", "TRUST-EXACT"}


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str | None = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """The vector `x` that makes `fun(x, *args)` smallest, as SciPy's result object.

    `result.x` is differentiable to any order by `args`, floats, arrays and containers of them:
    `dx/dp = -(∂²f/∂x²)⁻¹ ∂²f/∂x∂p` over the variables that are not on a bound; those on a bound are
    constant. `result.fun` is differentiable, too. The derivative is that of the minimum, up to
    `tol`. Methods that take a gradient or a Hessian get the exact ones if `jac` and `hess` are not
    given; with `jac=True`, `fun` returns the value and the gradient. Errors:
    `NotDifferentiableError` for `constraints` if a parameter is a tensor, and if `fun` closes over
    a value that requires grad; `MatrixError` in the backward pass if the Hessian is singular.

    >>> from ferrograd.scipy import optimize
    >>> def lowest(p):
    ...     return optimize.minimize(lambda x, p: ((x - p) ** 2).sum(), [0.0, 1.0], args=(p,)).x
    >>> fg.jacobian(lowest)(np.array([2.0, 3.0])).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    pair = fun if jac is True else None
    if pair is not None:
        fun = _take_value(pair)
    problem = Problem("minimize", fun, x0, args, least=1)

    def evaluate(x: Any, flat: Any) -> Any:
        found = np.asarray(problem(np.reshape(x, problem.shape), flat))
        return np.reshape(found, ()) if np.ndim(found) else found

    def gradient(x: Any, flat: Any) -> Any:
        return grad(lambda y: evaluate(y, flat))(x)

    if problem.is_recorded and not _is_empty(constraints):
        problem.raise_not_differentiable("constraints", "put them into fun, or use bounds")
    name = (method or "BFGS").upper()
    first, second = problem.bind_derivative(jac), problem.bind_derivative(hess)
    if jac is None and name in _GRADIENT_METHODS:
        first = problem.to_array_function(gradient)
    if hess is None and hessp is None and name in _HESSIAN_METHODS:
        second = problem.to_array_function(lambda x, flat: hessian(lambda y: evaluate(y, flat))(x))
    plain_value = problem.to_array_function(evaluate)
    found = get_scipy_function("optimize.minimize")(
        (lambda x: float(plain_value(x))) if pair is None else problem.bind_value_and_grad(pair),
        problem.start.ravel(),
        (),
        method,
        jac=first,
        hess=second,
        hessp=problem.bind_derivative(hessp),
        bounds=bounds,
        constraints=constraints,
        tol=tol,
        callback=callback,
        options=options,
    )
    if problem.is_recorded:
        found.x = problem.attach_derivative(
            _make_stationarity_residual(gradient, found.x, bounds), found.x
        )
        found.fun = evaluate(found.x, problem.flat)
    found.x = np.reshape(found.x, problem.shape)
    return found


def _take_value(pair: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function that returns value and gradient so that it returns the value."""
    return lambda x, *args: pair(x, *args)[0]


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, tuple | list | dict) and not value)


def _make_stationarity_residual(
    slope: Callable[[Any, Any], Any], found: Any, bounds: Any
) -> Callable[[Any, Any], Any]:
    """The equation of a minimum: the gradient is zero; variables on a bound are constant."""
    if bounds is None:
        return slope
    low, high = _parse_bounds(bounds, len(found))
    near = 1e-8 * (1.0 + abs(found))
    on = (found - low <= near) | (high - found <= near)

    def residual(x: Any, flat: Any) -> Any:
        return np.where(on, x - found, slope(x, flat))

    return residual


def _parse_bounds(bounds: Any, count: int) -> tuple[Any, Any]:
    """The lower and upper limits of the variables, from pairs or from SciPy's `Bounds`."""
    if hasattr(bounds, "lb"):
        low, high = bounds.lb, bounds.ub
    else:
        low = [-numpy.inf if pair[0] is None else to_float_array(pair[0]) for pair in bounds]
        high = [numpy.inf if pair[1] is None else to_float_array(pair[1]) for pair in bounds]
    return numpy.broadcast_to(low, count), numpy.broadcast_to(high, count)


def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = None,
    bounds: Any = (-numpy.inf, numpy.inf),
    method: str = "trf",
    *,
    loss: Any = "linear",
    args: Any = (),
    **options: Any,
) -> Any:
    """The vector `x` that makes half of `Σ fun(x, *args)²` smallest, as SciPy's result object.

    `result.x` is differentiable to any order by `args`, as in `minimize`; `result.fun` and
    `result.cost` are differentiable, too. `options` are SciPy's. Without `jac` the exact Jacobian
    is used. Errors: those of `minimize`, and `NotDifferentiableError` for another `loss`.

    >>> from ferrograd.scipy import optimize
    >>> def closest(p):
    ...     return optimize.least_squares(lambda x, p: p - x[0], [0.0], args=(p,)).x[0]
    >>> fg.grad(closest)(np.array([1.0, 2.0])).round(9).tolist()
    [0.5, 0.5]
    """
    problem = Problem("least_squares", fun, np.atleast_1d(to_float_array(x0)), args)
    if problem.is_recorded and loss != "linear":
        problem.raise_not_differentiable(f"loss={loss!r}", "put the loss into minimize")

    def residuals(x: Any, flat: Any) -> Any:
        return np.atleast_1d(np.asarray(problem(x, flat)))

    def gradient(x: Any, flat: Any) -> Any:
        return grad(lambda y: np.sum(residuals(y, flat) ** 2) / 2)(x)

    slopes = problem.bind_derivative(jac)
    if jac is None:
        slopes = problem.to_array_function(
            lambda x, flat: jacobian(lambda y: residuals(y, flat))(x)
        )
    found = get_scipy_function("optimize.least_squares")(
        problem.to_array_function(residuals),
        problem.start,
        slopes,
        bounds,
        method,
        loss=loss,
        **options,
    )
    if problem.is_recorded:
        pairs = bounds if hasattr(bounds, "lb") else _bounds_to_pairs(bounds, len(found.x))
        found.x = problem.attach_derivative(
            _make_stationarity_residual(gradient, found.x, pairs), found.x
        )
        found.fun = residuals(found.x, problem.flat)
        found.cost = np.sum(found.fun**2) / 2
    return found


def _bounds_to_pairs(bounds: Any, count: int) -> list[tuple[Any, Any]]:
    low, high = (numpy.broadcast_to(to_float_array(limit), count) for limit in bounds)
    return list(zip(low, high, strict=True))


def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    bounds: Any = (-numpy.inf, numpy.inf),
    **options: Any,
) -> tuple[Any, Any]:
    """`(popt, pcov)`: the parameters of `f(xdata, *parameters)` nearest to `ydata`.

    `popt` is differentiable to any order by `xdata`, `ydata` and `sigma` (a vector of standard
    deviations), and so is the covariance `pcov = s² (Jᵀ J)⁻¹`. `options` are those of
    `least_squares`. Errors: `ShapeError` for a matrix `sigma`, and those of `least_squares`.

    >>> from ferrograd.scipy import optimize
    >>> x = np.array([0.0, 1.0, 2.0])
    >>> def steepness(y):
    ...     return optimize.curve_fit(lambda x, a, b: a * x + b, x, y)[0][0]
    >>> fg.grad(steepness)(np.array([0.0, 1.0, 2.5])).round(6)[[0, 2]].tolist()
    [-0.5, 0.5]
    """
    if sigma is not None and np.ndim(sigma) > 1:
        raise ShapeError(
            f"curve_fit: sigma has shape {np.shape(sigma)}; give a vector of standard deviations"
        )
    if p0 is None:
        p0 = numpy.ones(f.__code__.co_argcount - 1)
    widths = numpy.ones(()) if sigma is None else as_floats(sigma)

    def residuals(p: Any, x: Any, y: Any, s: Any) -> Any:
        return np.ravel((f(x, *[p[k] for k in range(np.shape(p)[0])]) - y) / s)

    data = (as_floats(xdata), as_floats(ydata), widths)
    found = least_squares(residuals, p0, bounds=bounds, args=data, **options)
    slopes = jacobian(lambda p: residuals(p, *data))(found.x)
    covariance = np.linalg.inv(slopes.T @ slopes)
    free = np.shape(slopes)[0] - np.shape(slopes)[1]
    if not absolute_sigma:
        covariance = covariance * (2 * found.cost / free if free > 0 else numpy.inf)
    return found.x, covariance
