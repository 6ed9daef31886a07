"""Events and dense solutions of `ferrograd.scipy.integrate.solve_ivp`."""

from typing import Any

import numpy as np
import pytest
import scipy.integrate as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
import ferrograd.numpy as fnp
from ferrograd.scipy import integrate as ours

OPTIONS = {"rtol": 1e-9, "atol": 1e-11}
START = np.array([1.0, 8.0, 9.81, 0.1])
METHODS = [("RK45", False), ("DOP853", False), ("Radau", False), ("RK45", True)]


def fall(t: Any, y: Any, gravity: Any, drag: Any) -> Any:
    return [y[1], -gravity - drag * y[1]]


def hit(t: Any, y: Any, gravity: Any, drag: Any) -> Any:
    return y[0]


def apex(t: Any, y: Any, gravity: Any, drag: Any) -> Any:
    return y[1]


hit.terminal = True  # type: ignore[attr-defined]
hit.direction = -1  # type: ignore[attr-defined]


def parts(solved: Any, home: Any) -> Any:
    """All that moves: events, the last point, states between."""
    return home.concatenate(
        [
            *(home.ravel(times) for times in solved.t_events),
            *(home.ravel(states) for states in solved.y_events),
            home.ravel(solved.y[:, -1]),
            home.ravel(home.asarray(solved.t)[-1:]),
            home.ravel(solved.sol(np.array([0.7, 0.2]))),
            solved.sol(0.3),
        ]
    )


def plain(p: Any, method: str, times: Any) -> Any:
    options: Any = {"dense_output": True, "events": [hit, apex], "t_eval": times, **OPTIONS}
    solved = theirs.solve_ivp(fall, (0.0, 9.0), p[:2], method, args=(p[2], p[3]), **options)
    return parts(solved, np)


@pytest.mark.parametrize(("method", "adjoint"), METHODS)
@pytest.mark.parametrize("times", [None, np.array([0.1, 0.5, 1.5, 3.0])])
def test_events_and_dense_solutions(method: str, adjoint: bool, times: Any) -> None:
    def moved(p: Any) -> Any:
        options: Any = {"dense_output": True, "events": [hit, apex], "t_eval": times, **OPTIONS}
        given = {"args": (p[2], p[3]), "adjoint": adjoint}
        return parts(ours.solve_ivp(fall, (0.0, 9.0), p[:2], method, **given, **options), fnp)

    start = fg.tensor(START, requires_grad=True)
    # Newton moves an event by the rounding of SciPy's root; Radau's stages are solved further.
    assert_allclose(moved(start).detach().numpy(), plain(START, method, times), atol=1e-8)
    assert_allclose(moved(START), plain(START, method, times), rtol=1e-13)
    slopes = fg.jacobian(moved)(START)
    for k, step in enumerate(1e-4 * np.eye(4)):
        change = plain(START + step, method, times) - plain(START - step, method, times)
        assert_allclose(slopes[:, k], change / 2e-4, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("adjoint", [False, True])
def test_the_second_derivative_of_an_event_time(adjoint: bool) -> None:
    def landing(speed: Any) -> Any:
        start = fnp.stack([1.0 + 0.0 * speed, speed])
        solved = ours.solve_ivp(
            lambda t, y, g: [y[1], -g + 0.0 * y[0]],
            (0.0, 9.0),
            start,
            events=lambda t, y, g: y[0],
            args=(9.81,),
            adjoint=adjoint,
            **OPTIONS,
        )
        return solved.t_events[0][0]

    # (v + sqrt(v² + 2 g h)) / g
    root = (64 + 2 * 9.81) ** 0.5
    assert fg.grad(landing)(8.0) == pytest.approx((1 + 8 / root) / 9.81, rel=1e-7)
    second = 2 * 9.81 / root**3 / 9.81
    assert fg.grad(fg.grad(landing))(8.0) == pytest.approx(second, rel=1e-6)


def test_the_dense_solution_by_its_time_and_by_values_closed_over() -> None:
    def at(time: Any, rate: Any) -> Any:
        solved = ours.solve_ivp(
            lambda t, y: -rate * y, (0.0, 2.0), [1.0], dense_output=True, **OPTIONS
        )
        return solved.sol(time)[0]

    slopes = fg.grad(at, (0, 1))(0.7, 1.3)
    assert_allclose(slopes, [-1.3 * np.exp(-0.91), -0.7 * np.exp(-0.91)], rtol=1e-6)


def test_no_event_happens() -> None:
    start = fg.tensor([1.0], requires_grad=True)
    solved = ours.solve_ivp(
        lambda t, y: -y, (0.0, 1.0), start, events=lambda t, y: y[0] + 1.0, **OPTIONS
    )
    assert solved.t_events[0].shape == (0,)
    assert solved.y_events[0].shape == (0, 1)
    assert solved.sol is None
    assert solved.y.requires_grad
    assert solved.t[-1] == 1.0


def test_the_end_of_the_span_moves_with_events() -> None:
    def last(end: Any) -> Any:
        solved = ours.solve_ivp(
            lambda t, y: -y, (0.0, end), [1.0], events=lambda t, y: y[0] - 0.5, **OPTIONS
        )
        return solved.y[0, -1]

    assert fg.grad(last)(2.0) == pytest.approx(-np.exp(-2.0), rel=1e-7)


def test_integration_backwards_to_an_event() -> None:
    def level(t: Any, y: Any, k: Any) -> Any:
        return y[0] - 2.0

    level.terminal = True  # type: ignore[attr-defined]

    def time(k: Any) -> Any:
        solved = ours.solve_ivp(
            lambda t, y, k: -k * y, (0.0, -3.0), [1.0], events=level, args=(k,), **OPTIONS
        )
        return solved.t[-1]

    assert fg.grad(time)(1.5) == pytest.approx(np.log(2.0) / 1.5**2, rel=1e-6)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_events_move_in_backward_passes_of_tensors(method: str) -> None:
    given = [fg.tensor(v, requires_grad=True) for v in START]
    solved = ours.solve_ivp(
        fall, (0.0, 9.0), given[:2], method, args=tuple(given[2:]), events=[hit, apex], **OPTIONS
    )
    assert all(times.requires_grad for times in solved.t_events)
    weights = np.array([0.3, 1.7])
    loss = solved.t_events[0][0] + solved.t_events[1][0] + (solved.y_events[0][0] * weights).sum()
    slopes = fg.autograd.grad(loss, given)

    def moved(p: Any) -> Any:
        found = theirs.solve_ivp(
            fall, (0.0, 9.0), p[:2], method, args=(p[2], p[3]), events=[hit, apex], **OPTIONS
        )
        ends = found.t_events[0][0] + found.t_events[1][0]
        return ends + (found.y_events[0][0] * weights).sum()

    for slope, step in zip(slopes, 1e-4 * np.eye(4), strict=True):
        change = moved(START + step) - moved(START - step)
        assert_allclose(slope.item(), change / 2e-4, rtol=1e-4, atol=1e-4)
