"""`ferrograd.scipy.interpolate` beside SciPy: curves through samples and grids."""

from typing import Any

import numpy as np
import pytest
import scipy.interpolate as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
import ferrograd.numpy as fnp
from ferrograd.scipy import interpolate as ours
from scipy_support import agree

RANDOM = np.random.default_rng(11)
X = np.cumsum(RANDOM.uniform(0.4, 1.2, size=6))
Y = RANDOM.normal(size=(6, 2))
INSIDE = RANDOM.uniform(X[0], X[-1], size=(2, 3))
ANYWHERE = np.array([X[0] - 0.5, X[-1] + 0.4, X[2] + 0.1])
CLOSED = np.concatenate([Y[:-1], Y[:1]])

CURVES = [
    ("CubicSpline", {}),
    ("CubicSpline", {"bc_type": "natural"}),
    ("CubicSpline", {"bc_type": "clamped"}),
    ("CubicSpline", {"bc_type": ("natural", "not-a-knot")}),
    ("CubicSpline", {"bc_type": ((1, np.array([0.3, 2.0])), (2, np.array([0.5, -1.0])))}),
    ("PchipInterpolator", {}),
    ("Akima1DInterpolator", {}),
    ("Akima1DInterpolator", {"method": "makima"}),
]


@pytest.mark.parametrize(("name", "options"), CURVES, ids=lambda v: str(v)[:40])
def test_curves(name: str, options: Any) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    agree(
        lambda x, y, at: mine(x, y, **options)(at),
        lambda x, y, at: other(x, y, **options)(at),
        X,
        Y,
        INSIDE,
        singles=not isinstance(options.get("bc_type", ("",))[0], tuple),
    )
    for nu in (1, 2, 3):
        assert_allclose(
            mine(X, Y, **options)(INSIDE, nu), other(X, Y, **options)(INSIDE, nu), rtol=1e-8
        )
    assert_allclose(mine(X, Y, **options)(ANYWHERE), other(X, Y, **options)(ANYWHERE), rtol=1e-9)
    across = mine(X, Y.T, axis=1, **options)(INSIDE)
    assert_allclose(across, other(X, Y.T, axis=1, **options)(INSIDE), rtol=1e-9)


@pytest.mark.parametrize(("name", "options"), CURVES, ids=lambda v: str(v)[:40])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_curves_through_few_samples(name: str, options: Any, count: int) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    at = np.linspace(X[0] + 0.01, X[count - 1] - 0.01, 7)
    agree(
        lambda x, y: mine(x, y, **options)(at),
        lambda x, y: other(x, y, **options)(at),
        X[:count],
        Y[:count],
        order=1,
        singles=False,
    )


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_closed_curves(count: int) -> None:
    y = np.concatenate([Y[: count - 1], Y[:1]])
    at = np.array([X[0] - 3.1, X[0] + 0.2, X[count - 1], X[count - 1] + 5.0])

    def mine(x: Any, free: Any) -> Any:
        closed = fnp.concatenate([free, free[:1]])
        return ours.CubicSpline(x, closed, bc_type="periodic")(at)

    found = theirs.CubicSpline(X[:count], y, bc_type="periodic")(at)
    assert_allclose(mine(X[:count], y[:-1]), found, rtol=1e-9, atol=1e-12)
    if count > 2:
        fg.check_grads(mine, order=2, rtol=1e-3, atol=1e-4)(X[:count], y[:-1])


def test_curves_with_given_slopes() -> None:
    slopes = RANDOM.normal(size=Y.shape)
    agree(
        lambda x, y, d, at: ours.CubicHermiteSpline(x, y, d)(at),
        lambda x, y, d, at: theirs.CubicHermiteSpline(x, y, d)(at),
        X,
        Y,
        slopes,
        INSIDE,
    )


def test_integrals_and_derivatives_of_curves() -> None:
    mine, other = ours.CubicSpline(X, Y), theirs.CubicSpline(X, Y)
    assert_allclose(mine.antiderivative(2)(INSIDE), other.antiderivative(2)(INSIDE), rtol=1e-9)
    assert_allclose(mine.derivative()(INSIDE), other.derivative()(INSIDE), rtol=1e-9)
    assert_allclose(mine.antiderivative().derivative()(INSIDE), mine(INSIDE), rtol=1e-9)
    agree(
        lambda x, y, a, b: ours.CubicSpline(x, y).integrate(a, b),
        lambda x, y, a, b: theirs.CubicSpline(x, y).integrate(a, b),
        X,
        Y,
        X[0] + 0.1,
        X[-1] - 0.2,
        singles=False,
    )
    assert_allclose(mine.derivative(5)(INSIDE), np.zeros((2, 3, 2)))
    with pytest.raises(ValueError, match="parts within the knots"):
        ours.CubicSpline(X, CLOSED, bc_type="periodic").integrate(0.0, X[-1] + 1)


