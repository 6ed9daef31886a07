"""`scipy.integrate.odeint`: the solution of a differential equation, differentiable.

Owns: the adjoint equation. SciPy integrates, forward and backward. Never differentiates the steps
of the integrator: the derivative is that of the solution, as exact as `rtol` and `atol` say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.extend import defvjp, primitive
from ferrograd.scipy._library import library
from ferrograd.transforms import make_vjp


@primitive
def _solve(y0: Any, t: Any, args: Any, func: Callable[..., Any], options: Any) -> Any:
    def slope(y: Any, time: Any, flat: Any) -> Any:
        return numpy.asarray(func(y, time, flat))

    return library("integrate.odeint")(slope, y0, t, (args,), **options)


def odeint(func: Callable[..., Any], y0: Any, t: Any, args: Any = (), **options: Any) -> Any:
    """The states at times `t` of the system `dy/dt = func(y, t, *args)` that starts at `y0`.

    Differentiable by `y0`, by `t` and by each float or array in `args`; not by what `func` closes
    over. `options` are SciPy's.
    """
    args = args if isinstance(args, tuple) else (args,)
    shapes = [np.shape(a) for a in args]
    flat = np.concatenate([np.zeros(0), *(np.ravel(a) for a in args)])

    def of_flat(y: Any, time: Any, values: Any) -> Any:
        parts, start = [], 0
        for shape in shapes:
            size = int(numpy.prod(shape, dtype=int))
            parts.append(np.reshape(values[start : start + size], shape))
            start += size
        return func(y, time, *parts)

    return _solve(np.asarray(y0), np.asarray(t, dtype=float), flat, of_flat, options)


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


defvjp(
    _solve,
    lambda ans, *given: lambda g: _adjoint(ans, *given)(g)[0],
    lambda ans, *given: lambda g: _adjoint(ans, *given)(g)[1],
    lambda ans, *given: lambda g: _adjoint(ans, *given)(g)[2],
)
