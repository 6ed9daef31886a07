"""`ferrograd.scipy.integrate` beside SciPy: samples, quadrature, initial value problems."""

import functools
from typing import Any

import numpy as np
import pytest
import scipy.integrate as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
import ferrograd.numpy as fnp
from ferrograd.scipy import integrate as ours
from scipy_support import agree

RANDOM = np.random.default_rng(5)
Y = RANDOM.normal(size=(3, 6))
X = np.cumsum(RANDOM.uniform(0.2, 0.8, size=6))


@pytest.mark.parametrize("name", ["trapezoid", "simpson", "cumulative_trapezoid"])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_samples(name: str, count: int) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    y, x = Y[:, :count], X[:count]
    agree(lambda y, x: mine(y, x=x), lambda y, x: other(y, x=x), y, x)
    agree(lambda y: mine(y, dx=0.3), lambda y: other(y, dx=0.3), y)
    columns = np.cumsum(abs(y.T) + 0.1, 0)
    agree(lambda y, x: mine(y, x=x, axis=0), lambda y, x: other(y, x=x, axis=0), y.T, columns)


def test_samples_at_one_place_and_a_sample_alone() -> None:
    x = np.array([0.0, 1.0, 1.0, 2.0])
    assert ours.simpson(Y[0, :4], x) == pytest.approx(theirs.simpson(Y[0, :4], x=x))
    assert np.all(np.isfinite(fg.grad(lambda x: ours.simpson(Y[0, :4], x))(x)))
    assert_allclose(ours.simpson(Y[:, :1]), np.zeros(3))
    assert ours.cumulative_trapezoid(Y[0], initial=0)[0] == 0
    assert ours.simpson([1, 2, 3]) == 4


def test_samples_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="initial is 3"):
        ours.cumulative_trapezoid(Y, initial=3)
    with pytest.raises(ValueError, match="as many samples"):
        ours.simpson(Y, X[:4])
    with pytest.raises(ValueError, match="at least one sample"):
        ours.simpson(Y[:, :0])


def bump(x: Any, k: Any, c: Any) -> Any:
    return fnp.exp(-k[0] * x * x) * fnp.cos(c["turn"] * x + k[1])


@pytest.mark.parametrize("options", [{}, {"epsabs": 1e-12, "limit": 80}, {"points": [0.5]}])
def test_quad(options: Any) -> None:
    def mine(a: Any, b: Any, k: Any, c: Any) -> Any:
        return ours.quad(bump, a, b, (k, {"turn": c}), **options)[0]

    def other(a: Any, b: Any, k: Any, c: Any) -> Any:
        return theirs.quad(bump, a, b, (k, {"turn": c}), **options)[0]

    agree(mine, other, 0.2, 1.3, np.array([0.7, 0.2]), 1.1, singles=False)


def test_quad_over_the_whole_line() -> None:
    def area(k: Any) -> Any:
        return ours.quad(lambda x, k: fnp.exp(-k * x * x), -np.inf, np.inf, (k,))[0]

    for order, expected in (
        (1, -np.sqrt(np.pi) / 2 * 2**-1.5),
        (2, 0.75 * np.sqrt(np.pi) * 2**-2.5),
    ):
        derived = functools.reduce(lambda f, _: fg.grad(f), range(order), area)
        assert derived(2.0) == pytest.approx(expected, rel=1e-7)
    assert fg.grad(lambda b: ours.quad(lambda x: np.exp(-x * x), -np.inf, b)[0])(0.0) == 1


def test_quad_refuses_what_it_would_lose() -> None:
    with pytest.raises(NotImplementedError, match="pass it in args"):
        fg.grad(lambda k: ours.quad(lambda x: k * x, 0.0, 1.0)[0])(2.0)
    with pytest.raises(NotImplementedError, match="weight='cos' has no derivative"):
        fg.grad(lambda k: ours.quad(lambda x, k: k * x, 0.0, 1.0, (k,), weight="cos", wvar=1)[0])(
            2.0
        )
    assert ours.quad(lambda x: x, 0.0, 1.0, weight="cos", wvar=1)[0] == pytest.approx(
        np.cos(1) + np.sin(1) - 1
    )


