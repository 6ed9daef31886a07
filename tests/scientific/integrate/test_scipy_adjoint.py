"""`solve_ivp` by the adjoint equation beside recorded steps, differences and an exact solution."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ferrograd as fg
import ferrograd.numpy as fnp
from ferrograd.scipy import integrate

TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def swing(t: Any, y: Any, length: Any, damping: Any) -> Any:
    return [y[1], -9.81 / length * fnp.sin(y[0]) - damping["rate"] * y[1] + 0.1 * t]


def states(y0: Any, end: Any, length: Any, rate: Any, **options: Any) -> Any:
    args = (length, {"rate": rate})
    return integrate.solve_ivp(swing, (0.1, end), y0, args=args, **TIGHT, **options).y


POINT = (np.array([0.3, -0.1]), 1.3, 1.1, 0.2)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "LSODA", "BDF"])
@pytest.mark.parametrize("times", [None, [0.4, 1.0], [0.1, 0.7, 1.3]])
def test_the_adjoint_has_the_gradient_of_recorded_steps(method: str, times: Any) -> None:
    def loss(*point: Any, **options: Any) -> Any:
        end = fg.tensor(1.3) if times is not None else point[1]
        found = states(point[0], end, *point[2:], t_eval=times, **options)
        return found[0, -1] ** 2 + 0.5 * found[1, -1] + (fnp.sum(found) if times else 0.0)

    mine = fg.grad(lambda *p: loss(*p, method=method, adjoint=True), argnums=(0, 1, 2, 3))(*POINT)
    steps = fg.grad(lambda *p: loss(*p, method="DOP853"), argnums=(0, 1, 2, 3))(*POINT)
    for a, b in zip(mine, steps, strict=True):
        assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_times_that_are_asked_for_move_the_states() -> None:
    def end(t: Any) -> Any:
        solved = integrate.solve_ivp(
            lambda t, y: -2.0 * y, (0.0, 2.0), [3.0], t_eval=t, adjoint=True, **TIGHT
        )
        assert solved.y.shape == (1, 2)
        return solved.y[0, 0] + 2 * solved.y[0, 1]

    t = np.array([0.5, 1.5])
    assert_allclose(fg.grad(end)(t), np.array([-6.0, -12.0]) * np.exp(-2 * t), rtol=1e-6)
    fg.check_grads(end, "rev", 2)(t)


def test_higher_derivatives_by_the_adjoint() -> None:
    def end(rate: Any) -> Any:
        solved = integrate.solve_ivp(
            lambda t, y, k: -k * y, (0.0, 1.0), [2.0], args=(rate,), adjoint=True, **TIGHT
        )
        return solved.y[0, -1]

    assert fg.grad(end)(1.0) == pytest.approx(-2 / np.e, rel=1e-7)
    assert fg.grad(fg.grad(end))(1.0) == pytest.approx(2 / np.e, rel=1e-6)


def test_the_memory_does_not_depend_on_the_number_of_steps() -> None:
    def nodes(max_step: float) -> int:
        rate = fg.tensor(1.0, requires_grad=True)
        before = fg.live_nodes()
        solved = integrate.solve_ivp(
            lambda t, y, k: -k * y,
            (0.0, 1.0),
            np.ones(100),
            t_eval=[1.0],
            args=(rate,),
            adjoint=True,
            max_step=max_step,
        )
        held = fg.live_nodes() - before
        solved.y.sum().backward()
        assert rate.grad is not None
        assert rate.grad.item() == pytest.approx(-100 / np.e, rel=1e-3)
        return held

    assert nodes(0.1) == nodes(0.001) < 40


def test_what_the_adjoint_refuses() -> None:
    k = fg.tensor(1.0, requires_grad=True)
    with pytest.raises(fg.errors.NotDifferentiableError, match="depends on a value"):
        integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], adjoint=True)
    plain = integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], adjoint=True)
    assert isinstance(plain.y, np.ndarray)
