"""Complex numbers through NumPy's and SciPy's functions: values, gradients and refusals."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from complex_support import check, numbers
from ferrograd.errors import DTypeError

Z = np.array([1 + 2j, 3 - 1j, 0.5 + 0.25j, 2 - 2j, 1j])
R = np.arange(1.0, 6.0)

#: Functions of one argument, or of an order and an argument; each has a complex derivative.
HOLOMORPHIC = {
    name: (lambda s, z, name=name: getattr(s, name)(z))
    for name in (
        *("dawsn", "erfi", "exp1", "expi", "log_ndtr", "airy", "fresnel", "shichi", "sici"),
        *("loggamma", "psi", "digamma", "erf", "erfc", "ndtr"),
    )
} | {
    name: (lambda s, z, name=name: getattr(s, name)(2, z))
    for name in (
        *("jv", "jn", "yv", "iv", "kv", "kve", "hyp0f1"),
        *("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"),
    )
}
HOLOMORPHIC["hyp2f1"] = lambda s, z: s.hyp2f1(0.5, 1.5, 2.5, z / 4)


@pytest.mark.parametrize("name", sorted(HOLOMORPHIC))
def test_special_functions_have_complex_gradients(name: str) -> None:
    pytest.importorskip("scipy")
    from ferrograd.scipy import special

    check(lambda z: HOLOMORPHIC[name](special, z), np.array([0.8 + 0.6j, 1.3 - 0.4j]))


@pytest.mark.parametrize("name", ["gamma", "rgamma", "jve", "yve", "ive"])
def test_special_functions_without_a_complex_rule_refuse(name: str) -> None:
    pytest.importorskip("scipy")
    from ferrograd.scipy import special

    order = () if "gamma" in name else (1,)
    with pytest.raises(DTypeError, match="real numbers only"):
        getattr(special, name)(*order, fg.tensor(Z, requires_grad=True))
    assert getattr(special, name)(*order, fg.tensor(Z)).dtype == np.complex128


@pytest.mark.parametrize("name", ["gammaln", "erfinv", "logit"])
def test_special_functions_of_reals_refuse_complex_tensors(name: str) -> None:
    pytest.importorskip("scipy")
    from ferrograd.scipy import special

    with pytest.raises(DTypeError, match="complex128"):
        getattr(special, name)(fg.tensor(Z))


@pytest.mark.parametrize("kinds", ["ccc", "rrc", "ccr", "rcr"])
def test_lfilter_of_complex_numbers(kinds: str) -> None:
    pytest.importorskip("scipy")
    from ferrograd.scipy import signal

    parts = [numbers(1, 2), np.array([2 + 1j, 0.3 - 0.2j, 0.1j]), numbers(2, 5)]
    parts = [p if k == "c" else p.real.copy() for p, k in zip(parts, kinds, strict=True)]
    check(signal.lfilter, *parts)


def test_lfilter_divides_by_an_imaginary_coefficient() -> None:
    scipy_signal = pytest.importorskip("scipy.signal")
    from ferrograd.scipy import signal

    a = np.array([1j, 0.5])
    got = signal.lfilter([1.0], fg.tensor(a), R).numpy()
    np.testing.assert_allclose(got, scipy_signal.lfilter([1.0], a, R))


def test_matrix_equations_have_complex_gradients() -> None:
    pytest.importorskip("scipy")
    from ferrograd.scipy import linalg

    check(linalg.solve_sylvester, numbers(3, 2, 2), numbers(4, 3, 3), numbers(5, 2, 3))
    bands = numbers(6, 3, 4) + np.array([[0], [5], [0]])
    check(lambda ab, b: linalg.solve_banded((1, 1), ab, b), bands, numbers(7, 4))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(5, 3), (3, 5)])
def test_correlations_conjugate_the_second(mode: str, sizes: tuple[int, int]) -> None:
    a, v = (numbers(k, n) for k, n in enumerate(sizes))
    got = np.correlate(fg.tensor(a), fg.tensor(v), mode)
    np.testing.assert_allclose(got.numpy(), np.correlate(a, v, mode))
    scipy_signal = pytest.importorskip("scipy.signal")
    from ferrograd.scipy import signal

    got = signal.correlate(fg.tensor(a), fg.tensor(v), mode)
    np.testing.assert_allclose(got.numpy(), scipy_signal.correlate(a, v, mode))
    a, v = (numbers(k, n, n) for k, n in enumerate(sizes))
    got = signal.correlate2d(fg.tensor(a), fg.tensor(v), mode)
    np.testing.assert_allclose(got.numpy(), scipy_signal.correlate2d(a, v, mode))


def test_correlations_of_images_conjugate_the_weights() -> None:
    theirs = pytest.importorskip("scipy.ndimage")
    from ferrograd.scipy import ndimage

    image, weights = numbers(1, 4, 4), numbers(2, 3, 3)
    for name in ("correlate", "convolve"):
        got = getattr(ndimage, name)(fg.tensor(image), fg.tensor(weights))
        np.testing.assert_allclose(got.numpy(), getattr(theirs, name)(image, weights))
        name += "1d"
        got = getattr(ndimage, name)(fg.tensor(image), fg.tensor(weights[0]))
        np.testing.assert_allclose(got.numpy(), getattr(theirs, name)(image, weights[0]))


#: Calls with complex tensors whose values are NumPy's.
VALUES: dict[str, Any] = {
    "vecmat": lambda z, r: np.vecmat(z, np.outer(r, r)),
    "float_power": lambda z, r: np.float_power(z, r),
    "gradient": lambda z, r: np.gradient(z, r),
    "linspace": lambda z, r: np.linspace(z[0], r[1], 4),
    "geomspace": lambda z, r: np.geomspace(z[0], r[1] + 9, 4),
    "logspace": lambda z, r: np.logspace(r[0], z[2], 4),
    "polyfit": lambda z, r: np.polyfit(r, z, 2),
    "polyfit of complex places": lambda z, r: np.polyfit(z, r, 2),
    "polyint": lambda z, r: np.polyint(z),
    "polyint with constants": lambda z, r: np.polyint(r, 1, z[:1]),
    "poly": lambda z, r: np.poly(z),
    "polydiv": lambda z, r: np.polydiv(z, z[:2])[0],
}


@pytest.mark.parametrize("name", sorted(VALUES))
def test_functions_keep_the_imaginary_part(name: str) -> None:
    got = VALUES[name](fg.tensor(Z), fg.tensor(R))
    np.testing.assert_allclose(got.numpy(), VALUES[name](Z, R), atol=1e-9)
    check(lambda z, r: VALUES[name](z, r) * r[0], Z, R, second=False)


#: Calls that would lose an imaginary part.
LOSSES: dict[str, Any] = {
    "gradient": lambda z, r: np.gradient(r, z),
    "linspace": lambda z, r: np.linspace(z[0], 3.0, 3, dtype=float),
    "logspace": lambda z, r: np.logspace(z[0], 3.0, 3, dtype=float),
    "geomspace": lambda z, r: np.geomspace(z[0], z[1], 3, dtype=float),
    "fg.linspace": lambda z, r: fg.linspace(1j, 2.0, 3),
    "fabs": lambda z, r: np.fabs(z),
    "ldexp": lambda z, r: np.ldexp(z, 2),
    "modf": lambda z, r: np.modf(z),
    "unwrap": lambda z, r: np.unwrap(z),
    "bincount": lambda z, r: np.bincount([0, 1, 1, 0, 2], weights=z),
    "nanquantile": lambda z, r: np.nanquantile(z, 0.5),
    "place": lambda z, r: np.place(r, r > 0, z),
    "place in an array": lambda z, r: np.place(r.numpy().copy(), np.array(r > 0), z),
    "putmask": lambda z, r: np.putmask(r, r > 0, z),
    "copyto": lambda z, r: np.copyto(r, z),
    "copyto where": lambda z, r: np.copyto(r, z, where=r > 0),
    "out": lambda z, r: np.add(z, 1.5, out=r),
    "out of a sum": lambda z, r: np.add.reduce(z, out=r[0]),
}


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_an_imaginary_part_is_never_dropped(name: str) -> None:
    real = fg.tensor(R)
    with pytest.raises(DTypeError, match="complex"):
        LOSSES[name](fg.tensor(Z), real)
    assert np.array_equal(real, R)


#: What takes positions, classes or counts.
PLACES: dict[str, Any] = {
    "index": lambda x, i: x[i],
    "assignment": lambda x, i: x.clone().__setitem__(i, 0.0),
    "take": lambda x, i: fg.take(x, i, 0),
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i.reshape(1, 2)),
    "take_along_axis": lambda x, i: fg.take_along_axis(x, i.reshape(2, 1), 0),
    "scatter": lambda x, i: x.scatter(0, i.reshape(1, 2), fg.ones(1, 2)),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, i.reshape(1, 2), fg.ones(1, 2), "sum"),
    "index_add": lambda x, i: x.index_add(0, i, fg.ones(2, 4)),
    "index_put": lambda x, i: x.index_put((i,), fg.ones(2, 4)),
    "put_along_axis": lambda x, i: fg.put_along_axis(x, i.reshape(2, 1), 1.0, 0),
    "embedding": lambda x, i: fg.nn.functional.embedding(i, x),
    "one_hot": lambda x, i: fg.nn.functional.one_hot(i, 4),
    "cross_entropy": lambda x, i: fg.nn.functional.cross_entropy(x[:2], i),
    "nll_loss": lambda x, i: fg.nn.functional.nll_loss(x[:2], i),
    "multi_margin_loss": lambda x, i: fg.nn.functional.multi_margin_loss(x[:2], i),
    "repeat": lambda x, i: fg.repeat(fg.ones(2), i),
    "split": lambda x, i: fg.split(x, i, 1),
    "bincount": lambda x, i: fg.bincount(i),
}


@pytest.mark.parametrize("name", sorted(PLACES))
def test_complex_numbers_are_no_positions(name: str) -> None:
    x = fg.arange(12.0).reshape(3, 4)
    PLACES[name](x, fg.tensor([1, 0]))
    for wrong in (fg.tensor([1 + 1j, 0j]), fg.tensor([1.0, 0.0])):
        with pytest.raises(fg.errors.FerrogradError, match=f"{wrong.dtype}"):
            PLACES[name](x, wrong)


def test_out_takes_results_of_the_same_kind() -> None:
    whole, single = fg.tensor(np.ones(5, int)), fg.tensor(np.ones(5, np.float32))
    with pytest.raises(DTypeError, match="float64 and out has elements of int64"):
        np.add(fg.tensor(R), 1.5, out=whole)
    assert np.array_equal(whole, np.ones(5))
    assert np.array_equal(np.add(fg.tensor(R), 1.5, out=single), R + 1.5)
