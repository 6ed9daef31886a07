"""`ferrograd.scipy` beside SciPy: values, kinds, derivatives, refusals."""

from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

import ferrograd as fg
import ferrograd.numpy as fnp
from ferrograd.scipy import integrate, linalg, signal, special, stats
from ferrograd.scipy.misc import logsumexp
from scipy_cases import ROWS, Row


def ids(row: Row) -> str:
    return row.name


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_arrays_give_the_arrays_of_scipy(row: Row) -> None:
    expected, found = row.theirs(*row.arrays), row.ours(*row.arrays)
    assert not isinstance(found, fg.Tensor)
    assert np.shape(found) == np.shape(expected)
    assert_allclose(found, expected, rtol=2e-9, atol=1e-12)


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_tensors_give_tensors_with_derivatives(row: Row) -> None:
    tensors = tuple(fg.tensor(a, requires_grad=True) for a in row.arrays)
    found = row.ours(*tensors)
    assert isinstance(found, fg.Tensor)
    assert_allclose(found.detach().numpy(), row.theirs(*row.arrays), rtol=2e-9, atol=1e-12)
    fg.gradcheck(row.ours, tensors, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("row", [r for r in ROWS if r.order > 1], ids=ids)
def test_second_derivatives(row: Row) -> None:
    check = fg.check_grads(
        lambda *a: fnp.sum(fnp.sin(row.ours(*a))), "rev", 2, rtol=1e-3, atol=1e-4
    )
    check(*row.arrays)


def test_outside_the_support_densities_vanish_and_gradients_stay_finite() -> None:
    outside = np.array([-1.0, 0.5, 3.0])
    for f in (
        lambda x: stats.gamma.pdf(x, 2.0),
        lambda x: stats.beta.pdf(x, 2.0, 3.0),
        lambda x: stats.gamma.cdf(x, 2.0),
        lambda x: stats.beta.cdf(x, 2.0, 3.0),
    ):
        slope = fg.grad(lambda x, f=f: fnp.sum(f(x)))(outside)
        assert slope[0] == 0
        assert np.all(np.isfinite(slope))
    assert stats.gamma.logpdf(-1.0, 2.0) == -np.inf
    assert stats.poisson.logpmf(0.5, 2.0) == -np.inf


@pytest.mark.parametrize(
    "call",
    [
        lambda a: special.spherical_in(a, 1.0),
        lambda a: special.hyperu(-a, 1.5, 1.5),
        lambda a: special.hyp0f1(a, -900.0),
        lambda a: special.expn(a, 1.0),
        lambda a: stats.multivariate_normal.logpdf(
            np.zeros(2), cov=a * np.eye(2), allow_singular=True
        ),
    ],
)
def test_what_has_no_derivative_says_so(call: Any) -> None:
    with pytest.raises(NotImplementedError):
        fg.grad(lambda a: fnp.sum(call(a)))(2.0)


def test_wrong_axes_of_a_convolution() -> None:
    a, b = np.ones((4, 4)), np.ones((2, 5))
    with pytest.raises(ValueError, match="valid"):
        signal.convolve(a, b, mode="valid")
    with pytest.raises(ValueError, match="mode"):
        signal.convolve(a, b, mode="half")
    with pytest.raises(ValueError, match="axes"):
        signal.convolve(a, b, axes=([0], [0, 1]))


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_a_mode_in_third_place_is_that_of_scipy(mode: str) -> None:
    a, b = np.arange(7.0), np.array([1.0, -2.0, 0.5])
    np.testing.assert_array_equal(signal.convolve(a, b, mode), np.convolve(a, b, mode))
    with pytest.raises(ValueError, match="mode is 'half'"):
        signal.convolve(a, b, "half")


def test_an_ode_without_arguments() -> None:
    times = np.array([0.0, 1.0])
    end = fg.value_and_grad(
        lambda y: integrate.odeint(lambda y, t: -y, fnp.array([y]), times, rtol=1e-10)[1, 0]
    )
    assert end(2.0) == pytest.approx((2 * np.exp(-1), np.exp(-1)), rel=1e-7)


def test_a_density_in_the_span_of_a_singular_covariance() -> None:
    cov, mean = np.diag([2.0, 0.0, 0.5]), np.array([1.0, -1.0, 0.5])
    inside = np.array([[0.5, -1.0, 0.25], [2.0, -1.0, 0.0]])

    def density(x: Any, mean: Any) -> Any:
        return stats.multivariate_normal.pdf(x, mean, cov, True)

    theirs = scipy.stats.multivariate_normal.pdf(inside, mean, cov, True)
    assert_allclose(density(inside, mean), theirs, rtol=1e-12)
    assert density(inside[0] + 1.0, mean) == 0
    keep = np.array([0, 2])

    def along(x: Any, m: Any) -> Any:
        return density(fnp.c_[x[:, :1], inside[:, 1:2], x[:, 1:]], fnp.r_[m[0], -1.0, m[1]])

    fg.check_grads(along)(inside[:, keep], mean[keep])


def test_bands() -> None:
    ab = np.array([[0.0, 0.5, 0.2, -0.3], [2.0, 3.0, -2.5, 4.0], [0.1, -0.4, 0.7, 0.0]])
    dense = np.diag(ab[1]) + np.diag(ab[0, 1:], 1) + np.diag(ab[2, :-1], -1)
    for b in (np.arange(4.0), np.arange(8.0).reshape(4, 2)):
        found = linalg.solve_banded((1, 1), ab, b)
        assert_allclose(found, np.linalg.solve(dense, b))
        fg.check_grads(lambda ab, b: linalg.solve_banded((1, 1), ab, b))(ab, b)
    fg.check_grads(lambda ab: linalg.solve_banded((2, 0), ab, np.ones(4)))(ab[[1, 2, 0]])


def test_other_names_are_those_of_scipy() -> None:
    assert special.ellipj is scipy.special.ellipj
    assert linalg.hadamard is scipy.linalg.hadamard
    assert stats.norm.rvs(size=3, random_state=1).shape == (3,)
    assert stats.dirichlet.rvs(np.ones(3)).shape == (1, 3)
    assert stats.foldnorm is scipy.stats.foldnorm
    with pytest.raises(AttributeError):
        _ = special.no_such_name
    with pytest.raises(TypeError, match=r"scipy\.stats\.foldnorm\.logpdf"):
        fg.grad(lambda x: stats.foldnorm.logpdf(x, 1.0))(1.0)


def test_an_ode_with_containers_of_arguments() -> None:
    times, start = np.linspace(0.0, 1.0, 4), np.array([2.0])

    def end(p: Any) -> Any:
        return integrate.odeint(
            lambda y, t, p, c: -p["rate"] * y + p["pull"][0] * c, start, times, (p, 0.5), rtol=1e-10
        )[-1, 0]

    fg.check_grads(end, rtol=1e-4)({"rate": 0.7, "pull": [np.array(1.2)]})


def test_an_ode_does_not_lose_what_its_function_closes_over() -> None:
    def solved(a: Any) -> Any:
        return integrate.odeint(lambda y, t: -a * y, np.ones(1), np.array([0.0, 1.0])).sum()

    with pytest.raises(NotImplementedError, match="pass it in args"):
        fg.grad(solved)(2.0)
    assert solved(2.0) == pytest.approx(1 + np.exp(-2), rel=1e-6)


def test_older_names() -> None:
    assert logsumexp is special.logsumexp
