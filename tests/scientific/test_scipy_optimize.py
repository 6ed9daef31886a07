"""`ferrograd.scipy.optimize`: roots and minima as functions of their parameters."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.optimize as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
import ferrograd.numpy as fnp
from ferrograd.scipy import optimize as ours

P = np.array([2.0, 0.7])


def system(x: Any, p: Any, c: float = 1.0) -> Any:
    return fnp.stack([x[0] ** 2 + c * x[1] - p[0], fnp.sin(x[0]) - p[1] * x[1]])


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov", "broyden1"])
def test_roots(method: str) -> None:
    start = np.array([1.0, 1.0])
    options = {"tol": 1e-12} if method in ("hybr", "lm") else {"tol": 1e-10}

    def found(p: Any) -> Any:
        return ours.root(system, start, (p, 0.5), method, **options).x

    same = theirs.root(lambda x: np.asarray(system(x, P, 0.5)), start, tol=1e-12).x
    assert_allclose(found(P), same, rtol=1e-7)
    assert not isinstance(found(P), fg.Tensor)
    fg.check_grads(found, order=2 if method == "hybr" else 1, rtol=1e-3, atol=1e-5)(P)


def test_the_shape_of_a_root_and_a_jacobian_of_ones_own() -> None:
    def found(p: Any, jac: Any = None) -> Any:
        return ours.root(lambda x, p: x**3 - p * np.eye(2) - 1.0, np.ones((2, 2)), (p,), jac=jac).x

    assert found(7.0).shape == (2, 2)
    fg.check_grads(found, order=2, rtol=1e-3, atol=1e-5)(7.0)
    diagonal = lambda x, p: np.diag(3 * x.ravel() ** 2)  # noqa: E731
    flat = lambda x, p: x**3 - p  # noqa: E731
    slope = fg.grad(lambda p: ours.root(flat, [1.0, 1.0], (p,), jac=diagonal).x[0])
    assert slope(8.0) == pytest.approx(1 / 12)


def test_fsolve() -> None:
    slope = fg.grad(lambda p: ours.fsolve(lambda x, p: x**2 - p, 1.0, (p,), xtol=1e-13)[0])
    assert slope(4.0) == pytest.approx(0.25)
    assert fg.grad(slope)(4.0) == pytest.approx(-1 / 32)


@pytest.mark.parametrize(
    "options",
    [
        {"bracket": (0.0, 3.0)},
        {"bracket": (0.0, 3.0), "method": "bisect", "xtol": 1e-13},
        {"x0": 1.0, "x1": 1.5},
        {"x0": 1.0, "method": "newton", "fprime": lambda x, p: np.exp(x) + 1},
    ],
)
def test_roots_of_one_number(options: Any) -> None:
    def found(p: Any) -> Any:
        return ours.root_scalar(lambda x, p: fnp.exp(x) + x - p, args=(p,), **options).root

    fg.check_grads(found, order=2, rtol=1e-3, atol=1e-5)(3.0)
    assert isinstance(found(3.0), float)


def test_short_names_of_roots_of_one_number() -> None:
    def f(x: Any, p: Any) -> Any:
        return x**3 - p

    for name in ("brentq", "brenth", "bisect", "ridder"):
        between = getattr(ours, name)
        assert between(f, 0.0, 5.0, (8.0,)) == getattr(theirs, name)(f, 0.0, 5.0, (8.0,))
        assert fg.grad(lambda p, g=between: g(f, 0.0, 5.0, (p,)))(8.0) == pytest.approx(1 / 12)
        whole = fg.grad(lambda p, g=between: g(f, 0.0, 5.0, (p,), full_output=True)[1].root)
        assert whole(8.0) == pytest.approx(1 / 12)
        with pytest.raises(ValueError, match="different signs"):
            between(f, 3.0, 5.0, (8.0,))
    assert fg.grad(lambda p: ours.newton(f, 1.0, args=(p,)))(8.0) == pytest.approx(1 / 12)
    with_slope = fg.grad(lambda p: ours.newton(f, 1.0, lambda x, p: 3 * x**2, (p,)))
    assert with_slope(8.0) == pytest.approx(1 / 12)


def valley(x: Any, p: Any, q: Any) -> Any:
    return (x[0] - p[0]) ** 2 + q["steep"] * (x[1] - x[0] ** 2) ** 2 + p[1] * fnp.cos(x[1])


@pytest.mark.parametrize(
    "method", [None, "BFGS", "Newton-CG", "trust-exact", "L-BFGS-B", "CG", "SLSQP", "Nelder-Mead"]
)
def test_minima(method: Any) -> None:
    tol = 1e-14 if method == "L-BFGS-B" else 1e-12 if method == "Nelder-Mead" else 1e-9
    q = {"steep": 3.0}

    def found(p: Any) -> Any:
        return ours.minimize(valley, np.array([0.5, 0.5]), (p, q), method, tol=tol).x

    same = theirs.minimize(valley, [0.5, 0.5], (P, q), "BFGS", tol=1e-10).x
    assert_allclose(found(P), same, rtol=2e-5)
    analytic = fg.jacobian(found)(P)
    exact = lambda p: ours.minimize(valley, same, (p, q), "trust-exact", tol=1e-11).x  # noqa: E731
    step = 1e-5 * np.eye(2)
    numeric = np.stack([(exact(P + s) - exact(P - s)) / 2e-5 for s in step], 1)
    assert_allclose(analytic, numeric, rtol=1e-3, atol=1e-5)


def test_second_derivatives_and_values_of_minima() -> None:
    def lowest(p: Any, q: Any) -> Any:
        start = np.array([0.5, 0.5])
        found = ours.minimize(valley, start, (p, {"steep": q}), "trust-exact", tol=1e-12)
        return fnp.sum(found.x**2) + found.fun

    fg.check_grads(lowest, order=2, rtol=1e-3, atol=1e-4)(P, 3.0)


@pytest.mark.parametrize("bounds", [[(None, 0.4), (0, None)], theirs.Bounds([-9, 0], [0.4, 9])])
def test_a_variable_on_a_bound_stays(bounds: Any) -> None:
    def found(p: Any) -> Any:
        return ours.minimize(
            lambda x, p: ((x - p) ** 2).sum() + x[0] * x[1],
            [0.1, 0.1],
            (p,),
            bounds=bounds,
            tol=1e-12,
        ).x

    assert_allclose(fg.jacobian(found)(P), [[0.0, 0.0], [0.0, 1.0]], atol=1e-6)


X = np.linspace(0.0, 2.0, 8)
Y = 2.0 * np.exp(-1.3 * X) + 0.1 * np.sin(9 * X)


def decay(x: Any, a: Any, b: Any) -> Any:
    return a * fnp.exp(-b * x)


def test_least_squares() -> None:
    def fit(y: Any) -> Any:
        call = ours.least_squares(
            lambda p, y: decay(X, p[0], p[1]) - y, [1.0, 1.0], args=(y,), xtol=1e-13, gtol=1e-13
        )
        return fnp.concatenate([call.x, fnp.reshape(fnp.asarray(call.cost), (1,))])

    same = theirs.least_squares(lambda p: decay(X, *p) - Y, [1.0, 1.0], xtol=1e-13)
    assert_allclose(fit(Y)[:2], same.x, rtol=1e-6)
    assert fit(Y)[2] == pytest.approx(same.cost)
    fg.check_grads(fit, order=2, rtol=1e-3, atol=1e-4)(Y)

    def bounded(y: Any) -> Any:
        def apart(p: Any, y: Any) -> Any:
            return decay(X, p[0], p[1]) - y

        return ours.least_squares(apart, [1.0, 1.0], bounds=(0.0, [1.5, 9.0]), args=(y,)).x

    assert_allclose(fg.jacobian(bounded)(Y)[0], 0.0, atol=1e-12)


def test_curve_fit() -> None:
    widths = np.linspace(0.5, 1.0, 8)
    for absolute in (False, True):
        found = ours.curve_fit(decay, X, Y, sigma=widths, absolute_sigma=absolute)
        same = theirs.curve_fit(decay, X, Y, sigma=widths, absolute_sigma=absolute)
        for mine, other in zip(found, same, strict=True):
            assert_allclose(mine, other, rtol=1e-4)

    def both(x: Any, y: Any, s: Any) -> Any:
        popt, pcov = ours.curve_fit(decay, x, y, [2.0, 1.0], s, xtol=1e-14, gtol=1e-14, ftol=1e-14)
        return fnp.concatenate([popt, fnp.ravel(pcov)])

    fg.check_grads(both, order=1, rtol=1e-3, atol=1e-4)(X, Y, widths)
    with pytest.raises(ValueError, match="a vector of standard deviations"):
        ours.curve_fit(decay, X, Y, sigma=np.eye(8))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda leaf: ours.root(lambda x: x * leaf - 1.0, [1.0]), "root: func depends on a value"),
        (lambda leaf: ours.minimize(lambda x: (x[0] - leaf) ** 2, [1.0]), "minimize: func depends"),
        (
            lambda leaf: ours.minimize(
                lambda x, t: (x[0] - t) ** 2, [1.0], (leaf,), constraints=[{"type": "eq"}]
            ),
            "constraints has no derivative",
        ),
        (
            lambda leaf: ours.least_squares(lambda x, t: x - t, [1.0], loss="huber", args=(leaf,)),
            "loss='huber' has no derivative",
        ),
    ],
)
def test_what_has_no_derivative_says_so(call: Any, words: str) -> None:
    with pytest.raises(NotImplementedError, match=words):
        call(fg.tensor(2.0, requires_grad=True))


def test_a_singular_jacobian_has_no_inverse() -> None:
    with pytest.raises(fg.errors.MatrixError):
        fg.grad(lambda p: ours.root(lambda x, p: 0 * x * p + x - x, [1.0], (p,)).x[0])(1.0)


def test_full_output_and_starts_of_other_shapes() -> None:
    def f(x: Any, p: Any) -> Any:
        return x**3 - p

    x, info, status, message = ours.fsolve(f, 1.0, (8.0,), full_output=True)
    assert x.shape == (1,)
    assert status == 1
    assert info["fvec"].shape == (1,)
    assert "converged" in message
    with pytest.raises(fg.errors.ArgumentTypeError, match="unknown options"):
        ours.fsolve(f, 1.0, (8.0,), rubbish=True)
    for solve in (
        lambda p: ours.brentq(f, 0.0, 5.0, (p,), full_output=True),
        lambda p: ours.newton(f, 1.0, args=(p,), full_output=True),
    ):
        for pick in (lambda found: found[0], lambda found: found[1].root):
            slope = fg.grad(lambda p, pick=pick, solve=solve: pick(solve(p)))
            assert slope(8.0) == pytest.approx(1 / 12)
        assert solve(8.0)[1].converged
    p, start = np.array([8.0, 27.0]), np.ones(2)
    assert_allclose(ours.newton(f, start, args=(p,)), [2.0, 3.0])
    slopes = fg.jacobian(lambda p: ours.newton(f, start, args=(p,)))(p)
    assert_allclose(slopes, np.diag([1 / 12, 1 / 27]), atol=1e-9)
    slopes = fg.jacobian(lambda p: ours.newton(f, start, args=(p,), full_output=True).root)(p)
    assert_allclose(slopes, np.diag([1 / 12, 1 / 27]), atol=1e-9)
    assert ours.root(f, 1.0, (8.0,)).x.shape == (1,)
    assert ours.minimize(lambda x: (x[0] - 1) ** 2, 0.0).x.shape == (1,)
    assert fg.grad(lambda p: ours.root(f, 1.0, (p,)).x[0])(8.0) == pytest.approx(1 / 12)


def test_a_function_that_gives_its_gradient_too() -> None:
    """`jac=True`, as `value_and_grad` is given."""

    def bowl(x: Any, p: Any) -> Any:
        return ((x - p) ** 2).sum(), 2 * (x - p)

    ends = np.array([2.0, 3.0])
    found = ours.minimize(bowl, [0.0, 1.0], args=(ends,), jac=True)
    assert_allclose(found.x, ends, atol=1e-8)
    slopes = fg.jacobian(lambda p: ours.minimize(bowl, [0.0, 1.0], args=(p,), jac=True).x)(ends)
    assert_allclose(slopes, np.eye(2), atol=1e-8)
    both = fg.value_and_grad(lambda x: ((x - 2) ** 2).sum())
    assert_allclose(ours.minimize(both, np.zeros(2), jac=True).x, [2.0, 2.0], atol=1e-8)
    square = ours.minimize(both, np.zeros((2, 2)), jac=True)
    assert_allclose(square.x, np.full((2, 2), 2.0), atol=1e-8)


def test_a_function_that_gives_its_gradient_too_is_called_once_a_place() -> None:
    places = []

    def bowl(x: Any) -> Any:
        places.append(x.tolist())
        return ((x - 2) ** 2).sum(), 2 * (x - 2)

    with fg.no_grad():
        found = ours.minimize(bowl, np.zeros(2), jac=True)
    assert len(places) == found.nfev


@pytest.mark.parametrize("shape", [(2,), (5,), (4, 2)])
def test_rosenbrock_s_valley(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    np.testing.assert_allclose(ours.rosen(x), theirs.rosen(x))
    np.testing.assert_allclose(ours.rosen_der(x), theirs.rosen_der(x))
    if x.ndim > 1:
        return
    np.testing.assert_allclose(ours.rosen_hess(x), theirs.rosen_hess(x))
    along = ours.rosen_hess_prod(x, x + 1)
    np.testing.assert_allclose(along, theirs.rosen_hess_prod(x, x + 1))
    np.testing.assert_allclose(fg.grad(ours.rosen)(x), ours.rosen_der(x))
    np.testing.assert_allclose(fg.jacobian(ours.rosen_der)(x), ours.rosen_hess(x))


def test_a_derivative_of_a_point_that_is_no_root_warns() -> None:
    def solve(p: Any) -> Any:
        return ours.root(lambda x, p: x * x + p, [1.0], args=(p,), method="broyden1").x[0]

    with pytest.warns(RuntimeWarning, match="root: .* no root; try another x0 or method"):
        fg.grad(solve)(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not ours.root(lambda x: x * x + 1, [1.0], method="hybr").success
        fg.grad(solve)(-4.0)
