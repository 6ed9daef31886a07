"""Options of `ferrograd.scipy.linalg` beside SciPy's: checks, subsets, assumptions, ranks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.scipy import linalg as ours

RANDOM = np.random.default_rng(29)
A = RANDOM.normal(size=(4, 4)) + 3 * np.eye(4)
POSITIVE = A @ A.T
V, E = RANDOM.normal(size=4), RANDOM.normal(size=3)
WORK = {"overwrite_a": True, "check_finite": False}

#: Calls of a namespace: SciPy's or ours.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "det": lambda la, a: la.det(a, **WORK),
    "inv": lambda la, a: la.inv(a, **WORK),
    "pinv": lambda la, a: la.pinv(a, check_finite=False),
    "pinv cut": lambda la, a: la.pinv(a, atol=4.0, rtol=0.01),
    "pinv rank": lambda la, a: la.pinv(a, atol=4.0, return_rank=True),
    "pinvh": lambda la, a: la.pinvh(a @ a.T, rtol=0.2, return_rank=True, check_finite=False),
    "svdvals": lambda la, a: la.svdvals(a, **WORK),
    "cholesky": lambda la, a: la.cholesky(a @ a.T, True, **WORK),
    "cho_solve": lambda la, a: la.cho_solve(
        la.cho_factor(a @ a.T, **WORK), V.copy(), overwrite_b=True, check_finite=False
    ),
    "solve": lambda la, a: la.solve(a, V.copy(), overwrite_b=True, assume_a="gen", **WORK),
    "solve of the transposed": lambda la, a: la.solve(a, V, transposed=True),
    "solve of a triangle": lambda la, a: la.solve(a @ a.T, V, lower=True, assume_a="pos"),
    "solve symmetric": lambda la, a: la.solve(a + a.T, V, assume_a="sym"),
    "solve triangular": lambda la, a: la.solve(a, V, assume_a="lower triangular"),
    "lstsq": lambda la, a: la.lstsq(
        a, V.copy(), overwrite_a=True, lapack_driver="gelsd", check_finite=False
    )[0],
    "qr": lambda la, a: la.qr(a, mode="r", check_finite=False),
    "eigh": lambda la, a: la.eigh(a @ a.T, eigvals_only=True, subset_by_index=[1, 2], **WORK),
    "eigh by value": lambda la, a: la.eigvalsh(a @ a.T, subset_by_value=[4.0, 40.0], driver="evr"),
    "eigvals": lambda la, a: np.sort_complex(la.eigvals(a @ a.T, **WORK)),
    "eig": lambda la, a: np.sort_complex(la.eig(a @ a.T, right=False)),
    "tridiagonal": lambda la, a: la.eigvalsh_tridiagonal(a[0], a[1, :3], "i", (0, 2)),
    "tridiagonal values": lambda la, a: la.eigvalsh_tridiagonal(a[0], a[1, :3], "v", (0.0, 9.0)),
    "norm": lambda la, a: la.norm(a, check_finite=False),
}


def parts(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", CALLS)
def test_options_mean_what_they_do_in_scipy(name: str) -> None:
    expected = parts(CALLS[name](theirs, A.copy()))
    for make in (np.array, fg.tensor):
        found = parts(CALLS[name](ours, make(A)))
        for one, two in zip(found, expected, strict=True):
            assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["solve of a triangle", "eigh", "tridiagonal", "qr"])
def test_options_keep_the_derivative(name: str) -> None:
    fg.gradcheck(lambda a: parts(CALLS[name](ours, a))[0], (fg.tensor(A, requires_grad=True),))


def test_vectors_of_a_subset() -> None:
    values, vectors = ours.eigh(POSITIVE, subset_by_index=(2, 3))
    assert vectors.shape == (4, 2)
    assert_allclose(POSITIVE @ vectors, vectors * values, atol=1e-9)
    values, vectors = ours.eigh_tridiagonal(V, E, select="i", select_range=(0, 1))
    expected = theirs.eigh_tridiagonal(V, E, select="i", select_range=(0, 1))
    assert_allclose(values, expected[0])
    assert_allclose(np.abs(vectors), np.abs(expected[1]), atol=1e-12)


CHECKED: dict[str, Callable[[Any, Any], Any]] = {
    "inv": lambda la, a: la.inv(a, check_finite=True),
    "solve": lambda la, a: la.solve(POSITIVE, a, check_finite=True),
    "lu_solve": lambda la, a: la.lu_solve(la.lu_factor(POSITIVE), a, check_finite=True),
    "svd": lambda la, a: la.svd(a, check_finite=True),
    "norm": lambda la, a: la.norm(a, check_finite=True),
}


@pytest.mark.parametrize("name", CHECKED)
def test_infinities_are_refused_where_that_is_asked_for(name: str) -> None:
    spoiled = np.where(A.max() == A, np.inf, A)
    with pytest.raises(ValueError, match="infs or NaNs"):
        CHECKED[name](theirs, spoiled.copy())
    for make in (np.array, fg.tensor):
        with pytest.raises(fg.errors.ArgumentError, match="infinities or NaN"):
            CHECKED[name](ours, make(spoiled))
        CHECKED[name](ours, make(A))


def test_what_is_missing_is_refused() -> None:
    for call, words in (
        (lambda: ours.eigh(POSITIVE, type=2), "type=2"),
        (lambda: ours.qr(A, pivoting=True), "pivoting=True"),
        (lambda: ours.eig(A, POSITIVE), "b="),
        (lambda: ours.schur(A, sort="lhp"), "sort='lhp'"),
    ):
        with pytest.raises(fg.errors.NotDifferentiableError, match=words):
            call()
    for call, words in (
        (lambda: ours.eigh(POSITIVE, subset_by_index=[2, 4]), "from 0 to 3"),
        (lambda: ours.eigh_tridiagonal(V, E, select="x"), "select is 'x'"),
        (lambda: ours.pinv(np.ones((2, 3, 3)), atol=1.0), "one matrix"),
    ):
        with pytest.raises(fg.errors.ArgumentError, match=words):
            call()


@pytest.mark.parametrize("kind", ["sym", "her"])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 4)])
@pytest.mark.parametrize("scale", [1, 1 + 2j])
def test_one_triangle_tells_the_rest(
    kind: str, lower: bool, shape: tuple[int, ...], scale: complex
) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=shape) * scale
    a = a + (a.swapaxes(-1, -2).conj() if kind == "her" else a.swapaxes(-1, -2))
    b = rng.normal(size=(*shape[:-1], 2))
    half = np.tril(a) if lower else np.triu(a)
    found = ours.solve(half, b, lower, assume_a=kind)
    np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=1e-9)
    leaf = fg.tensor(half, requires_grad=True)
    fg.gradcheck(lambda a: ours.solve(a, b, lower, assume_a=kind), (leaf,))
