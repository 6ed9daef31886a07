"""The states of a differential equation as one node with the adjoint equation as its rule.

The caller's integrator solves both equations. Invariant: the memory is that of the states and does
not depend on the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.extend import defvjp_argnums, primitive
from ferrograd.transforms import make_vjp


@primitive
def integrate_states(
    y0: Any, t: Any, flat: Any, func: Callable[..., Any], solver: Any, known: Any = None
) -> Any:
    """The states at times `t`, of shape `(times, n)`, of `dy/dt = func(y, t, flat)` from `y0`.

    `solver(slope, y0, t)` integrates `slope(y, time)` of arrays; `known` are states it has found.
    """
    if known is not None:
        return known
    return solver(lambda y, time: numpy.asarray(func(y, time, flat)), y0, t)


def _states_vjp(ans: Any, y0: Any, t: Any, flat: Any, func: Any, solver: Any) -> Callable[..., Any]:
    """The rule for the initial state, the times and the arguments, by the adjoint equation."""
    size, count = np.shape(y0)[0], np.shape(flat)[0]

    def backward(state: Any, time: Any, values: Any) -> Any:
        """The state, its adjoint and the integrals over both, in reversed time."""
        y, weight = state[:size], state[size : 2 * size]
        pull, slope = make_vjp(func, (0, 2))(y, -time, values)
        by_y, by_args = pull(weight)
        return np.concatenate([-slope, by_y, by_args])

    def pull(g: Any) -> tuple[Any, Any, Any]:
        steps = np.shape(ans)[0]
        weight, by_args = g[-1], np.zeros(count)
        slopes = [np.asarray(func(ans[k], t[k], flat)) for k in range(steps)]
        by_times = [np.sum(slope * g[k]) for k, slope in enumerate(slopes)]
        for k in range(steps - 1, 0, -1):
            start = np.concatenate([ans[k], weight, by_args])
            times = np.stack([-t[k], -t[k - 1]])
            state = integrate_states(start, times, flat, backward, solver)[1]
            weight, by_args = state[size : 2 * size] + g[k - 1], state[2 * size :]
        # A later start moves every later state back along its path; the first state is constant.
        by_times[0] = -np.sum(slopes[0] * (weight - g[0])) if steps > 1 else 0.0 * by_times[0]
        return weight, np.stack(by_times), by_args

    return pull


def _select_vjp(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
    pull = _states_vjp(ans, *args[:5])

    def pull_selected(g: Any) -> Any:
        slopes = pull(g)
        return tuple(slopes[k] for k in argnums)

    return pull_selected


defvjp_argnums(integrate_states, _select_vjp)
