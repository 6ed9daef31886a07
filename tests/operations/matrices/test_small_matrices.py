"""Batches of small matrices, which are factorised four at a time.

Values and derivatives are those of the operation tables.
"""

import itertools

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import MatrixError

SIZES = (1, 2, 3, 5, 8, 9)
FUNCTIONS = ("inv", "det", "slogdet", "qr", "svd", "svdvals", "matrix_exp")


def batch(count: int, *shape: int, dtype: type = np.float64, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, *shape)).astype(dtype)


def parts(result: object) -> tuple:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_matrix_has_the_same_bits_alone_and_beside_others(name: str, dtype: type) -> None:
    function = getattr(fg.linalg, name)
    for n, count in itertools.product(SIZES, (1, 4, 7)):
        a = batch(count, n, n, dtype=dtype, seed=n)
        whole = parts(function(fg.tensor(a)))
        turned = parts(function(fg.tensor(np.asfortranarray(a))))
        for index in range(count):
            alone = parts(function(fg.tensor(a[index : index + 1])))
            for some, same, one in zip(whole, turned, alone, strict=True):
                np.testing.assert_array_equal(some.numpy()[index], one.numpy()[0])
                np.testing.assert_array_equal(same.numpy()[index], one.numpy()[0])


@pytest.mark.parametrize("n", SIZES)
def test_factors_multiply_to_their_matrix(n: int) -> None:
    for m, scale in itertools.product(SIZES, (1e-160, 1.0, 1e150)):
        a = batch(6, m, n, seed=m) * scale
        a[1, :, -1] = a[1, :, 0]
        a[2] = 0
        q, r = (x.numpy() for x in fg.linalg.qr(a))
        u, s, vt = (x.numpy() for x in fg.linalg.svd(a, full_matrices=False))
        np.testing.assert_allclose(q @ r, a, rtol=0, atol=1e-13 * scale)
        np.testing.assert_allclose((u * s[:, None]) @ vt, a, rtol=0, atol=1e-13 * scale)
        one = np.broadcast_to(np.eye(min(m, n)), (6, min(m, n), min(m, n)))
        for turn in (q.mT @ q, u.mT @ u, vt @ vt.mT):
            np.testing.assert_allclose(turn, one, rtol=0, atol=1e-13)
        values = fg.linalg.svdvals(a).numpy()
        np.testing.assert_allclose(values, np.linalg.svdvals(a), rtol=1e-12, atol=1e-13 * scale)


@pytest.mark.parametrize("n", SIZES)
def test_eigenvectors_of_equal_and_of_distinct_values(n: int) -> None:
    a = batch(7, n, n)
    a = a + a.mT
    a[3], a[4] = np.eye(n), np.diag(np.arange(n) // 2)
    w, v = (x.numpy() for x in fg.linalg.eigh(a))
    np.testing.assert_allclose((v * w[:, None]) @ v.mT, a, rtol=0, atol=1e-13 * n)
    np.testing.assert_allclose(v.mT @ v, np.broadcast_to(np.eye(n), a.shape), rtol=0, atol=1e-13)
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a), rtol=0, atol=1e-13 * n)


@pytest.mark.parametrize("index", range(6))
def test_a_matrix_without_a_result_is_named(index: int) -> None:
    a = batch(6, 3, 3) + 4 * np.eye(3)
    a[index] = 1.0
    for function in (fg.linalg.inv, lambda x: fg.linalg.solve(x, np.ones((6, 3, 1)))):
        with pytest.raises(MatrixError, match=rf"\[{index}\]"):
            function(a)
    definite = a @ a.mT + np.eye(3)
    definite[index] = -np.eye(3)
    with pytest.raises(MatrixError, match=rf"\[{index}\]"):
        fg.linalg.cholesky(definite)


def test_nan_stays_in_its_matrix() -> None:
    a = batch(6, 4, 4)
    a[2, 1, 1] = np.nan
    for found in (fg.linalg.det(a), fg.linalg.slogdet(a)[1]):
        assert np.isnan(found.numpy()).tolist() == [i == 2 for i in range(6)]


@pytest.mark.parametrize("n", [2, 3, 8, 30])
def test_the_derivative_of_a_determinant_near_zero(n: int) -> None:
    a = batch(5, n, n)
    a[1, 0] = a[1, 1]
    a[2] *= 1e-9
    x = fg.tensor(a, requires_grad=True)
    fg.linalg.det(x).sum().backward()
    for matrix, found in zip(a, x.grad.numpy(), strict=True):
        minor = np.delete(np.delete(matrix, 0, 0), n - 1, 1)
        expected = np.linalg.det(minor) * (-1) ** (n - 1)
        np.testing.assert_allclose(found[0, -1], expected, rtol=1e-7)


@pytest.mark.parametrize("power", [315, -318])
def test_the_derivative_of_a_determinant_that_does_not_fit(power: int) -> None:
    a = batch(1, 20, 20)[0]
    size = 10 ** ((power - np.log10(abs(np.linalg.det(a)))) / 20)
    x = fg.tensor(a * size, requires_grad=True)
    det = fg.linalg.det(x)
    assert det.item() in (np.inf, -np.inf) or abs(det.item()) < np.finfo(float).tiny
    det.backward()
    expected = np.linalg.det(a) * np.linalg.inv(a).T * size**19
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-9)


def test_the_pseudo_inverse_of_many_rows_forms_no_square_of_them() -> None:
    x = fg.tensor(batch(1, 60_000, 2)[0], requires_grad=True)
    fg.linalg.pinv(x).sum().backward()
    p = np.linalg.pinv(x.detach().numpy())
    g = np.ones_like(p)
    a = x.detach().numpy()
    expected = -p.T @ (g @ p.T) + (g.T @ (p @ p.T) - a @ (p @ (g.T @ (p @ p.T))))
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-9, atol=1e-18)
