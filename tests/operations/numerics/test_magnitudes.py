"""Numbers that are infinite, or whose squares do not fit: quantiles, interpolation, norms, angles.

Conventions and special cases of ordinary numbers: `test_mathematics.py`; special values of every
operation: `test_ops.py`.
"""

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import linalg
from test_mathematics import INF, NAN, slope

ENDLESS = ([1.0, 2.0, INF], [-INF, 1.0, 2.0], [-INF, 1.0, INF], [1.0, INF, INF])
PICKING = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


@pytest.mark.parametrize("x", ENDLESS, ids=str)
def test_quantiles_among_infinite_elements(x: list[float]) -> None:
    levels = np.array([0.0, 0.25, 0.5, 0.9, 1.0])
    for method in PICKING:
        ours = fg.quantile(fg.tensor(x), levels, method=method)
        np.testing.assert_array_equal(ours, np.quantile(x, levels, method=method), method)  # type: ignore[call-overload]
    for end in (0, 1):
        assert fg.quantile(fg.tensor(x), end).item() == np.quantile(x, end)
    assert slope(lambda t: fg.quantile(t, 0.5, method="lower"), x) == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize("name", ["median", "nanmedian", "mean", "nanmean"])
@pytest.mark.parametrize("x", [[-1.7e308], [-1.7e308, 1.7e308, 1.7e308], [5e-324], [3.0, 2.0, 7.0]])
def test_a_middle_element_is_itself_at_every_magnitude(name: str, x: list[float]) -> None:
    found, expected = getattr(fg, name)(fg.tensor(x)).item(), getattr(np, name)(np.array(x)).item()
    assert str(found) == str(expected)
    assert np.all(np.isfinite(fg.grad(getattr(fg, name))(np.array(x[:1]))))


def test_a_quantile_that_picks_an_element_keeps_integers() -> None:
    x = np.array([2**60 + 1, 5, 3])
    for method in PICKING:
        ours = fg.quantile(fg.tensor(x), np.array([0.0, 0.4, 1.0]), method=method)
        theirs = np.quantile(x, np.array([0.0, 0.4, 1.0]), method=method)  # type: ignore[call-overload]
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    assert fg.quantile(fg.tensor(x), 1).item() == 2**60 + 1
    assert fg.quantile(fg.tensor(x), 0.5).dtype == fg.float64


def test_interpolation_between_infinite_values() -> None:
    places, knots = np.array([0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, NAN]), np.array([1.0, 2.0, 3.0])
    for values in ([1.0, INF, 2.0], [INF, INF, 1.0], [-INF, INF, 1.0], [NAN, 1.0, 2.0]):
        ours = fg.interp(fg.tensor(places), fg.tensor(knots), fg.tensor(values))
        np.testing.assert_array_equal(ours, np.interp(places, knots, values))


@pytest.mark.parametrize("size", [1e-200, 1e160, 1e300])
def test_spectral_norms_of_very_large_and_very_small_matrices(size: float) -> None:
    x = np.array([[3.0, 0.0], [4.0, 0.5]]) * size
    for order in (2, -2, "nuc"):
        ours, theirs = linalg.matrix_norm(fg.tensor(x), ord=order), np.linalg.norm(x, order)  # type: ignore[arg-type]
        np.testing.assert_allclose(ours, theirs, 1e-12)
    assert np.isfinite(slope(lambda t: linalg.matrix_norm(t, ord=2), x)).all()
    assert slope(lambda t: linalg.matrix_norm(t, ord=2), np.zeros((2, 2))) == [[[0.0, 0.0]] * 2]


def test_angles_of_points_whose_squares_do_not_fit() -> None:
    for size, dtype in ((1e-300, fg.float64), (1e300, fg.float64), (1e-30, fg.float32)):
        a, b = (fg.tensor([s * size], dtype, requires_grad=True) for s in (3.0, 4.0))
        ga, gb = fg.autograd.grad(fg.arctan2(a, b).sum(), [a, b])
        np.testing.assert_allclose([ga.item(), gb.item()], [0.16 / size, -0.12 / size], 1e-6)


@pytest.mark.parametrize("n", [1, 9])
def test_angles_of_points_that_are_infinitely_far(n: int) -> None:
    inf, nan = float("inf"), float("nan")
    for y, x in ((1.0, inf), (-1.0, -inf), (inf, 2.0), (inf, inf), (1.5e308, 1.5e308)):
        a, b = (fg.full(n, v).requires_grad_() for v in (y, x))
        ga, gb = fg.autograd.grad(fg.arctan2(a, b).sum(), [a, b], create_graph=True)
        assert not ga.detach().any()
        assert not gb.detach().any()
        assert not fg.autograd.grad(ga.sum() + gb.sum(), a)[0].any()
    a, b = (fg.full(n, v).requires_grad_() for v in (nan, inf))
    assert fg.autograd.grad(fg.arctan2(a, b).sum(), a)[0].isnan().all()


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e155, 1e300])
@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_complex_matrices_far_from_one(n: int, size: float) -> None:
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    far = fg.tensor(a * size)
    np.testing.assert_allclose(linalg.svdvals(far), np.linalg.svd(a)[1] * size, rtol=1e-9)
    np.testing.assert_allclose(linalg.slogdet(far)[1], np.linalg.slogdet(a * size)[1], rtol=1e-9)
    np.testing.assert_allclose(linalg.inv(far), np.linalg.inv(a) / size, rtol=1e-9)
    np.testing.assert_allclose(linalg.solve(far, a[:, 0]), np.eye(n)[0] / size, atol=1e-9 / size)
    low = np.tril(a) + 4 * np.eye(n)
    found = linalg.solve_triangular(fg.tensor(low * size), low.sum(1), lower=True)
    np.testing.assert_allclose(found, np.full(n, 1 / size), rtol=1e-9)
    w = np.linalg.eigvalsh(a + a.conj().T)
    np.testing.assert_allclose(linalg.eigvalsh(far + far.conj().T), w * size, rtol=1e-9)
    values = np.sort(np.abs(linalg.eigvals(far).numpy()))
    np.testing.assert_allclose(values, np.sort(np.abs(np.linalg.eigvals(a))) * size, rtol=1e-9)
    b = a @ a.conj().T + np.eye(n)
    root = linalg.sqrtm(fg.tensor(b * size)).numpy() / size**0.5
    np.testing.assert_allclose(root @ root, b, rtol=1e-9, atol=1e-9)
    shift = linalg.logm(fg.tensor(b * size)).numpy() - linalg.logm(fg.tensor(b)).numpy()
    np.testing.assert_allclose(shift, np.log(size) * np.eye(n), rtol=1e-9, atol=1e-9)
    q, r = linalg.qr(far)
    np.testing.assert_allclose(q.numpy() @ (r.numpy() / size), a, atol=1e-12)
