"""Distributions with ends or turns of their own, `truncnorm` and `vonmises`, and far tails."""

from typing import Any

import numpy as np
import pytest
import scipy.stats as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.scipy import stats as ours
from scipy_support import agree

FUNCTIONS = ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"]
X = np.array([-1.3, 0.2, 0.9, 1.6])


@pytest.mark.parametrize("method", FUNCTIONS)
def test_ends_that_follow_the_location_and_the_scale(method: str) -> None:
    def between(lib: Any, loc: Any, scale: Any, low: Any, high: Any) -> Any:
        a, b = (low - loc) / scale, (high - loc) / scale
        return getattr(lib.truncnorm, method)(X, a, b, loc, scale)

    loc, scale = np.array([0.2, -0.3, 3.0, -4.0]), np.array([0.8, 1.1, 0.6, 0.9])
    low, high = np.full(4, -2.0), np.full(4, 2.0)
    agree(
        lambda *given: between(ours, *given),
        lambda *given: between(theirs, *given),
        loc,
        scale,
        low,
        high,
        singles=False,
        rtol=1e-7,
    )


@pytest.mark.parametrize("method", FUNCTIONS)
def test_one_end_may_be_infinite(method: str) -> None:
    for a, b in ((-np.inf, 1.7), (0.1, np.inf), (-np.inf, np.inf)):
        mine, other = getattr(ours.truncnorm, method), getattr(theirs.truncnorm, method)
        x = fg.tensor([0.3, 1.5], requires_grad=True)
        given = fg.tensor([a, b], requires_grad=True)
        found = mine(x, given[0], given[1])
        assert_allclose(found.detach(), other([0.3, 1.5], a, b), rtol=1e-10)
        by_x, by_ends = fg.autograd.grad(found.sum(), (x, given))
        h = 1e-6
        slope = (other(x.detach().numpy() + h, a, b) - other(x.detach().numpy() - h, a, b)) / 2 / h
        assert_allclose(by_x, slope, rtol=1e-6, atol=1e-9)
        assert np.isfinite(by_ends.numpy()).all()
        assert not by_ends.numpy()[np.isinf([a, b])].any()


def test_at_an_end_the_derivative_is_the_limit_from_inside() -> None:
    density = theirs.truncnorm.pdf(-0.5, -0.5, 2.0)
    assert_allclose(fg.grad(lambda x: ours.truncnorm.cdf(x, -0.5, 2.0))(-0.5), density)
    assert_allclose(fg.grad(lambda a: ours.truncnorm.cdf(-0.5, a, 2.0))(-0.5), -density)
    assert_allclose(fg.grad(lambda a: ours.truncnorm.ppf(0.0, a, 2.0))(-0.5), 1.0)
    assert_allclose(fg.grad(lambda b: ours.truncnorm.ppf(1.0, -0.5, b))(2.0), 1.0)
    assert fg.grad(lambda x: ours.truncnorm.cdf(x, -0.5, 2.0))(-0.6) == 0.0
    assert ours.truncnorm.cdf(-0.6, -0.5, 2.0) == 0.0
    assert ours.truncnorm.sf(-0.6, -0.5, 2.0) == 1.0
    assert np.isnan(ours.truncnorm.pdf(0.0, 1.0, -1.0))


@pytest.mark.parametrize("method", FUNCTIONS)
def test_angles(method: str) -> None:
    # SciPy's own values have eight digits, which small probabilities show.
    kappa = np.array([0.05, 0.9, 4.0, 1.7])
    mine, other = getattr(ours.vonmises, method), getattr(theirs.vonmises, method)
    agree(mine, other, X, kappa, np.full(4, 0.3), singles=False, rtol=1e-7)
    if "log" not in method:
        agree(mine, other, X + 2 * np.pi, kappa, singles=False, rtol=1e-7)