def test_plain_coefficients() -> None:
    c = RANDOM.normal(size=(3, 5, 2))
    agree(
        lambda c, x, at: ours.PPoly(c, x)(at), lambda c, x, at: theirs.PPoly(c, x)(at), c, X, INSIDE
    )
    assert np.isnan(ours.PPoly(c, X, extrapolate=False)(ANYWHERE)[0]).all()


KINDS = ["linear", "slinear", "zero", "nearest", "nearest-up", "previous", "next"]
KINDS += ["quadratic", "cubic"]


@pytest.mark.parametrize("kind", KINDS)
def test_interp1d(kind: str) -> None:
    at = np.concatenate([INSIDE.ravel(), X]) if kind != "linear" else INSIDE
    for options in ({}, {"fill_value": "extrapolate"}, {"bounds_error": False}):
        places = at if not options else np.concatenate([at.ravel(), ANYWHERE])
        for axis, y in ((0, Y), (-1, Y.T)):
            found = ours.interp1d(X, y, kind, axis, **options)(places)
            expected = theirs.interp1d(X, y, kind, axis, **options)(places)
            assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    fg.check_grads(lambda y: ours.interp1d(X, y, kind, 0)(INSIDE), order=2)(Y)
    if kind in ("linear", "quadratic", "cubic"):
        agree(
            lambda x, y, at: ours.interp1d(x, y, kind, 0)(at),
            lambda x, y, at: theirs.interp1d(x, y, kind, 0)(at),
            X,
            Y,
            INSIDE,
        )


@pytest.mark.parametrize("count", [3, 4, 5])
def test_quadratic_splines_of_few_samples(count: int) -> None:
    x, y = X[:count], Y[:count]
    places = np.linspace(X[0] - 1, X[count - 1] + 1, 12).reshape(3, 4)
    mine, other = (m.interp1d(x, y, 2, 0, fill_value="extrapolate") for m in (ours, theirs))
    assert_allclose(mine(places), other(places), rtol=1e-9, atol=1e-12)
    with pytest.raises(fg.errors.ShapeError, match="give at least 3"):
        ours.interp1d(X[:2], Y[:2], "quadratic", 0)


def test_interp1d_sorts_and_fills() -> None:
    mixed = RANDOM.permutation(6)
    agree(
        lambda x, y: ours.interp1d(x, y, axis=0)(INSIDE),
        lambda x, y: theirs.interp1d(x, y, axis=0)(INSIDE),
        X[mixed],
        Y[mixed],
        singles=False,
    )
    line = ours.interp1d(X, Y[:, 0], bounds_error=False, fill_value=(-1.0, 2.0))
    assert_allclose(line(ANYWHERE)[:2], [-1.0, 2.0])
    assert float(line(X[3])) == Y[3, 0]
    with pytest.raises(ValueError, match="lies below the samples"):
        ours.interp1d(X, Y[:, 0])(0.0)
    with pytest.raises(ValueError, match="lies above the samples"):
        ours.interp1d(X, Y[:, 0])(np.array([X[1], 100.0]))
    with pytest.raises(ValueError, match="kind is 'wavy'"):
        ours.interp1d(X, Y[:, 0], "wavy")
    with pytest.raises(ValueError, match="give one of them"):
        ours.interp1d(X, Y[:, 0], bounds_error=True, fill_value="extrapolate")


@pytest.mark.parametrize("method", ["linear", "slinear", "nearest", "cubic", "pchip"])
def test_grids(method: str) -> None:
    grid = (X[:4], np.array([3.0, 2.5, 1.0, 0.5, 0.0]), np.array([0.0, 1.0, 1.5, 3.0]))
    values = RANDOM.normal(size=(4, 5, 4, 2))
    low, high = [min(g) for g in grid], [max(g) for g in grid]
    at = RANDOM.uniform(low, high, size=(2, 3, 3))
    # The solver of SciPy's own cubic stops at six digits.
    exact = "cubic_legacy" if method == "cubic" else method
    same = theirs.RegularGridInterpolator(grid, values, exact)(at)
    assert_allclose(ours.RegularGridInterpolator(grid, values, method)(at), same, rtol=1e-7)
    assert_allclose(ours.interpn(grid, values, at, method), same, rtol=1e-7)
    small = (X[:4], X[:4] / 2)

    def mine(x: Any, v: Any, at: Any) -> Any:
        return ours.RegularGridInterpolator((x, small[1]), v, method)(at)

    inside = RANDOM.uniform(X[0], X[3], size=(3, 2)) * [1.0, 0.5]
    if method == "nearest":
        fg.check_grads(lambda v: mine(X[:4], v, inside), order=2)(values[:, :4, 0, 0])
    else:
        fg.check_grads(mine, order=2, rtol=1e-3, atol=1e-4)(X[:4], values[:, :4, 0, 0], inside)


