"""Distributions of `ferrograd.scipy.stats` beside SciPy: functions, quantiles, draws."""

from typing import Any

import numpy as np
import pytest
import scipy.stats as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.scipy import stats as ours
from scipy_support import agree

RANDOM = np.random.default_rng(37)
Q = RANDOM.uniform(0.1, 0.9, size=4)
LOC, SCALE = RANDOM.normal(size=4), RANDOM.uniform(0.5, 2.0, size=4)
S, R = RANDOM.uniform(1.2, 3.0, size=4), RANDOM.uniform(2.5, 4.0, size=4)

#: The shapes of each distribution.
SHAPES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("norm", "laplace", "logistic", "cauchy", "gumbel_r", "gumbel_l"), ()),
    **dict.fromkeys(("expon", "halfnorm", "halfcauchy", "rayleigh", "maxwell", "uniform"), ()),
    **dict.fromkeys(("lognorm", "weibull_min", "pareto", "lomax", "powerlaw", "gamma"), (S,)),
    **dict.fromkeys(("invgamma", "chi2", "t"), (R,)),
    "triang": (Q[::-1],),
    **dict.fromkeys(("levy", "moyal", "hypsecant", "halflogistic", "arcsine"), ()),
    **dict.fromkeys(("chi", "nakagami", "fisk", "gompertz", "invgauss", "invweibull"), (S,)),
    **dict.fromkeys(("skewnorm", "genlogistic"), (S,)),
    **dict.fromkeys(("betaprime", "burr12", "johnsonsu"), (S, R)),
    "gengamma": (S, np.array([1.3, -1.7, 2.0, 0.8])),
    "beta": (S, R),
    "f": (R, 2 * R),
    "truncnorm": (np.array([-1.5, 0.3, -9.0, -4.0]), np.array([0.7, 2.5, 0.5, -2.5])),
}
FUNCTIONS = ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"]


def of(home: Any, name: str, method: str) -> Any:
    return getattr(getattr(home, name), method)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("method", FUNCTIONS)
def test_functions(name: str, method: str) -> None:
    shapes = SHAPES[name]
    x = LOC + SCALE * getattr(theirs, name).ppf(Q, *shapes)
    mine, other = of(ours, name, method), of(theirs, name, method)
    agree(mine, other, x, *shapes, LOC, SCALE, singles=False, rtol=1e-8)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("method", ["ppf", "isf"])
def test_quantiles(name: str, method: str) -> None:
    shapes = SHAPES[name]
    mine, other = of(ours, name, method), of(theirs, name, method)
    agree(mine, other, Q, *shapes, LOC, SCALE, singles=False, rtol=1e-8)
    assert np.isnan(mine(1.5, *(s[0] for s in shapes)))


@pytest.mark.parametrize("name", SHAPES)
def test_draws_move_with_their_parameters(name: str) -> None:
    mine, other = of(ours, name, "rvs"), of(theirs, name, "rvs")
    given = (*SHAPES[name], LOC, SCALE)

    def draw(*args: Any) -> Any:
        return mine(*args, size=4, random_state=7)

    plain = other(*given, size=4, random_state=7)
    assert_allclose(draw(*given), plain)
    tensors = [fg.tensor(a, requires_grad=True) for a in given]
    moved = draw(*tensors)
    assert_allclose(moved.detach().numpy(), plain, rtol=1e-10)
    # With its random number held fixed, a draw is a quantile.
    level = of(theirs, name, "cdf")(plain, *given)
    slopes = fg.autograd.grad(moved.sum(), tensors)
    quantiles = of(ours, name, "ppf")(level, *tensors)
    for one, two in zip(slopes, fg.autograd.grad(quantiles.sum(), tensors), strict=True):
        assert_allclose(one.numpy(), two.numpy(), rtol=1e-6)


def test_the_shape_of_draws() -> None:
    scale = fg.tensor(SCALE, requires_grad=True)
    assert ours.norm.rvs(0.0, scale).shape == (4,)
    assert ours.norm.rvs(0.0, scale, size=(3, 4)).shape == (3, 4)
    assert ours.norm.rvs(fg.tensor(0.0)).shape == ()
    assert isinstance(ours.norm.rvs(), float)
    assert ours.gamma.rvs(2.0, scale=scale, size=None).shape == (4,)


@pytest.mark.parametrize("name", ["gamma", "expon", "beta", "pareto", "uniform", "triang", "f"])
def test_outside_the_support(name: str) -> None:
    shapes = tuple(s[0] for s in SHAPES[name])
    at = np.array([-3.0, -0.1, 0.5, 7.0, np.nan])
    for method in FUNCTIONS:
        found = of(ours, name, method)(at, *shapes)
        assert_allclose(found[:-1], of(theirs, name, method)(at, *shapes)[:-1], rtol=1e-9)
    slope = fg.grad(lambda x: of(ours, name, "pdf")(x, *shapes).sum())(at[:4])
    assert np.all(np.isfinite(slope))
    assert slope[0] == 0