def test_fixed_quad() -> None:
    def of(home: Any) -> Any:
        return lambda a, b, k: home.fixed_quad(lambda x: fnp.sin(k * x), a, b, n=6)[0]

    agree(of(ours), of(theirs), np.array(0.2), np.array(1.3), np.array(2.0), singles=False)
    with pytest.raises(ValueError, match="finite"):
        ours.fixed_quad(np.exp, -np.inf, 0.0)


def pendulum(t: Any, y: Any, p: Any) -> Any:
    return [y[1], -p[0] * fnp.sin(y[0]) - p[1] * y[1] * t]


START, P, SPAN = np.array([1.0, 0.2]), np.array([2.0, 0.3]), (0.0, 2.0)
TIMES = np.array([0.0, 0.3, 0.9, 1.0, 2.0])
TIGHT = {"RK23": 1e-6, "RK45": 1e-8, "DOP853": 1e-9, "Radau": 1e-8}


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize("t_eval", [None, TIMES])
@pytest.mark.parametrize("method", TIGHT)
def test_solve_ivp(method: str, t_eval: Any, checkpoint: bool) -> None:
    tight = {"rtol": TIGHT[method], "atol": TIGHT[method]}
    expected = theirs.solve_ivp(pendulum, SPAN, START, method, t_eval, args=(P,), **tight)
    start, p = fg.tensor(START, requires_grad=True), fg.tensor(P, requires_grad=True)

    def solved(start: Any, p: Any) -> Any:
        return ours.solve_ivp(
            pendulum, SPAN, start, method, t_eval, args=(p,), checkpoint=checkpoint, **tight
        )

    found = solved(start, p)
    assert_allclose(found.t, expected.t)
    assert_allclose(found.y.detach().numpy(), expected.y, rtol=1e-10, atol=1e-10)
    assert found.success
    assert 0 < found.nfev <= expected.nfev
    last = 1 if method == "Radau" and checkpoint else 2
    fg.check_grads(lambda s, p: solved(s, p).y[:, -1], order=last, rtol=1e-3, atol=1e-4)(START, P)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau"])
def test_times_of_an_initial_value_problem(method: str) -> None:
    def states(begin: Any, end: Any, times: Any) -> Any:
        return ours.solve_ivp(
            pendulum, (begin, end), START, method, times, args=(P,), rtol=1e-9, atol=1e-9
        ).y

    fg.check_grads(states, order=1, rtol=1e-3, atol=1e-4)(0.1, 1.9, TIMES[1:4])
    options = {"method": method, "t_eval": TIMES[::-1], "args": (P,), "rtol": 1e-8, "atol": 1e-8}
    backwards = ours.solve_ivp(pendulum, (2, 0), fg.tensor(START), **options)
    expected = theirs.solve_ivp(pendulum, (2, 0), START, **options)
    assert_allclose(backwards.y.numpy(), expected.y, atol=1e-9)


def test_arrays_give_the_object_of_scipy() -> None:
    found = ours.solve_ivp(pendulum, SPAN, START, "BDF", args=(P,), dense_output=True)
    assert not isinstance(found.y, fg.Tensor)
    assert found.sol is not None


def test_a_stiff_system() -> None:
    def end(k: Any) -> Any:
        found = ours.solve_ivp(
            lambda t, y, k: [-k * (y[0] - fnp.cos(t)), y[0] - y[1]],
            (0.0, 3.0),
            [0.0, 0.0],
            "Radau",
            args=(k,),
            rtol=1e-8,
            atol=1e-10,
        )
        return found.y[:, -1]

    fg.check_grads(lambda k: end(1e4 * k), order=1, rtol=1e-3, atol=1e-6)(1.0)


