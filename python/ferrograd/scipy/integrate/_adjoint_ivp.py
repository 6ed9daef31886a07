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
from ferrograd.scipy._computed_by_scipy import library
from ferrograd.scipy.integrate._adjoint import states
from ferrograd.scipy.integrate._events import Continued, end_at_event, listed, located

#: Options that also apply to the adjoint equation, which has more unknowns and no Jacobian.
_SHARED = ("rtol", "max_step")


def continuous(
    found: Any,
    fun: Any,
    args: tuple[Any, Any],
    y: Any,
    times: Any,
    options: dict[str, Any],
    asked: tuple[Any, bool, tuple[Any, ...]],
) -> Any:
    """SciPy's result `found` at `times`; the first one is the start.

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

    solver = _solver(options)
    made = states(y, times, flat, slope, solver, known)
    found.y, found.t = (made[1:] if late else made).T, times[1:] if late else times
    events, dense, own = asked
    if found.sol is not None:
        inner, dense_sol = found.sol, Continued(found.sol, lambda at: between(at), times[0], fun)

        def between(at: Any) -> Any:
            return states(y, at, flat, slope, solver, inner(getval(at)).T)

        if events is not None:
            located(found, dense_sol, events, own)
            end_at_event(found, listed(events))
        found.sol = dense_sol if dense else None
    return found


def _solver(options: dict[str, Any]) -> Callable[..., Any]:
    shared = {key: options[key] for key in _SHARED if key in options}
    if "atol" in options:
        shared["atol"] = float(numpy.min(options["atol"]))

    def solver(slope: Callable[..., Any], y0: Any, t: Any) -> Any:
        solved = library("integrate.solve_ivp")(
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

    return solver
