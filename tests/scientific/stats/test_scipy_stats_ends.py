"""Derivatives of `ferrograd.scipy.stats` at ends of a support, outside of it and far away."""

from typing import Any

import numpy as np
import pytest
import scipy.stats as theirs

import ferrograd as fg
from ferrograd.scipy import stats as ours

#: Shapes whose densities vanish, end and grow at an end with each power that makes a difference.
SHAPES: dict[str, tuple[tuple[float, ...], ...]] = {
    **dict.fromkeys(("norm", "laplace", "logistic", "cauchy", "gumbel_r", "gumbel_l"), ((),)),
    **dict.fromkeys(("expon", "halfnorm", "halfcauchy", "rayleigh", "maxwell", "uniform"), ((),)),
    **dict.fromkeys(("gamma", "weibull_min", "powerlaw"), ((0.5,), (1.0,), (1.5,), (2.0,), (3.5,))),
    **dict.fromkeys(("lognorm", "pareto", "lomax", "invgamma", "t"), ((0.8,), (3.0,))),
    "chi2": ((1.0,), (2.0,), (3.0,), (4.0,), (6.5,)),
    "beta": ((0.5, 0.6), (1.0, 1.0), (1.5, 2.0), (3.5, 1.7)),
    "f": ((1.0, 3.0), (2.0, 3.0), (3.0, 3.0), (4.0, 5.0)),
    "triang": ((0.4,),),
    "chi": ((0.5,), (0.9,), (1.0,), (1.5,), (2.0,), (3.5,)),
    "fisk": ((0.5,), (0.9,), (1.0,), (1.5,), (2.0,), (3.5,)),
    "nakagami": ((0.4,), (0.5,), (0.9,), (1.0,), (2.5,)),
    "gengamma": (
        *((1.0, 1.0), (0.5, 2.0), (2.0, 0.5), (3.0, 1.0), (1.0, 2.0), (3.0, 0.5)),
        *((0.5, 4.0), (2.5, 1.5)),
    ),
    "betaprime": ((0.5, 3.0), (1.0, 0.7), (2.5, 1.0)),
    "burr12": ((0.5, 3.0), (1.0, 0.7), (2.5, 0.8)),
    **dict.fromkeys(("halflogistic", "arcsine"), ((),)),
}
CASES = [(name, shapes) for name, several in SHAPES.items() for shapes in several]
FUNCTIONS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")


def slopes(name: str, method: str, x: float, shapes: Any, scale: float = 1.3) -> np.ndarray:
    """The derivatives by the place, the shapes, `loc` and `scale`."""
    given = [fg.tensor(np.float64(v), requires_grad=True) for v in (x, *shapes, 0.0, scale)]
    value = getattr(getattr(ours, name), method)(*given)
    plain = getattr(getattr(ours, name), method)(x, *shapes, 0.0, scale)
    np.testing.assert_allclose(value.detach().numpy(), plain, rtol=1e-13)
    found = fg.autograd.grad(value, given, allow_unused=True)
    return np.array([0.0 if g is None else g.item() for g in found])