def test_quintic_grids() -> None:
    grid = (np.arange(6.0) ** 1.2, np.array([7.0, 6.0, 4.5, 3.0, 2.0, 1.5, 0.0]))
    values = RANDOM.normal(size=(6, 7, 2))
    at = RANDOM.uniform([-1.0, 0.0], [8.0, 8.0], size=(2, 3, 2))
    mine, other = (
        home.RegularGridInterpolator(grid, values, method, bounds_error=False, fill_value=None)
        for home, method in ((ours, "quintic"), (theirs, "quintic_legacy"))
    )
    assert_allclose(mine(at), other(at), rtol=1e-7)
    whole = theirs.make_interp_spline(grid[0], values[:, 0, 0], 5)
    line = ours.RegularGridInterpolator(grid[:1], values[:, 0, 0], "quintic")
    assert_allclose(line(at[0, :, :1] % 5), whole(at[0, :, 0] % 5), rtol=1e-9)
    fg.check_grads(
        lambda x, y, v, at: ours.RegularGridInterpolator((x, y), v, "quintic")(at),
        order=2,
        rtol=1e-3,
        atol=1e-4,
    )(grid[0], grid[1], values[:, :, 0], np.array([[0.3, 0.6], [4.1, 5.2]]))
    half = [fg.tensor(np.asarray(a, np.float32)) for a in (grid[0], values[:, 0, 0], at[0, :, :1])]
    found = ours.RegularGridInterpolator(half[:1], half[1], "quintic", False, None)(half[2])
    assert found.dtype == np.float32
    with pytest.raises(fg.errors.ShapeError, match="needs 6"):
        ours.RegularGridInterpolator((X[:5],), X[:5], "quintic")


def test_places_outside_a_grid() -> None:
    grid, values = (X[:3], X[:4]), RANDOM.normal(size=(3, 4))
    at = np.array([[0.0, X[1]], [X[1], X[1]], [X[1], 20.0], [np.nan, X[1]]])
    for fill in (-7.0, None, np.nan):
        found = ours.RegularGridInterpolator(grid, values, bounds_error=False, fill_value=fill)(at)
        other = theirs.RegularGridInterpolator(grid, values, bounds_error=False, fill_value=fill)
        assert_allclose(found, other(at))
    with pytest.raises(ValueError, match="variable 0 of a place is 0"):
        ours.RegularGridInterpolator(grid, values)(at)
    assert_allclose(
        ours.RegularGridInterpolator(grid, values)((X[1], X[:4])),
        theirs.RegularGridInterpolator(grid, values)((X[1], X[:4])),
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ours.CubicSpline(X[::-1], Y), "sort x"),
        (lambda: ours.CubicSpline(X[:4], Y), "as many values"),
        (lambda: ours.CubicSpline(X[:1], Y[:1]), "at least 2"),
        (lambda: ours.CubicSpline(X, Y, bc_type="free"), "bc_type is 'free'"),
        (lambda: ours.CubicSpline(X, Y, bc_type="periodic"), "make them equal"),
        (lambda: ours.CubicSpline(X, Y, bc_type=((3, 0.0), "natural")), "give order 1 or 2"),
        (lambda: ours.CubicSpline(X, Y, bc_type=((1, 0.0), "natural")), "give the same shape"),
        (lambda: ours.CubicHermiteSpline(X, Y, Y[:2]), "a slope for each"),
        (lambda: ours.Akima1DInterpolator(X, Y, method="other"), "'akima' or 'makima'"),
        (lambda: ours.PPoly(Y, X), "one interval less"),
        (lambda: ours.RegularGridInterpolator((X, X), Y), "for each leading axis"),
        (lambda: ours.RegularGridInterpolator((X,), Y, "quartic"), "method is 'quartic'"),
        (lambda: ours.RegularGridInterpolator((X[:3],), Y[:3], "cubic"), "give more points"),
        (lambda: ours.RegularGridInterpolator((X,), Y)(np.ones((2, 3))), "variables"),
    ],
)
def test_wrong_arguments(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
