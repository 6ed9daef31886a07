"""Solutions of differential equations between their steps, and the times of events.

SciPy finds the events. Invariant: an event time has the derivatives of the implicit function
theorem up to the third order, since two recorded steps of Newton double the order twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import asarray
from ferrograd.scipy._conversions import as_floats, to_array_function, to_float_array
from ferrograd.transforms import make_vjp


class RecordedSolution:
    """The solution `sol(t)` of recorded steps: the interpolant of the method, from a step's start.

    Returns `(n,)` for a number and `(n, points)` for a vector. It is differentiable by everything
    that the steps depend on, and by `t`. The first and the last step extend beyond the ends.
    """

    def __init__(
        self, knots: Any, starts: Sequence[tuple[Any, Any, Any]], steps: Sequence[Any]
    ) -> None:
        self.ts = knots
        self.t_min, self.t_max = float(min(knots)), float(max(knots))
        self._starts, self._steps = starts, steps

    def __call__(self, t: Any) -> Any:
        """The states at times."""
        t = as_floats(t)
        places = np.reshape(t, (-1,))
        owner = self._find_steps(to_float_array(places))
        parts = [self._interpolate(k, places[owner == k]) for k in numpy.unique(owner)]
        order = numpy.argsort(numpy.argsort(owner, kind="stable"), kind="stable")
        found = np.stack([state for part in parts for state in part])[order].T
        return found if np.ndim(t) else found[:, 0]

    def _find_steps(self, times: Any) -> Any:
        sign = 1.0 if self.ts[-1] >= self.ts[0] else -1.0
        return numpy.searchsorted(sign * self.ts[1:-1], sign * times, side="left")

    def _interpolate(self, k: Any, times: Any) -> Any:
        (time, state, slope), (step, h) = self._starts[k], self._steps[k]
        return step(time, state, slope, h, (times - time) / h)[2]

    def evaluate_event(
        self, event: Callable[..., Any], t: Any, args: tuple[Any, ...]
    ) -> tuple[Any, Any]:
        """The event function at a time and its derivative along the solution."""
        pull, value = make_vjp(lambda time: event(time, self(time), *args))(t)
        return value, pull(np.ones_like(value))


class AdjointSolution:
    """The solution `sol(t)`, differentiated by the adjoint equation.

    `states(times)` are the states at sorted times; the first one is the start.
    """

    def __init__(self, found: Any, states: Callable[[Any], Any], start: Any, fun: Any) -> None:
        self._states, self._start, self._fun = states, start, fun
        self.ts, self.t_min, self.t_max = found.ts, found.t_min, found.t_max

    def __call__(self, t: Any) -> Any:
        """The states at times, `(n,)` for a number and `(n, points)` for a vector."""
        t = as_floats(t)
        places = np.reshape(t, (-1,))
        sign = 1.0 if self.ts[-1] >= self.ts[0] else -1.0
        order = numpy.argsort(sign * to_float_array(places), kind="stable")
        start = np.reshape(np.asarray(self._start, dtype=float), (1,))
        found = self._states(np.concatenate([start, places[order]]))[1:]
        found = found[numpy.argsort(order)].T
        return found if np.ndim(t) else found[:, 0]

    def evaluate_event(
        self, event: Callable[..., Any], t: Any, args: tuple[Any, ...]
    ) -> tuple[Any, Any]:
        """The event function at a time and its derivative along the solution."""
        y = self(t)
        pull, value = make_vjp(lambda time, state: event(time, state, *args), (0, 1))(t, y)
        by_time, by_state = pull(np.ones_like(value))
        return value, by_time + np.sum(by_state * self._fun(t, y, *args))


def listed(events: Any) -> list[Callable[..., Any]]:
    """The event functions of an argument that is one or several of them."""
    if events is None:
        return []
    return [events] if callable(events) else list(events)


def wrap_events(events: Any, args: tuple[Any, ...]) -> Any:
    """Converts event functions to functions of arrays with the attributes that SciPy reads."""
    made = []
    for event in listed(events):
        own = to_array_function(_bind_args(event, args))
        vars(own).update({k: v for k, v in vars(event).items() if k in ("terminal", "direction")})
        made.append(own)
    return made or None


def _bind_args(event: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    return lambda t, y: np.reshape(np.asarray(event(t, y, *args)), ())


def refine_events(found: Any, sol: Any, events: Any, args: tuple[Any, ...]) -> None:
    """Replaces the times and states of events in SciPy's result by differentiable ones."""
    count = np.shape(found.y)[0]
    times, states = [], []
    for event, roots in zip(listed(events), found.t_events, strict=True):
        exact = [_refine_root(sol, _make_scalar_event(event), float(root), args) for root in roots]
        times.append(np.stack(exact) if exact else numpy.zeros(0))
        states.append(np.stack([sol(time) for time in exact]) if exact else numpy.zeros((0, count)))
    found.t_events, found.y_events = times, states


def _make_scalar_event(event: Callable[..., Any]) -> Callable[..., Any]:
    return lambda t, y, *args: np.reshape(np.asarray(event(t, y, *args)), ())


def _refine_root(sol: Any, event: Callable[..., Any], root: float, args: tuple[Any, ...]) -> Any:
    # A tensor: of a number the transform would give an array, without the history of the states.
    time: Any = asarray(root)
    for _ in range(2):
        value, rate = sol.evaluate_event(event, time, args)
        time = time - value / rate
    return time


def end_at_event(found: Any, events: list[Any]) -> None:
    """Replaces the last point of the solution by the terminal event, if there is one."""
    ends = [k for k, e in enumerate(events) if getattr(e, "terminal", False)]
    if found.status != 1 or not np.shape(found.t)[0]:
        return
    k = min(ends, key=lambda k: _distance_from_end(found, k))
    if _distance_from_end(found, k) > 1e-9 * (1.0 + abs(float(to_float_array(found.t)[-1]))):
        return
    found.t = np.concatenate([found.t[:-1], found.t_events[k][-1:]])
    found.y = np.concatenate([found.y[:, :-1], found.y_events[k][-1][:, None]], -1)


def _distance_from_end(found: Any, k: int) -> float:
    """The distance of the last event of function `k` from the end of the solution."""
    times = to_float_array(found.t_events[k])
    return abs(float(times[-1] - to_float_array(found.t)[-1])) if times.size else numpy.inf