def test_frozen_distributions() -> None:
    scale = fg.tensor(2.0, requires_grad=True)
    frozen = ours.expon(scale=scale)
    assert frozen.pdf(1.0).item() == pytest.approx(theirs.expon(scale=2.0).pdf(1.0))
    assert frozen.rvs(size=3, random_state=1).shape == (3,)
    assert ours.expon(scale=2.0).mean() == 2.0
    assert ours.expon.mean(scale=2.0) == 2.0
    with pytest.raises(AttributeError, match="entropy"):
        _ = frozen.entropy


COUNTS = np.array([0, 1, 2, 4, 1.5, -1])


@pytest.mark.parametrize(
    ("name", "fixed"), [("bernoulli", ()), ("binom", (4,)), ("geom", ()), ("nbinom", (3,))]
)
@pytest.mark.parametrize("method", ["pmf", "logpmf", "cdf", "sf", "logcdf"])
def test_counts(name: str, fixed: Any, method: str) -> None:
    mine, other = of(ours, name, method), of(theirs, name, method)
    counts = COUNTS[:4] if method.startswith("log") else COUNTS

    def inside(k: Any) -> Any:
        return k[np.isfinite(other(k, *fixed, 0.3))]

    counts = inside(counts)
    p = RANDOM.uniform(0.2, 0.8, size=counts.size)
    agree(lambda p: mine(counts, *fixed, p), lambda p: other(counts, *fixed, p), p, singles=False)
    assert_allclose(mine(COUNTS + 2, *fixed, 0.3, 2), other(COUNTS + 2, *fixed, 0.3, 2))


def test_wrong_parameters() -> None:
    with pytest.raises(TypeError, match="give s, loc, scale"):
        ours.lognorm.pdf(1.0)
    with pytest.raises(TypeError, match="give loc, scale"):
        ours.expon.pdf(1.0, rate=2.0)
    with pytest.raises(TypeError, match="got 3 parameters"):
        ours.expon.pdf(1.0, 0.0, 1.0, 2.0)


@pytest.mark.parametrize("name", SHAPES)
def test_tails_edges_and_impossible_parameters(name: str) -> None:
    shapes = tuple(float(s[0]) for s in SHAPES[name])
    for q in (1e-17, 1e-9, 0.25, 0.75):
        with np.errstate(divide="ignore"):
            wanted, found = (of(home, name, "isf")(q, *shapes) for home in (theirs, ours))
        if np.isfinite(wanted):
            assert_allclose(found, wanted)
        else:  # SciPy asks at the rounded 1 - q
            assert found > of(theirs, name, "isf")(1e-9, *shapes)
    low, high = of(theirs, name, "support")(*shapes)
    for method in FUNCTIONS:
        mine = of(ours, name, method)
        tensor = fg.tensor(0.6, requires_grad=True)
        for bad in (mine(np.nan, *shapes), mine(0.6, *shapes, np.nan), mine(0.6, *shapes, 0.0, -1)):
            assert np.isnan(bad)
        assert np.isnan(mine(tensor, *shapes, 0.0, -1.0).item())
        for end, below in ((low, 1.0), (high, 0.0)):
            if method in ("cdf", "sf"):
                level = below if method == "sf" else 1.0 - below
                assert mine(end, *shapes) == pytest.approx(level)
    for method in ("cdf", "ppf", "isf"):
        assert np.isnan(of(ours, name, method)(0.5, *shapes, 0.0, 0.0))
        if shapes and name != "skewnorm":
            assert np.isnan(of(ours, name, method)(0.5, *[-1.0 for _ in shapes]))


def test_densities_at_ends_are_limits() -> None:
    assert ours.lognorm.pdf(0.0, 0.8) == 0.0
    assert ours.invgamma.pdf(0.0, 3.0) == 0.0
    assert ours.rayleigh.pdf(np.inf) == 0.0
    assert ours.halfnorm.logcdf(1e-300) == pytest.approx(theirs.halfnorm.logcdf(1e-300))
    assert ours.cauchy.ppf(1.0) == ours.halfcauchy.ppf(1.0) == np.inf
    assert ours.cauchy.ppf(0.0) == -np.inf


def test_derivatives_at_the_low_end_are_numbers() -> None:
    for name, shapes in {"lognorm": (0.8,), "invgamma": (3.0,)}.items():
        for method in ("pdf", "cdf", "sf", "logsf"):
            slopes = fg.jacobian(lambda p, n=name, m=method: of(ours, n, m)(*p))
            assert slopes(np.array([0.0, *shapes, 0.0, 1.3])).tolist() == [0.0] * 4


def test_derivatives_at_the_middle() -> None:
    slopes = [
        fg.grad(lambda loc, m=m: of(ours, "laplace", m)(0.5, loc))(0.5)
        for m in ("cdf", "sf", "logcdf", "logsf")
    ]
    assert slopes == [-0.5, 0.5, -1.0, 1.0]
    assert abs(fg.grad(fg.grad(lambda q: ours.cauchy.ppf(q, scale=1.4)))(0.5)) < 1e-12
    for x in (0.0, 1e-12, -1e-9, 1e-5, 9e-3, 1.1e-2):
        step = 0.01
        near = (theirs.t.pdf(0, 3 + step) - theirs.t.pdf(0, 3 - step)) / (2 * step) * x
        assert_allclose(fg.grad(lambda v, x=x: ours.t.cdf(x, v))(3.0), near, rtol=1e-3)
        assert_allclose(fg.grad(lambda v, x=x: ours.t.sf(x, v))(3.0), -near, rtol=1e-3)


