"""Reductions of `ferrograd.scipy.linalg` beside SciPy: RQ, Hessenberg, LDL, and what is refused."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.errors import NotDifferentiableError
from ferrograd.scipy import linalg as ours

RANDOM = np.random.default_rng(41)


def matrix(rows: int, columns: int, complex_: bool) -> np.ndarray:
    found = RANDOM.normal(size=(rows, columns))
    return found + 1j * RANDOM.normal(size=(rows, columns)) if complex_ else found


def check(name: str, a: np.ndarray, count: int, **more: Any) -> tuple[Any, ...]:
    """Values of SciPy's, arrays for arrays, and both derivatives of every factor."""
    mine, other = getattr(ours, name), getattr(theirs, name)

    def several(found: Any) -> tuple[Any, ...]:
        return (found if isinstance(found, tuple) else (found,))[:count]

    expected = several(other(a, **more))
    for one, two in zip(several(mine(a, **more)), expected, strict=True):
        assert isinstance(one, np.ndarray)
        assert_allclose(one, two)
    x = fg.tensor(a, requires_grad=True)
    found = several(mine(x, **more))
    for one, two in zip(found, expected, strict=True):
        assert_allclose(one.detach().numpy(), two, rtol=1e-10, atol=1e-12)
    fg.gradcheck(lambda x: several(mine(x, **more)), (x,), rtol=1e-3, atol=1e-5)
    fg.gradgradcheck(lambda x: several(mine(x, **more))[0], (x,), rtol=1e-3, atol=1e-4)
    return found


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize(
    ("shape", "mode"),
    [((3, 3), "full"), ((3, 3), "economic"), ((5, 3), "full"), ((5, 3), "r"), ((2, 4), "economic")],
)
def test_rq(shape: tuple[int, int], mode: str, complex_: bool) -> None:
    a = matrix(*shape, complex_)
    if mode == "economic" or shape[0] == shape[1]:
        r, q = check("rq", a, 2, mode=mode)
        assert_allclose((r @ q).detach().numpy(), a)
        return
    # SciPy's full r of a tall matrix is that of the economic one.
    expected = theirs.rq(a, mode=mode)
    found = ours.rq(fg.tensor(a), mode=mode)
    for one, two in zip(
        found if mode == "full" else [found],
        expected if mode == "full" else [expected],
        strict=True,
    ):
        assert_allclose(one.numpy(), two, atol=1e-12)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_hessenberg(n: int, complex_: bool) -> None:
    a = matrix(n, n, complex_)
    h, q = check("hessenberg", a, 2, calc_q=True)
    assert_allclose((q @ h @ q.conj().T).detach().numpy(), a, atol=1e-12)
    assert_allclose(ours.hessenberg(fg.tensor(a)).numpy(), theirs.hessenberg(a), atol=1e-12)


def test_hessenberg_of_a_matrix_that_is_one() -> None:
    a = np.triu(matrix(4, 4, False), -1)
    x = fg.tensor(a, requires_grad=True)
    h = ours.hessenberg(x)
    assert_allclose(h.detach().numpy(), theirs.hessenberg(a))
    h.sum().backward()
    assert x.grad is not None
    assert np.all(np.isfinite(x.grad.numpy()))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("kind", ["definite", "indefinite", "hermitian", "complex symmetric"])
def test_ldl(kind: str, lower: bool) -> None:
    a = matrix(5, 5, kind not in ("definite", "indefinite"))
    hermitian = kind != "complex symmetric"
    a = a + (a.conj().T if hermitian else a.T)
    if kind == "definite":
        a = a @ a
    elif kind == "indefinite":
        a[np.diag_indices(5)] = 0.0
    x = fg.tensor(a, requires_grad=True)
    lu, d, perm = ours.ldl(x, lower, hermitian)
    for one, two in zip((lu, d), theirs.ldl(a, lower, hermitian), strict=False):
        assert_allclose(one.detach().numpy(), two, atol=1e-12)
    assert np.array_equal(perm, theirs.ldl(a, lower, hermitian)[2])
    assert kind != "indefinite" or np.any(np.diag(d.detach().numpy(), 1))
    check("ldl", a, 2, lower=lower, hermitian=hermitian)


def test_what_has_no_derivative_says_what_to_use() -> None:
    a = fg.tensor(matrix(4, 4, False), requires_grad=True)
    for call, words in (
        (lambda: ours.qz(a, np.eye(4)), "schur"),
        (lambda: ours.cossin(a, 2, 2), "svdvals"),
        (lambda: ours.rq(a[:2]), "mode='economic'"),
    ):
        with pytest.raises(NotDifferentiableError, match=words):
            call()
    q = np.linalg.qr(matrix(4, 4, False))[0]
    for one, two in zip(ours.cossin(fg.tensor(q), 2, 2), theirs.cossin(q, 2, 2), strict=True):
        assert_allclose(one, two)
    for one, two in zip(ours.qz(a.detach(), q), theirs.qz(a.detach().numpy(), q), strict=True):
        assert_allclose(one, two)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="give one square matrix"):
        ours.hessenberg(fg.zeros(2, 3))
    with pytest.raises(ValueError, match="give one matrix"):
        ours.rq(fg.zeros(2))
    with pytest.raises(ValueError, match="mode is 'half'"):
        ours.rq(fg.eye(2), mode="half")