def test_angles_of_no_and_of_great_concentration() -> None:
    # Of no concentration the distribution is uniform, and its derivative sin(x) / 2π.
    slope = fg.grad(lambda k: ours.vonmises.cdf(X, k).sum())(0.0)
    assert_allclose(slope, np.sum(np.sin(X)) / (2 * np.pi), rtol=1e-12)
    assert np.isnan(ours.vonmises.pdf(0.0, -1.0))
    # Far out the derivative keeps its digits: near the logarithm of the tail it is linear.
    slope = fg.grad(lambda k: ours.vonmises.logpdf(0.4, k))(3000.0)
    tail = fg.grad(lambda k: ours.vonmises.cdf(-0.4, k))(3000.0) / theirs.vonmises.cdf(-0.4, 3000.0)
    assert_allclose(tail, slope, rtol=0.1)


@pytest.mark.parametrize("method", ["ppf", "isf"])
def test_quantiles_of_angles(method: str) -> None:
    q, kappa = np.array([0.1, 0.4, 0.8]), np.array([0.5, 2.0, 9.0])
    mine, other = getattr(ours.vonmises, method), getattr(theirs.vonmises, method)
    agree(mine, other, q, kappa, singles=False, rtol=1e-7)


def test_random_angles_are_those_of_scipy_and_move_with_their_parameters() -> None:
    def draw(lib: Any, loc: Any, kappa: Any) -> Any:
        return lib.vonmises.rvs(kappa, loc, size=5, random_state=3)

    loc, kappa = (fg.tensor(v, requires_grad=True) for v in (2.5, 1.5))
    found = draw(ours, loc, kappa)
    plain = draw(theirs, 2.5, 1.5)
    assert_allclose(found.detach(), plain, rtol=1e-12)
    assert plain.min() > -np.pi
    by_loc, by_kappa = fg.autograd.grad(found.sum(), (loc, kappa))
    assert_allclose(by_loc, 5.0)
    angle = (plain - 2.5 + np.pi) % (2 * np.pi) - np.pi
    level = theirs.vonmises.cdf(angle, 1.5)
    expected = fg.grad(lambda k: ours.vonmises.ppf(level, k).sum())(1.5)
    assert_allclose(by_kappa, expected, rtol=1e-6)


@pytest.mark.parametrize(("x", "a"), [(-2.5, 7.5), (-20.0, 0.9), (0.3, -30.0)])
def test_tails_of_skewed_normals(x: float, a: float) -> None:
    method = "cdf" if x < 0 else "sf"
    mine, other = getattr(ours.skewnorm, method), getattr(theirs.skewnorm, method)
    assert mine(x, a) > 0
    assert_allclose(mine(x, a), other(x, a), rtol=1e-9)
    sign = 1.0 if method == "cdf" else -1.0
    assert_allclose(fg.grad(lambda z: mine(z, a))(x), sign * theirs.skewnorm.pdf(x, a), rtol=1e-9)
    slope = fg.grad(lambda z: getattr(ours.skewnorm, f"log{method}")(z, a))(x)
    assert_allclose(slope, sign * theirs.skewnorm.pdf(x, a) / other(x, a), rtol=1e-9)


@pytest.mark.parametrize("x", [0.05, 0.3, 1.0, 1.7, 40.0])
def test_both_tails_of_invweibull(x: float) -> None:
    c = 9.0
    assert_allclose(ours.invweibull.logsf(x, c), theirs.invweibull.logsf(x, c), rtol=1e-9)
    expected = -theirs.invweibull.pdf(x, c) / theirs.invweibull.sf(x, c)
    assert_allclose(fg.grad(lambda z: ours.invweibull.logsf(z, c))(x), expected, rtol=1e-9)


@pytest.mark.parametrize(("name", "shapes"), [("fisk", (3.5,)), ("burr12", (3.5, 1.2))])
def test_powers_far_out_do_not_overflow(name: str, shapes: tuple[float, ...]) -> None:
    mine, x = getattr(ours, name), 1e200
    log = np.log(x)
    power = shapes[0] * (shapes[1] if len(shapes) > 1 else 1.0)
    assert_allclose(mine.logsf(x, *shapes), -power * log, rtol=1e-12)
    slope = fg.grad(lambda c: mine.logsf(x, c, *shapes[1:]))(shapes[0])
    assert_allclose(slope, -power / shapes[0] * log, rtol=1e-12)
    assert fg.grad(lambda z: mine.logpdf(z, *shapes))(x) < 0
