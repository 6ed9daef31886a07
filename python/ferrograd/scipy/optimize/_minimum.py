"""Minima: `minimize`, `least_squares`, `curve_fit`.

SciPy minimises with ferrograd's gradients. Invariant: constraints and robust losses have no such
equation, and are refused if a gradient is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ShapeError
from ferrograd.scipy._closed_over import floats, plain
from ferrograd.scipy._computed_by_scipy import library
from ferrograd.scipy.optimize._parameters import Problem
from ferrograd.transforms import grad, hessian, jacobian

#: Methods that take a gradient, and those that take a Hessian.
_BY_GRADIENT = {"CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "NEWTON-CG", "TRUST-NCG", "DOGLEG"}
_BY_GRADIENT |= {"TRUST-KRYLOV", "TRUST-EXACT", "TRUST-CONSTR"}
_BY_HESSIAN = {"NEWTON-CG", "TRUST-NCG", "DOGLEG", "TRUST-KRYLOV", "TRUST-EXACT"}


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
        fun = _first(pair)
    problem = Problem("minimize", fun, x0, args, least=1)

    def value(x: Any, flat: Any) -> Any:
        found = np.asarray(problem(np.reshape(x, problem.shape), flat))
        return np.reshape(found, ()) if np.ndim(found) else found

    def slope(x: Any, flat: Any) -> Any:
        return grad(lambda y: value(y, flat))(x)

    if problem.recorded and not _none(constraints):
        problem.refuse("constraints", "put them into fun, or use bounds")
    name = (method or "BFGS").upper()
    first, second = problem.given(jac), problem.given(hess)
    if jac is None and name in _BY_GRADIENT:
        first = problem.on_arrays(slope)
    if hess is None and hessp is None and name in _BY_HESSIAN:
        second = problem.on_arrays(lambda x, flat: hessian(lambda y: value(y, flat))(x))
    plain_value = problem.on_arrays(value)
    found = library("optimize.minimize")(
        (lambda x: float(plain_value(x))) if pair is None else problem.pair(pair),
        problem.start.ravel(),
        (),
        method,
        jac=first,
        hess=second,
        hessp=problem.given(hessp),
        bounds=bounds,
        constraints=constraints,
        tol=tol,
        callback=callback,
        options=options,
    )
    if problem.recorded:
        found.x = problem.solved(_held(slope, found.x, bounds), found.x)
        found.fun = value(found.x, problem.flat)
    found.x = np.reshape(found.x, problem.shape)
    return found


def _first(pair: Callable[..., Any]) -> Callable[..., Any]:
    """The value of a function that also returns its gradient."""
    return lambda x, *args: pair(x, *args)[0]


def _none(value: Any) -> bool:
    return value is None or (isinstance(value, tuple | list | dict) and not value)


def _held(slope: Callable[[Any, Any], Any], found: Any, bounds: Any) -> Callable[[Any, Any], Any]:
    """The equation of a minimum: the gradient is zero; variables on a bound are constant."""
    if bounds is None:
        return slope
    low, high = _limits(bounds, len(found))
    near = 1e-8 * (1.0 + abs(found))
    on = (found - low <= near) | (high - found <= near)

    def residual(x: Any, flat: Any) -> Any:
        return np.where(on, x - found, slope(x, flat))

    return residual


def _limits(bounds: Any, count: int) -> tuple[Any, Any]:
    """The lower and upper limits of the variables, from pairs or from SciPy's `Bounds`."""
    if hasattr(bounds, "lb"):
        low, high = bounds.lb, bounds.ub
    else:
        low = [-numpy.inf if pair[0] is None else plain(pair[0]) for pair in bounds]
        high = [numpy.inf if pair[1] is None else plain(pair[1]) for pair in bounds]
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
    problem = Problem("least_squares", fun, np.atleast_1d(plain(x0)), args)
    if problem.recorded and loss != "linear":
        problem.refuse(f"loss={loss!r}", "put the loss into minimize")

    def residuals(x: Any, flat: Any) -> Any:
        return np.atleast_1d(np.asarray(problem(x, flat)))

    def slope(x: Any, flat: Any) -> Any:
        return grad(lambda y: np.sum(residuals(y, flat) ** 2) / 2)(x)

    slopes = problem.given(jac)
    if jac is None:
        slopes = problem.on_arrays(lambda x, flat: jacobian(lambda y: residuals(y, flat))(x))
    found = library("optimize.least_squares")(
        problem.on_arrays(residuals),
        problem.start,
        slopes,
        bounds,
        method,
        loss=loss,
        **options,
    )
    if problem.recorded:
        pairs = bounds if hasattr(bounds, "lb") else _pairs(bounds, len(found.x))
        found.x = problem.solved(_held(slope, found.x, pairs), found.x)
        found.fun = residuals(found.x, problem.flat)
        found.cost = np.sum(found.fun**2) / 2
    return found


def _pairs(bounds: Any, count: int) -> list[tuple[Any, Any]]:
    low, high = (numpy.broadcast_to(plain(limit), count) for limit in bounds)
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
    widths = numpy.ones(()) if sigma is None else floats(sigma)

    def residuals(p: Any, x: Any, y: Any, s: Any) -> Any:
        return np.ravel((f(x, *[p[k] for k in range(np.shape(p)[0])]) - y) / s)

    data = (floats(xdata), floats(ydata), widths)
    found = least_squares(residuals, p0, bounds=bounds, args=data, **options)
    slopes = jacobian(lambda p: residuals(p, *data))(found.x)
    covariance = np.linalg.inv(slopes.T @ slopes)
    free = np.shape(slopes)[0] - np.shape(slopes)[1]
    if not absolute_sigma:
        covariance = covariance * (2 * found.cost / free if free > 0 else numpy.inf)
    return found.x, covariance
