"""Discrete distributions of `ferrograd.scipy.stats`: ends of probabilities, values of SciPy's."""

from typing import Any

import numpy as np
import pytest
import scipy.stats as theirs

import ferrograd as fg
from ferrograd.scipy import stats as ours

#: The parameters before the last one.
FIRST: dict[str, tuple[tuple[float, ...], ...]] = {
    "bernoulli": ((),),
    "binom": ((0.0,), (1.0,), (2.0,), (5.0,)),
    "geom": ((),),
    "nbinom": ((0.5,), (1.0,), (3.0,)),
    "poisson": ((),),
}
CASES = [(name, first) for name, several in FIRST.items() for first in several]
FUNCTIONS = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")
SHAPES = {"bernoulli": "p", "binom": "n p", "geom": "p", "nbinom": "n p", "poisson": "mu"}
COUNTS = (-1, 0, 1, 2, 4, 5, 6)


def slopes(name: str, method: str, k: float, given: tuple[float, ...]) -> np.ndarray:
    """The derivatives by the parameters."""
    tensors = [fg.tensor(np.float64(v), requires_grad=True) for v in given]
    value = getattr(getattr(ours, name), method)(k, *tensors)
    plain = getattr(getattr(ours, name), method)(k, *given)
    np.testing.assert_allclose(value.detach().numpy(), plain, rtol=1e-13)
    if not value.requires_grad:
        return np.zeros(len(given))
    found = fg.autograd.grad(value, tensors, allow_unused=True)
    return np.array([0.0 if g is None else g.item() for g in found])


@pytest.mark.parametrize(("name", "first"), CASES)
@pytest.mark.parametrize("method", FUNCTIONS)
def test_at_impossible_and_certain_events_derivatives_are_the_limits(
    name: str, first: tuple[float, ...], method: str
) -> None:
    for p, inwards in ((0.0, 1.0), (1.0, -1.0)):
        if (name, p) in (("poisson", 1.0), ("geom", 0.0), ("nbinom", 0.0)):
            continue
        for k in COUNTS:
            found = slopes(name, method, k, (*first, p))
            near = slopes(name, method, k, (*first, p + 1e-7 * inwards))
            nearer = slopes(name, method, k, (*first, p + 1e-8 * inwards))
            assert not np.isnan(found).any(), (k, p)
            finite = np.isfinite(found)
            grows = np.abs(nearer) > np.abs(near) + 1.0
            np.testing.assert_allclose(found[finite], nearer[finite], 1e-5, 1e-4, err_msg=f"{k}{p}")
            assert np.all(grows[~finite]), (k, p, found, nearer)
            assert np.all(np.sign(nearer[~finite]) == np.sign(found[~finite])), (k, p)


@pytest.mark.parametrize(("name", "first"), CASES)
@pytest.mark.parametrize("method", FUNCTIONS)
def test_values(name: str, first: tuple[float, ...], method: str) -> None:
    mine, other = getattr(getattr(ours, name), method), getattr(getattr(theirs, name), method)
    k = np.array([*COUNTS, 0.5, 2.5])[:, None]
    low = 0.05 if name in ("geom", "nbinom") else 0.0
    p = np.array([low, 0.3, 1.0])
    with np.errstate(all="ignore"):
        expected = other(k, *first, p)
    # No trials have no successes; SciPy has NaN there.
    expected = np.where(np.isnan(expected) & (first == (0.0,)), mine(k, *first, p), expected)
    np.testing.assert_allclose(mine(k, *first, p), expected, rtol=1e-11, atol=1e-15)
    bad = [-0.1, np.nan] if name == "poisson" else [-0.1, 1.1, np.nan]
    assert np.all(np.isnan(mine(k, *first, bad)))
    assert np.all(np.isnan(mine(np.nan, *first, p)))


@pytest.mark.parametrize("name", FIRST)
def test_parameters_by_name(name: str) -> None:
    named = {"n": 3.0, "mu": 0.3, "p": 0.3, "loc": 1.0}
    given = {key: named[key] for key in (*SHAPES[name].split(), "loc")}
    for method in FUNCTIONS:
        mine, other = getattr(getattr(ours, name), method), getattr(getattr(theirs, name), method)
        np.testing.assert_allclose(mine(2, **given), other(2, **given), rtol=1e-12)
        np.testing.assert_allclose(
            getattr(getattr(ours, name)(**given), method)(2), mine(2, **given)
        )


def test_second_derivatives_at_ends() -> None:
    def second(method: str, k: int, p: float) -> Any:
        return fg.grad(fg.grad(lambda p: getattr(ours.binom, method)(k, 4.0, p)))(p)

    # 4 p (1 - p)³ and 6 p² (1 - p)².
    assert second("pmf", 1, 0.0) == pytest.approx(-24.0)
    assert second("pmf", 2, 0.0) == pytest.approx(12.0)
    assert second("pmf", 2, 1.0) == pytest.approx(12.0)
    assert second("logpmf", 0, 0.0) == pytest.approx(-4.0)
    assert fg.grad(fg.grad(lambda mu: ours.poisson.pmf(1, mu)))(0.0) == pytest.approx(-2.0)


def test_batches_mix_ends_and_others() -> None:
    p = np.array([0.0, 0.3, 1.0, 0.7])
    k = np.array([[0], [3], [7]])
    for method in FUNCTIONS:
        found = fg.grad(lambda p, m=method: getattr(ours.binom, m)(k, 5, p).sum())(p)
        several = [sum(slopes("binom", method, int(c[0]), (5.0, q))[1] for c in k) for q in p]
        np.testing.assert_allclose(found, several)


def test_large_numbers_of_trials_at_ends() -> None:
    assert fg.grad(lambda p: ours.binom.pmf(2000, 4000, p))(0.0) == 0.0
    assert fg.grad(lambda p: ours.binom.pmf(1, 4000, p))(0.0) == pytest.approx(4000.0)


@pytest.mark.parametrize("name", FIRST)
def test_in_compiled_functions(name: str) -> None:
    first = FIRST[name][-1]
    for method in FUNCTIONS:

        def loss(p: Any, method: str = method) -> Any:
            return fg.tanh(getattr(getattr(ours, name), method)(2, *first, p)).sum()

        fast = fg.compile(loss)
        for p in (np.array([0.2, 0.6]), np.array([0.9, 1.0])):
            one, two = fg.tensor(p, requires_grad=True), fg.tensor(p, requires_grad=True)
            found, expected = (
                fg.autograd.grad(fast(one), one)[0],
                fg.autograd.grad(loss(two), two)[0],
            )
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


def test_wrong_parameters() -> None:
    with pytest.raises(TypeError, match=r"binom.pmf: got 1 parameters and \[\]; give n, p, loc"):
        ours.binom.pmf(1, 4)
    with pytest.raises(TypeError, match="of which loc may be left out"):
        ours.geom.pmf(1, q=0.3)
    with pytest.raises(TypeError, match="got 3 parameters"):
        ours.poisson.pmf(1, 1.0, 0.0, 1.0)
