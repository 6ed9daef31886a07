"""`scipy.integrate.odeint`: the solution of a differential equation, differentiable.

Owns: the adjoint equation. SciPy integrates, forward and backward. Never differentiates the steps
of the integrator: the derivative is that of the solution, as exact as `rtol` and `atol` say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import is_grad_enabled
from ferrograd.extend import defvjp_argnums, primitive
from ferrograd.hips.misc.flatten import flatten
from ferrograd.hips.tracer import getval
from ferrograd.scipy._closures import refuse_closure
from ferrograd.scipy._library import library
from ferrograd.transforms import make_vjp


@primitive
def _solve(y0: Any, t: Any, args: Any, func: Callable[..., Any], options: Any) -> Any:
    def slope(y: Any, time: Any, flat: Any) -> Any:
        return numpy.asarray(func(y, time, flat))

    return library("integrate.odeint")(slope, y0, t, (args,), **options)


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    *,
    tfirst: bool = False,
    **options: Any,
) -> Any:
    """The states at times `t` of the system `dy/dt = func(y, t, *args)` that starts at `y0`.

    With `tfirst`, `func` takes the time first. It returns a vector or a list, or a number where
    `y0` has one element.

    Differentiable to any order by `y0`, by `t` and by `args`, which may be floats, arrays and
    containers of them. Errors: `NotDifferentiableError` where `func` closes over a value that
    requires grad, which belongs into `args`. `options` are SciPy's.
    """
    args = args if isinstance(args, tuple) else (args,)
    flat, unflatten = flatten(args)

    def of_flat(y: Any, time: Any, values: Any) -> Any:
        given = (time, y) if tfirst else (y, time)
        slope = np.asarray(func(*given, *unflatten(values)))
        return slope if np.shape(slope) == np.shape(y) else np.reshape(slope, np.shape(y))

    y0, t = np.atleast_1d(np.asarray(y0)), np.asarray(t, dtype=float)
    if is_grad_enabled():
        refuse_closure("odeint", of_flat(getval(y0), getval(t[0]), getval(flat)))
    return _solve(y0, t, flat, of_flat, options)


def _adjoint(ans: Any, y0: Any, t: Any, args: Any, func: Any, options: Any) -> Callable[..., Any]:
    """The derivatives by the start, the times and the arguments, from those of the states."""
    size, count = np.shape(y0)[0], np.shape(args)[0]

    def backward(state: Any, time: Any, flat: Any) -> Any:
        """The state, its adjoint and the integrals over both, in reversed time."""
        y, weight = state[:size], state[size : 2 * size]
        pull, slope = make_vjp(func, (0, 2))(y, -time, flat)
        by_y, by_args = pull(weight)
        return np.concatenate([-slope, by_y, by_args])

    def pull(g: Any) -> tuple[Any, Any, Any]:
        steps = np.shape(ans)[0]
        weight, by_args = g[-1], np.zeros(count)
        slopes = [np.asarray(func(ans[k], t[k], args)) for k in range(steps)]
        by_times = [np.sum(slope * g[k]) for k, slope in enumerate(slopes)]
        for k in range(steps - 1, 0, -1):
            start = np.concatenate([ans[k], weight, by_args])
            times = np.stack([-t[k], -t[k - 1]])
            state = _solve(start, times, args, backward, options)[1]
            weight, by_args = state[size : 2 * size] + g[k - 1], state[2 * size :]
        # A later start moves every later state back along its own path; the first stays.
        by_times[0] = -np.sum(slopes[0] * (weight - g[0])) if steps > 1 else 0.0 * by_times[0]
        return weight, np.stack(by_times), by_args

    return pull


def _selected(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
    pull = _adjoint(ans, *args)

    def pulled(g: Any) -> Any:
        slopes = pull(g)
        return tuple(slopes[k] for k in argnums)

    return pulled


defvjp_argnums(_solve, _selected)