def limit(near: np.ndarray, tail: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The limit of a geometric approach: Aitken's, infinite where the steps do not shrink.

    NaN where the approach does not tell.
    """
    first, second = tail - near, last - tail
    small = 1e-7 * (1.0 + np.abs(last))
    grows = np.abs(second) >= 0.98 * np.abs(first)
    shrinks = np.abs(second) < 0.9 * np.abs(first)
    with np.errstate(all="ignore"):
        found = last - second**2 / (second - first)
        found = np.where(shrinks, found, np.where(grows, np.sign(second) * np.inf, np.nan))
    return np.where((np.abs(first) < small) & (np.abs(second) < small), last, found)


def check(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    known = ~np.isnan(expected)
    finite = known & np.isfinite(expected)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-3, atol=1e-3, err_msg=what)
    infinite = known & ~finite
    # An infinite limit has its sign, and is infinite, unless a rule of the core says 0.
    assert np.all(np.isfinite(found) | (np.sign(found) == np.sign(expected)) | ~infinite), what


@pytest.mark.parametrize(("name", "shapes"), CASES)
@pytest.mark.parametrize("method", FUNCTIONS)
def test_at_finite_ends_derivatives_are_the_limits(
    name: str, shapes: tuple[float, ...], method: str
) -> None:
    low, high = getattr(theirs, name)(*shapes).support()
    scale = 1.3
    if name in ("lognorm", "invgamma"):
        # No geometric approach: here the functions themselves are 0 with all derivatives.
        assert np.all(slopes(name, method, low, shapes) == 0.0)
    elif np.isfinite(low):
        gaps = [10.0**-k for k in (7, 8, 9)]
        near = [slopes(name, method, scale * (low + gap), shapes) for gap in gaps]
        found = slopes(name, method, scale * low, shapes)
        assert not np.isnan(found).any()
        check(found, limit(*near), f"{name}{shapes}.{method} at {low}: {found} {near}")
    if np.isfinite(high):
        gaps = [10.0**-k for k in (4, 5, 6)]
        near = [slopes(name, method, 1.0 - gap, shapes, 1.0) for gap in gaps]
        found = slopes(name, method, 1.0, shapes, 1.0)
        assert not np.isnan(found).any()
        check(found, limit(*near), f"{name}{shapes}.{method} at {high}: {found} {near}")


@pytest.mark.parametrize(("name", "shapes"), CASES)
@pytest.mark.parametrize("method", FUNCTIONS)
def test_outside_and_far_away_derivatives_are_numbers(
    name: str, shapes: tuple[float, ...], method: str
) -> None:
    low, high = getattr(theirs, name)(*shapes).support()
    for x in (-np.inf, -1e300, -50.0, 50.0, 1e300, np.inf, np.nan):
        found = slopes(name, method, x, shapes)
        if np.isnan(x):
            assert np.all(np.isnan(found) | (found == 0.0))
            continue
        assert not np.isnan(found).any(), (x, found)
        outside = x < low or x > 1.3 * high
        vanished = np.isinf(x) and not method.startswith("log")
        if outside or vanished:
            assert np.all(found == 0.0), (x, found)


@pytest.mark.parametrize(("name", "shapes"), CASES)
@pytest.mark.parametrize("method", ["ppf", "isf"])
def test_quantiles_of_certainty(name: str, shapes: tuple[float, ...], method: str) -> None:
    low, high = getattr(theirs, name)(*shapes).support()
    for q in (0.0, 1.0):
        found = slopes(name, method, q, shapes)
        assert not np.isnan(found).any(), (q, found)
        end = low if (q == 0.0) == (method == "ppf") else high
        if np.isfinite(end):
            # The end does not move with the shapes; by the probability it is 1 / density.
            assert np.all(found[1:-2] == 0.0)
            density = getattr(ours, name).pdf(1.3 * end, *shapes, 0.0, 1.3)
            with np.errstate(divide="ignore"):
                expected = 1 / density if method == "ppf" else -1 / density
            np.testing.assert_allclose(found[0], expected, err_msg=f"{q}")


#: Exact derivatives by the place, the shape, `loc` and `scale` at the low end.
EXACT = [
    ("gamma", "pdf", (1.0,), 2.0, [-0.25, None, 0.25, -0.25]),
    ("gamma", "pdf", (2.0,), 2.0, [0.25, 0.0, -0.25, 0.0]),
    ("gamma", "pdf", (1.5,), 2.0, [np.inf, 0.0, -np.inf, 0.0]),
    ("gamma", "logpdf", (3.0,), 2.0, [np.inf, -np.inf, -np.inf, -1.5]),
    ("gamma", "cdf", (0.5,), 2.0, [np.inf, 0.0, -np.inf, 0.0]),
    ("gamma", "logcdf", (3.0,), 2.0, [np.inf, -np.inf, -np.inf, -1.5]),
    ("rayleigh", "pdf", (), 2.0, [0.25, -0.25, 0.0]),
    ("maxwell", "pdf", (), 2.0, [0.0, 0.0, 0.0]),
    ("weibull_min", "pdf", (1.0,), 2.0, [-0.25, None, 0.25, -0.25]),
    ("pareto", "logcdf", (4.0,), 1.0, [np.inf, 0.25, -np.inf, -np.inf]),
    ("f", "logcdf", (2.0, 4.0), 2.0, [np.inf, None, None, -np.inf, -0.5]),
    ("triang", "pdf", (0.5,), 2.0, [1.0, 0.0, -1.0, 0.0]),
    ("powerlaw", "logcdf", (0.5,), 2.0, [np.inf, -np.inf, -np.inf, -0.25]),
]


@pytest.mark.parametrize(("name", "method", "shapes", "scale", "expected"), EXACT)
def test_exact_derivatives_at_the_low_end(
    name: str, method: str, shapes: Any, scale: float, expected: list[float | None]
) -> None:
    low = 1.0 if name == "pareto" else 0.0
    found = slopes(name, method, low * scale, shapes, scale)
    for one, two in zip(found, expected, strict=True):
        if two is not None:
            np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-15)


def test_second_derivatives_at_the_low_end() -> None:
    second = fg.grad(fg.grad(lambda x: ours.gamma.pdf(x, 3.0)))(0.0)
    assert second == pytest.approx(1.0)
    mixed = fg.grad(lambda s: fg.grad(lambda x: ours.gamma.pdf(x, 2.0, 0.0, s))(0.0))(2.0)
    assert mixed == pytest.approx(-2 / 2.0**3)


def test_the_logarithm_of_a_normal_tail() -> None:
    for x in (-5.0, -1e3, -1e8):
        slope = fg.grad(lambda x: ours.norm.logcdf(x))(x)
        # The continued fraction of the inverse Mills ratio (DLMF 7.9.1).
        ratio = -x
        for k in range(60, 0, -1):
            ratio = -x + k / ratio
        assert slope == pytest.approx(ratio, rel=1e-12)
    second = fg.grad(fg.grad(lambda x: ours.norm.logcdf(x)))(-1e5)
    assert second == pytest.approx(-1.0, rel=1e-6)


@pytest.mark.parametrize(("name", "shapes"), CASES)
@pytest.mark.parametrize("method", FUNCTIONS)
def test_ends_among_many_others(name: str, shapes: tuple[float, ...], method: str) -> None:
    """The few that are special are computed apart: all is as without the others."""
    low, high = getattr(theirs, name)(*shapes).support()
    x = getattr(theirs, name)(*shapes).ppf(np.linspace(0.2, 0.8, 5000)) * 1.3
    rare = [v for v in (1.3 * low, 1.3 * high, -2.0, 1e300, -1e300, np.inf) if v == v]
    at = np.array([0, 17, 999, 2500, 4000, 4999])[: len(rare)]
    x[at] = rare

    def of(x: np.ndarray, width: Any) -> tuple[np.ndarray, ...]:
        given = [fg.tensor(np.asarray(v, float), requires_grad=True) for v in (x, width)]
        found = getattr(getattr(ours, name), method)(given[0], *shapes, 0.0, given[1])
        slope = fg.autograd.grad(found.sum(), given)
        return tuple(v.detach().numpy() for v in (found, *slope))

    scale = np.full(5000, 1.3)
    whole, few = of(x, scale), of(x[at], scale[at])
    usual = of(x[np.setdiff1d(np.arange(5000), at)], np.full(5000 - len(at), 1.3))
    for all_, special, rest in zip(whole, few, usual, strict=True):
        np.testing.assert_allclose(all_[at], special, rtol=1e-12)
        np.testing.assert_allclose(np.delete(all_, at), rest, rtol=1e-12)
    one = of(x, 1.3)
    np.testing.assert_array_equal(one[0], whole[0])
    np.testing.assert_array_equal(one[1], whole[1])


def test_ends_among_many_others_with_shapes_of_more_axes() -> None:
    x, a = np.linspace(0.0, 3.0, 5000), np.array([[1.0], [2.0], [3.5]])
    given = [fg.tensor(v, requires_grad=True) for v in (x, a)]
    found = ours.gamma.pdf(*given)
    np.testing.assert_allclose(found.detach().numpy(), theirs.gamma.pdf(x, a))
    by_x, by_a = fg.autograd.grad(found.sum(), given)
    assert by_x.numpy()[0] == pytest.approx(-1.0 + 1.0)
    rows = [fg.grad(lambda a: ours.gamma.pdf(x[1:], a).sum())(float(v)) for v in a[:, 0]]
    np.testing.assert_allclose(by_a.numpy()[1:, 0], rows[1:], rtol=1e-9)