#: Discrete distributions with their parameters and impossible ones.
DISCRETE: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "poisson": ((2.5,), (-1.0,)),
    "binom": ((5.0, 0.3), (5.0, 1.3)),
    "bernoulli": ((0.3,), (-0.3,)),
    "geom": ((0.3,), (1.3,)),
    "nbinom": ((4.0, 0.3), (-4.0, 0.3)),
}


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("method", ["pmf", "logpmf", "cdf", "logcdf", "sf", "logsf"])
def test_counts_and_edges(name: str, method: str) -> None:
    good, bad = DISCRETE[name]
    k = np.array([-1.0, 0.0, 1.0, 2.5, 3.0, 40.0, np.nan])
    mine, other = of(ours, name, method), of(theirs, name, method)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert_allclose(mine(k, *good), other(k, *good), rtol=1e-9)
        assert_allclose(mine(k + 2, *good, loc=2), other(k + 2, *good, loc=2), rtol=1e-9)
        assert np.isnan(mine(k, *bad)).all()

    def of_last(p: Any) -> Any:
        return of(ours, name, method)(1, *good[:-1], p)

    if name == "bernoulli" and method in ("sf", "cdf", "logcdf", "logsf"):
        return
    near = (other(1, *good[:-1], good[-1] + 1e-6) - other(1, *good[:-1], good[-1] - 1e-6)) / 2e-6
    assert_allclose(fg.grad(of_last)(good[-1]), near, rtol=1e-6)


def test_frozen_distributions_of_arrays_and_modules() -> None:
    for name, args in {**SHAPES, "poisson": (S,), "binom": (5.0, Q)}.items():
        mine, other = getattr(ours, name)(*args), getattr(theirs, name)(*args)
        for method in ("cdf", "logsf"):
            assert_allclose(getattr(mine, method)(Q), getattr(other, method)(Q), rtol=1e-9)
        assert_allclose(mine.mean(), other.mean())
    assert fg.grad(lambda m: ours.norm(m, 2.0).logpdf(1.0))(0.0) == pytest.approx(0.25)
    x = fg.tensor(1.0, requires_grad=True)
    ours.norm(0.0, 2.0).logpdf(x).backward()
    assert x.grad.item() == pytest.approx(-0.25)
    assert ours.norm(0.0, 1.0).rvs(3, random_state=1).shape == (3,)
    with pytest.raises(AttributeError, match="tensors as parameters"):
        ours.norm(x).mean()


def test_normal_vectors_of_lists() -> None:
    lists = [0.1, 0.2], [0.3, 0.0], [[1.0, 0.0], [0.0, 1.0]]
    assert_allclose(
        ours.multivariate_normal.logpdf(*lists), theirs.multivariate_normal.logpdf(*lists)
    )
    frozen = ours.multivariate_normal(*lists[1:])
    assert_allclose(frozen.logpdf(lists[0]), theirs.multivariate_normal.logpdf(*lists))

    def of_mean(m: Any) -> Any:
        return ours.multivariate_normal.logpdf([0.1, 0.2], [m, 0.0], lists[2])

    assert fg.grad(of_mean)(0.3) == pytest.approx(-0.2)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("norm", ()),
        ("t", (3.0,)),
        ("gamma", (2.5,)),
        ("beta", (2.0, 3.0)),
        ("chi2", (4.0,)),
        ("expon", ()),
    ],
)
def test_intervals_are_two_quantiles(name: str, shapes: tuple[float, ...]) -> None:
    own, given = getattr(ours, name), (*shapes, 0.4, 1.7)
    for confidence in (0.9, np.array([0.2, 0.5])):
        for found, wanted in zip(
            own.interval(confidence, *given),
            getattr(theirs, name).interval(confidence, *given),
            strict=True,
        ):
            assert_allclose(found, wanted, rtol=1e-12)
    for end in (0, 1):
        fg.check_grads(lambda c, *p, end=end: own.interval(c, *p)[end], "rev", 1)(0.8, *given)
        fg.check_grads(lambda s, end=end: own(*shapes, 0.4, s).interval(0.8)[end], "rev", 1)(1.7)


def test_the_entropy_of_the_normal_distribution() -> None:
    scales = np.array([0.5, 2.0, -1.0, 0.0])
    assert_allclose(ours.norm.entropy(1.0, scales), theirs.norm.entropy(1.0, scales))
    assert fg.grad(lambda s: ours.norm.entropy(0.3, s))(2.0) == pytest.approx(0.5)
    assert fg.grad(lambda s: ours.norm(0.3, s).entropy())(2.0) == pytest.approx(0.5)
    assert fg.grad(lambda m: ours.norm.entropy(m, 1.0))(2.0) == 0.0
