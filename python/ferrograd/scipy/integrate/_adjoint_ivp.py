"""`solve_ivp` by the adjoint equation: its result with states that are one node.

The adjoint equation is in `_adjoint`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError
from ferrograd.hips.tracer import getval
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.integrate._adjoint import integrate_states
from ferrograd.scipy.integrate._events import AdjointSolution, end_at_event, listed, refine_events

#: Options that also apply to the adjoint equation, which has more unknowns and no Jacobian.
_BACKWARD_OPTIONS = ("rtol", "max_step")


def attach_adjoint(
    found: Any,
    fun: Any,
    args: tuple[Any, Any],
    y: Any,
    times: Any,
    options: dict[str, Any],
    asked: tuple[Any, bool, tuple[Any, ...]],
) -> Any:
    """Makes SciPy's result `found` differentiable at `times`; the first one is the start.

    `args` are the flat arguments of `fun` and their structure; `asked` are the events, the flag for
    the dense solution, and the arguments.
    """
    flat, unflatten = args
    known = found.y.T.copy()
    late = len(known) < np.shape(times)[0]
    if late:
        known = numpy.concatenate([getval(y)[None], known])

    def slope(state: Any, time: Any, values: Any) -> Any:
        return fun(time, state, *unflatten(values))

    solver = _make_solver(options)
    made = integrate_states(y, times, flat, slope, solver, known)
    found.y, found.t = (made[1:] if late else made).T, times[1:] if late else times
    events, dense, own = asked
    if found.sol is not None:
        inner, dense_sol = (
            found.sol,
            AdjointSolution(found.sol, lambda at: between(at), times[0], fun),
        )

        def between(at: Any) -> Any:
            return integrate_states(y, at, flat, slope, solver, inner(getval(at)).T)

        if events is not None:
            refine_events(found, dense_sol, events, own)
            end_at_event(found, listed(events))
        found.sol = dense_sol if dense else None
    return found


def _make_solver(options: dict[str, Any]) -> Callable[..., Any]:
    shared = {key: options[key] for key in _BACKWARD_OPTIONS if key in options}
    if "atol" in options:
        shared["atol"] = float(numpy.min(options["atol"]))

    def solve(slope: Callable[..., Any], y0: Any, t: Any) -> Any:
        solved = get_scipy_function("integrate.solve_ivp")(
            lambda time, y: slope(y, time),
            (t[0], t[-1]),
            y0,
            options["method"],
            t_eval=t,
            **shared,
        )
        if not solved.success:
            raise ArgumentError(
                f"solve_ivp: the adjoint equation could not be integrated: {solved.message}; record"
                " the steps, adjoint=False"
            )
        return solved.y.T

    return solve
