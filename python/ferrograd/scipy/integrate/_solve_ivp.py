"""`scipy.integrate.solve_ivp`, differentiable through its steps.

Invariant: the recorded states are those of SciPy's method on SciPy's steps, and the gradient is
that of these states with fixed steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._tensor.checkpoint import run as checkpointed
from ferrograd._tensor.pytree import clone_leaves
from ferrograd.errors import ArgumentError, NotDifferentiableError
from ferrograd.hips.misc.flatten import flatten
from ferrograd.hips.tracer import getval, isbox
from ferrograd.scipy._conversions import as_floats, check_closure, to_array_function
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.integrate._adjoint_ivp import attach_adjoint
from ferrograd.scipy.integrate._events import (
    RecordedSolution,
    end_at_event,
    listed,
    refine_events,
    wrap_events,
)
from ferrograd.scipy.integrate._explicit import ExplicitRungeKutta
from ferrograd.scipy.integrate._radau import Radau


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    *,
    checkpoint: bool = False,
    adjoint: bool = False,
    **options: Any,
) -> Any:
    """The solution of `dy/dt = fun(t, y, *args)` from `y0` over `t_span`, as SciPy's result object.

    SciPy chooses the steps from the values of the arguments. The states on these steps are then
    computed with tensors; `result.y` has the shape `(n, points)`. It is differentiable to any order
    with respect to `y0`, `args`, `t_span`, `t_eval` and, for the explicit methods, everything that
    `fun` closes over. The gradient is that of the discrete solution ("discretise, then optimise"):
    it needs no backward integration and is exact on the steps.

    `t_events`, `y_events` and the end at a terminal event are differentiable by the implicit
    function theorem (to the third order). With `dense_output`, `result.sol(t)` is the recorded
    interpolant, also differentiable by `t`. With `adjoint`, each call of it is a separate node.

    Args:
        fun: takes a number and a vector and returns a vector or a list, or one number for all
            elements; written with `ferrograd.numpy`.
        method: "RK23", "RK45", "DOP853" or "Radau" if a gradient is needed; "Radau" for stiff
            systems: each step is an implicit function.
        checkpoint: keep the state of each step only, and compute its stages again in the backward
            pass.
        adjoint: integrate the adjoint equation backwards instead of recording steps ("optimise,
            then discretise"). Any SciPy method is allowed, and only the states at `t_eval` are
            kept. The derivative is that of the exact solution up to `rtol` and `atol`, whose
            defaults are coarse. It is wrong for equations that cannot be integrated backwards, such
            as stiff ones. `fun` must not close over tensors that require grad.
        options: SciPy's, `rtol`, `atol`, `max_step`, `first_step`, `jac`.

    Errors: `NotDifferentiableError` for other methods, and if `fun` of "Radau" closes over a value
    that requires grad.

    >>> from ferrograd.scipy import integrate
    >>> def end(rate):
    ...     solved = integrate.solve_ivp(
    ...         lambda t, y, rate: -rate * y, (0.0, 1.0), [2.0], args=(rate,), rtol=1e-9, atol=1e-12
    ...     )
    ...     return solved.y[0, -1]
    >>> round(fg.grad(end)(1.0), 6)  # -2 / e
    -0.735759
    """
    args = () if args is None else tuple(args)
    fun, t_eval = _wrap_rhs(fun), None if t_eval is None else as_floats(t_eval)
    state, times = _check_initial_state(y0), [t_span[0], t_span[1]]
    flat, unflatten = flatten(args)
    own = unflatten(getval(flat)) if isinstance(flat, Tensor) else args
    start, ends = getval(state), [float(getval(np.asarray(end))) for end in times]
    closes = is_grad_enabled() and isbox(np.asarray(fun(ends[0], start, *own)))
    recorded = closes or any(isinstance(v, Tensor) for v in (state, *times, flat, t_eval))
    if recorded:
        _check_method(method, adjoint)
    found = get_scipy_function("integrate.solve_ivp")(
        to_array_function(lambda t, y: fun(t, y, *own)),
        ends,
        start,
        method,
        getval(t_eval) if adjoint or not recorded else None,
        dense_output or (recorded and (events is not None or (method == "Radau" and not adjoint))),
        wrap_events(events, own),
        vectorized,
        **_wrap_jac(options, own),
    )
    if not recorded:
        return found
    if closes and (adjoint or method == "Radau"):
        check_closure("solve_ivp", np.asarray(fun(ends[0], start, *own)))
    if adjoint:
        at = _stack_times(numpy.asarray(found.t), times, t_eval)
        asked = (events, dense_output, args)
        solver = {**options, "method": method}
        return attach_adjoint(found, fun, (flat, unflatten), state, at, solver, asked)
    sol = _record_solution(found, fun, args, state, times, t_eval, method, checkpoint)
    if events is not None:
        refine_events(found, sol, events, args)
        end_at_event(found, listed(events))
    found.sol = sol if dense_output else None
    return found


def _wrap_rhs(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps the right-hand side so that it returns an array or tensor of the shape of the state."""

    def evaluate_rhs(t: Any, y: Any, *args: Any) -> Any:
        found = np.asarray(fun(t, y, *args))
        return found if np.ndim(found) else np.broadcast_to(found, np.shape(y))

    return evaluate_rhs


def _check_initial_state(y0: Any) -> Any:
    state = as_floats(y0)
    if np.ndim(state) != 1:
        raise ArgumentError(
            f"solve_ivp: y0 has shape {np.shape(state)}; give a vector, and reshape it inside fun"
        )
    return state


def _wrap_jac(options: dict[str, Any], args: tuple[Any, ...]) -> dict[str, Any]:
    jac = options.get("jac")
    return (
        {**options, "jac": to_array_function(lambda t, y: jac(t, y, *args))}
        if callable(jac)
        else options
    )


def _check_method(method: Any, adjoint: bool) -> None:
    if not adjoint and method not in ("RK23", "RK45", "DOP853", "Radau"):
        raise NotDifferentiableError(
            f"solve_ivp: method {method!r} has no recorded steps; use 'RK23', 'RK45', 'DOP853', or"
            " 'Radau' for stiff systems, or adjoint=True"
        )


def _stack_times(knots: Any, span: list[Any], t_eval: Any) -> Any:
    """The start and the requested times that were reached, or the times of the steps."""
    if t_eval is None:
        moving = _make_step_time(knots, span)
        return np.stack([np.asarray(moving(k)) for k in range(len(knots))])
    reached = t_eval[: len(knots)]
    if len(knots) and getval(reached)[0] == float(getval(np.asarray(span[0]))):
        return reached
    return np.concatenate([np.reshape(np.asarray(span[0]), (1,)), reached])


def _record_solution(
    found: Any,
    fun: Any,
    args: tuple[Any, ...],
    y: Any,
    span: list[Any],
    t_eval: Any,
    method: str,
    checkpoint: bool,
) -> Any:
    """Replaces SciPy's states by recorded ones; returns the interpolating solution.

    The last step may end after the time of a terminal event. Later computations, by a checkpoint or
    between the steps, use the values that the solver used.
    """
    args, y, span, t_eval = clone_leaves((args, y, span, t_eval))
    ended, knots = numpy.asarray(found.t), numpy.asarray(found.t)
    if found.sol is not None:
        last = found.sol.interpolants
        knots = numpy.array([step.t_old for step in last] + [last[-1].t])
    stepper: Any = (
        ExplicitRungeKutta(method, fun, args) if method != "Radau" else Radau(fun, args, found.sol)
    )
    run = checkpointed if checkpoint else lambda step, *values: step(*values)
    if t_eval is not None:
        t_eval = _select_reached_times(t_eval, ended, knots, span)
    places = _group_times_by_step(knots, t_eval)
    moving = _make_step_time(knots, span)
    slope = stepper.start(moving(0), y)
    states = [y] if t_eval is None else []
    starts, steps = [], []
    for k in range(len(knots) - 1):
        t, h = moving(k), moving(k + 1) - moving(k)
        inner = None if places is None else places[k]
        at = None if inner is None or not len(inner) else (t_eval[inner] - t) / h
        step = stepper.step(k, h)
        starts.append((t, y, slope))
        steps.append((step, h))
        y, slope, between = run(step, t, y, slope, h, at)
        if at is not None:
            states.extend(between)
        elif t_eval is None:
            states.append(y)
    found.t = ended if t_eval is None else t_eval
    found.y = np.stack(states, -1) if states else found.y[:, :0]
    return RecordedSolution(knots, starts, steps)


def _select_reached_times(t_eval: Any, ended: Any, knots: Any, span: list[Any]) -> Any:
    """The times before the terminal event."""
    if ended[-1] == knots[-1]:
        return t_eval
    sign = 1.0 if knots[-1] >= knots[0] else -1.0
    times = numpy.asarray(getval(t_eval), dtype=float)
    low, high = sorted(float(getval(np.asarray(end))) for end in span)
    _check_t_eval(times, low, high, sign)
    return t_eval[: int(numpy.searchsorted(sign * times, sign * ended[-1], side="right"))]


def _make_step_time(knots: Any, span: list[Any]) -> Callable[[int], Any]:
    """Makes a function of a step's number that gives its time, differentiable by the ends."""
    if not any(isinstance(end, Tensor) for end in span):
        return lambda k: float(knots[k])
    whole = float(getval(np.asarray(span[1]))) - knots[0]
    shares = (knots - knots[0]) / (whole if whole else 1.0)
    return lambda k: span[0] + (span[1] - span[0]) * float(shares[k])


def _check_t_eval(times: Any, low: float, high: float, sign: float) -> None:
    if times.ndim != 1 or numpy.any(numpy.diff(sign * times) <= 0):
        raise ArgumentError("solve_ivp: t_eval is no sorted vector; sort the times along t_span")
    if times.size and (times.min() < low or times.max() > high):
        raise ArgumentError(
            f"solve_ivp: t_eval reaches from {times.min()} to {times.max()}, t_span from {low} to"
            f" {high}; give times within t_span"
        )


def _group_times_by_step(knots: Any, t_eval: Any) -> list[Any] | None:
    """For each step, the indices of the times inside it, including its end."""
    if t_eval is None:
        return None
    times = numpy.asarray(getval(t_eval), dtype=float)
    sign = 1.0 if knots[-1] >= knots[0] else -1.0
    low, high = sorted((knots[0], knots[-1]))
    _check_t_eval(times, low, high, sign)
    owner = numpy.searchsorted(sign * knots[1:], sign * times, side="left")
    return [numpy.flatnonzero(owner == k) for k in range(len(knots) - 1)]
