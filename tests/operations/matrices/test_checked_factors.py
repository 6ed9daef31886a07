"""The `_ex` functions: factors, and a number for each matrix that has none; cut-offs of `pinv`."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import linalg

RNG = np.random.default_rng(0)
GOOD = RNG.standard_normal((4, 3, 3)) + 3 * np.eye(3)
POSITIVE = GOOD @ GOOD.swapaxes(-2, -1)
SINGULAR = GOOD.copy()
SINGULAR[1] = np.diag([1.0, 0.0, 2.0])
SINGULAR[3] = 0.0
MIXED = POSITIVE.copy()
MIXED[2] = np.diag([1.0, 2.0, -1.0])
MIXED[3] = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
B = RNG.standard_normal((3, 2))


@pytest.mark.parametrize(
    ("call", "plain", "good", "bad", "info"),
    [
        (linalg.inv_ex, linalg.inv, GOOD, SINGULAR, [0, 2, 0, 1]),
        (
            lambda A, **o: linalg.solve_ex(A, B, **o),
            lambda A: linalg.solve(A, B),
            GOOD,
            SINGULAR,
            [0, 2, 0, 1],
        ),
        (linalg.cholesky_ex, linalg.cholesky, POSITIVE, MIXED, [0, 0, 3, 2]),
    ],
    ids=["inv_ex", "solve_ex", "cholesky_ex"],
)
def test_what_has_no_result_is_numbered(
    call: Any, plain: Any, good: Any, bad: Any, info: list[int]
) -> None:
    found = call(good)
    assert np.array_equal(found[0], plain(good))
    assert found.info.dtype == np.int32
    assert found.info.tolist() == [0] * 4
    x = fg.tensor(bad, requires_grad=True)
    result, numbers = call(x)
    assert numbers.tolist() == info
    for k, number in enumerate(info):
        if number:
            assert np.isnan(result[k].detach()).all()
        else:
            np.testing.assert_allclose(result[k].detach(), plain(bad[k]))
    keep = np.array(info) == 0
    result[keep].sum().backward()
    y = fg.tensor(bad[keep], requires_grad=True)
    plain(y).sum().backward()
    np.testing.assert_allclose(x.grad[keep], y.grad, atol=1e-12)
    assert not x.grad[~keep].numpy().any()
    with pytest.raises(fg.errors.MatrixError, match=rf"info is \[{', '.join(map(str, info))}\]"):
        call(bad, check_errors=True)
    single = call(bad[3])
    assert single.info.shape == ()
    assert single.info.item() == info[3]


def test_factors_of_singular_matrices() -> None:
    LU, pivots, info = linalg.lu_factor_ex(SINGULAR)
    assert info.tolist() == [0, 2, 0, 1]
    assert np.array_equal(LU, linalg.lu_factor(SINGULAR)[0])
    assert np.array_equal(pivots, linalg.lu_factor(SINGULAR)[1])
    upper = linalg.cholesky_ex(POSITIVE, upper=True).L
    assert np.array_equal(upper, linalg.cholesky(POSITIVE, upper=True))
    for call in (linalg.inv_ex, linalg.cholesky_ex):
        with pytest.raises(fg.errors.ShapeError, match="give square matrices"):
            call(B)


def test_cutoffs_of_the_pseudo_inverse() -> None:
    u, _, vh = np.linalg.svd(RNG.standard_normal((4, 3)), full_matrices=False)
    a = (u * [4.0, 1.0, 0.01]) @ vh
    two = (u[:, :2] / [4.0, 1.0]) @ vh[:2]
    one = np.outer(u[:, 0] / 4, vh[0])
    # The bound is the greater of `atol` and `rtol` times the largest; `atol` may stand alone.
    for options, expected in (
        ({"atol": 0.1}, two),
        ({"rtol": 0.1}, two),
        ({"atol": 2.0, "rtol": 0.1}, one),
        ({"atol": 0.001, "rtol": 0.5}, one),
        ({"atol": 0.001}, np.linalg.pinv(a).T),
        ({"atol": 0.0}, np.linalg.pinv(a).T),
        ({"rcond": 0.1}, two),
    ):
        np.testing.assert_allclose(linalg.pinv(a, **options), expected.T, atol=1e-12)
    x = fg.tensor(a, requires_grad=True)
    fg.gradcheck(lambda x: linalg.pinv(x, atol=0.001), (x,), rtol=1e-3)


def test_the_pseudo_inverse_of_hermitian_matrices_reads_one_triangle() -> None:
    for h in (POSITIVE[0], POSITIVE[0] + 1j * (GOOD[1] - GOOD[1].T)):
        whole = np.linalg.pinv(h, hermitian=True)
        np.testing.assert_allclose(linalg.pinv(h, hermitian=True), whole, atol=1e-12)
        np.testing.assert_allclose(np.linalg.pinv(fg.tensor(h), hermitian=True), whole, atol=1e-12)
        np.testing.assert_allclose(linalg.pinv(np.tril(h), hermitian=True), whole, atol=1e-12)
        x = fg.tensor(np.tril(h), requires_grad=True)
        fg.gradcheck(lambda x: linalg.pinv(x.tril(), hermitian=True).abs(), (x,))
