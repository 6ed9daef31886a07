"""Functions of `ferrograd.scipy` in compiled functions: later calls have the bits of eager ones."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import ferrograd as fg
import ferrograd.numpy as fnp
from ferrograd.scipy import (
    integrate,
    interpolate,
    ndimage,
    optimize,
    signal,
    sparse,
    special,
    stats,
)
from ferrograd.scipy.spatial import distance

XS = np.arange(5.0)
MATRIX = scipy.sparse.csr_array(np.eye(4, k=1) * 3 + np.eye(4))


def closed(x: Any) -> Any:
    return fnp.concatenate([x, x[:1]])


CALLS: dict[str, Callable[[Any], Any]] = {
    "product": lambda x: sparse.product(MATRIX, x).sum(),
    "product from the right": lambda x: (x @ MATRIX).sum(),
    "CubicSpline": lambda x: interpolate.CubicSpline(XS, closed(x))(x).sum(),
    "PchipInterpolator": lambda x: interpolate.PchipInterpolator(XS, closed(x))(1.5),
    "interp1d": lambda x: interpolate.interp1d(XS, XS**2, bounds_error=False)(x).sum(),
    "lfilter": lambda x: signal.lfilter([1.0], [1.0, -0.5], x).sum(),
    "filtfilt": lambda x: signal.filtfilt([1.0], [1.0, -0.5], x, padlen=2).sum(),
    "gaussian_filter": lambda x: (ndimage.gaussian_filter(x, 1.0) ** 2).sum(),
    "map_coordinates": lambda x: ndimage.map_coordinates(XS**2, x[None], order=3).sum(),
    "simpson": lambda x: integrate.simpson(x, x=fnp.cumsum(x)),
    "gamma.rvs": lambda x: stats.gamma.rvs(x, random_state=3).sum(),
    "expon.pdf": lambda x: stats.expon.pdf(x - 1.0).sum(),
    "gamma.pdf at an end": lambda x: stats.gamma.pdf(x - 0.5, x + 1, scale=x).sum(),
    "beta.logcdf at an end": lambda x: fnp.tanh(stats.beta.logcdf(x - 0.5, x + 1, x)).sum(),
    "cauchy.isf": lambda x: stats.cauchy.isf(x / 3, scale=x).sum(),
    "lognorm.logpdf": lambda x: stats.lognorm(x).logpdf(x - 0.6).sum(),
    "laplace.logcdf": lambda x: stats.laplace.logcdf(x, 1.5, x).sum(),
    "t.sf": lambda x: stats.t.sf(x - 1.5, x).sum(),
    "poisson.logsf": lambda x: stats.poisson.logsf(2, x).sum(),
    "gamma.isf": lambda x: stats.gamma.isf(0.1, x).sum(),
    "gamma.cdf": lambda x: stats.gamma.cdf(x, x + 1).sum(),
    "binom.logpmf": lambda x: stats.binom.logpmf(2, 4, x / 3).sum(),
    "jv": lambda x: special.jv(1.5, x).sum(),
    "rel_entr": lambda x: special.rel_entr(x, x[::-1]).sum(),
    "pdist": lambda x: distance.pdist(x[:, None] - 1.0, "canberra").sum(),
}
ARGUMENTS = (np.array([0.5, 1.5, 0.7, 2.2]), np.array([2.6, 0.4, 1.1, 0.9]))


@pytest.mark.parametrize("name", CALLS)
def test_calls_follow_their_arguments(name: str) -> None:
    for function in (CALLS[name], fg.grad(CALLS[name])):
        compiled = fg.compile(function)
        for x in (*ARGUMENTS, ARGUMENTS[0]):
            # Arrays alone may be SciPy's own way, with other roundings.
            expected = np.asarray(function(fg.tensor(x)))
            np.testing.assert_array_equal(np.asarray(compiled(x)), expected)


@pytest.mark.parametrize(
    ("name", "shapes"), [("norm", ()), ("gamma", (1.5,)), ("beta", (0.5, 2.0)), ("expon", ())]
)
def test_densities_are_programs_without_python(name: str, shapes: Any) -> None:
    def total(x: Any, scale: Any) -> Any:
        found = getattr(stats, name).logpdf(x, *shapes, 0.0, scale)
        return fnp.where(fnp.isfinite(found), found, 0.0).sum()

    function = fg.grad(total, argnums=(0, 1))
    compiled = fg.compile(function)
    inside, ends = np.array([0.3, 0.9, 1.2]), np.array([0.0, -np.inf, np.inf])
    scale = np.array(2.0)
    for x in (inside, ends, np.array([2.0, np.nan, -1.0]), inside):
        for found, expected in zip(
            compiled(x, scale), function(fg.tensor(x), fg.tensor(scale)), strict=True
        ):
            np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    assert "calls Python" not in compiled.explain(inside, scale)


def test_draws_of_a_compiled_function_are_new_in_every_call() -> None:
    compiled = fg.compile(lambda scale: stats.norm.rvs(0.0, scale, size=3))
    first, second = (np.asarray(compiled(np.array(2.0))) for _ in range(2))
    assert np.all(first != second)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: integrate.quad(lambda t, p: p * t, 0.0, 1.0, (x[0],))[0],
        lambda x: integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), x).y.sum(),
        lambda x: optimize.root(lambda y, p: y**3 - p, np.ones(4), (x,)).x.sum(),
        lambda x: interpolate.interp1d(XS, XS**2)(x).sum(),
    ],
)
def test_what_looks_at_values_is_refused(call: Any) -> None:
    with pytest.raises(fg.errors.CompileError, match="reads a value"):
        fg.compile(call)(ARGUMENTS[0])


@pytest.mark.parametrize("name", ["gammaln", "digamma", "erf", "expit", "logsumexp"])
def test_functions_of_arrays_that_are_closed_over_read_them_where_they_lie(name: str) -> None:
    weights = np.array([1.5, 2.5])

    def f(x: Any) -> Any:
        return fnp.sum(x * getattr(special, name)(weights))

    for function in (f, fg.grad(f)):
        compiled = fg.compile(function)
        for weights[0] in (1.5, 3.5):
            for x in (ARGUMENTS[0][:2], ARGUMENTS[1][:2]):
                expected = np.asarray(function(fg.tensor(x)))
                np.testing.assert_array_equal(np.asarray(compiled(x)), expected)
        assert len(compiled.programs) == 1