def test_what_the_right_hand_side_closes_over() -> None:
    def end(rate: Any, method: str) -> Any:
        return ours.solve_ivp(lambda t, y: -rate * y, (0.0, 1.0), [2.0], method, rtol=1e-8).y[0, -1]

    assert fg.grad(end)(1.0, "RK45") == pytest.approx(-2 / np.e, rel=1e-4)
    with pytest.raises(NotImplementedError, match="pass it in args"):
        fg.grad(end)(1.0, "Radau")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "BDF"}, "method 'BDF' has no recorded steps"),
        ({"method": "LSODA", "dense_output": True}, "method 'LSODA' has no recorded steps"),
    ],
)
def test_what_has_no_derivative_says_so(options: Any, words: str) -> None:
    with pytest.raises(NotImplementedError, match=words):
        ours.solve_ivp(lambda t, y: -y, SPAN, fg.tensor(START), **options)


def test_wrong_arguments_of_an_initial_value_problem() -> None:
    with pytest.raises(ValueError, match="y0 has shape"):
        ours.solve_ivp(lambda t, y: -y, SPAN, fg.ones(2, 2))
    with pytest.raises(ValueError, match="no sorted vector"):
        ours.solve_ivp(lambda t, y: -y, SPAN, fg.ones(2), t_eval=[1.0, 0.5])
    with pytest.raises(ValueError, match="give times within"):
        ours.solve_ivp(lambda t, y: -y, SPAN, fg.ones(2), t_eval=[1.0, 2.5])


def test_right_hand_sides_of_other_shapes() -> None:
    times = np.linspace(0.0, 1.0, 3)
    options = {"rtol": 1e-10, "atol": 1e-12}

    def ends(k: Any) -> list[Any]:
        more: dict[str, Any] = {"t_eval": [0.0, 0.5, 1.0], "args": (k,), **options}
        return [
            ours.odeint(lambda y, t, k: [-k * y[0]], [1.0], times, (k,), **options)[-1, 0],
            ours.odeint(lambda y, t, k: -k * y[0], [1.0], times, (k,), **options)[-1, 0],
            ours.odeint(lambda y, t, k: -k * y, 1.0, times, (k,), **options)[-1, 0],
            ours.odeint(lambda t, y, k: -k * y, 1.0, times, (k,), tfirst=True, **options)[-1, 0],
            ours.solve_ivp(lambda t, y, k: -k * y[0], (0, 1), [1.0], **more).y[0, -1],
            ours.solve_ivp(lambda t, y, k: [-k * y[0]], (0, 1), [1.0], "Radau", **more).y[0, -1],
            ours.solve_ivp(lambda t, y, k: -k * y[0], (0, 1), [1.0], "Radau", **more).y[0, -1],
        ]

    assert_allclose(ends(2.0), np.exp(-2.0), rtol=1e-7)
    for i in range(7):
        assert fg.grad(lambda k, i=i: ends(k)[i])(2.0) == pytest.approx(-np.exp(-2.0), rel=1e-6)


def test_quadrature_of_complex_functions() -> None:
    def mine(a: Any, b: Any, k: Any) -> Any:
        return ours.quad(lambda x, k: fnp.exp(1j * k * x), a, b, args=(k,), complex_func=True)

    ends = (0.2, 2.0, 1.3)
    wave = lambda x, k: np.exp(1j * k * x)  # noqa: E731
    wanted = theirs.quad(wave, 0.2, 2.0, args=(1.3,), complex_func=True, full_output=1)
    assert mine(*ends) == pytest.approx(wanted[:2])
    assert fg.gradcheck(
        lambda *p: mine(*p)[0], tuple(fg.tensor(p, requires_grad=True) for p in ends)
    )
    full = ours.quad(wave, 0.2, 2.0, args=(1.3,), complex_func=True, full_output=1)
    assert sorted(full[2]) == sorted(wanted[2])
