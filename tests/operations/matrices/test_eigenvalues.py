"""Eigenvalues, eigenvectors and Schur's form of real matrices, computed in real arithmetic.

Sizes lie on both sides of the panels of the reduction and of the blocks of the substitution.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import ferrograd as fg
from ferrograd import linalg

Array = NDArray[np.float64]

SIZES = (1, 2, 3, 4, 5, 8, 16, 17, 33, 48, 81, 120)


def drawn(n: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((n, n))


def companion(n: int) -> Array:
    a = np.eye(n, k=-1)
    a[:, -1] += drawn(n)[:, 0]
    return a


def blocks(n: int) -> Array:
    a = np.kron(np.eye(n), [[1.0, 2.0], [-3.0, 1.0]])[:n, :n]
    return a + np.triu(drawn(n), 2)


def hollow(n: int) -> Array:
    return drawn(n) * (np.random.default_rng(1).random((n, n)) < 0.2)


def graded(n: int) -> Array:
    sizes = 10.0 ** -np.linspace(0, 12, n)
    return sizes[:, None] * drawn(n) * sizes


MATRICES: dict[str, Callable[[int], Array]] = {
    "drawn": drawn,
    "companion": companion,
    "orthogonal": lambda n: np.linalg.qr(drawn(n))[0],
    "skew": lambda n: drawn(n) - drawn(n).T,
    "cycle": lambda n: np.roll(np.eye(n), 1, 0),
    "one vector": lambda n: 2 * np.eye(n) + np.eye(n, k=1),
    "one vector below": lambda n: 2 * np.eye(n) + np.eye(n, k=-1),
    "nilpotent": lambda n: np.triu(drawn(n), 1),
    "nilpotent below": lambda n: np.tril(drawn(n), -1),
    "blocks": blocks,
    "hollow": hollow,
    "ones": lambda n: np.ones((n, n)),
    "zeros": lambda n: np.zeros((n, n)),
    "graded": graded,
    "huge": lambda n: 1e300 * drawn(n),
    "tiny": lambda n: 1e-300 * drawn(n),
    "whole numbers": lambda n: np.round(2 * drawn(n)),
}


def noise(a: Array) -> float:
    return float(20 * np.finfo(float).eps * len(a) * np.abs(a).max())


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("n", SIZES)
def test_pairs_and_forms(name: str, n: int) -> None:
    a = MATRICES[name](n)
    w, v = (x.numpy() for x in linalg.eig(fg.tensor(a)))
    np.testing.assert_allclose(np.linalg.norm(v, axis=0), 1, rtol=1e-13)
    np.testing.assert_allclose(a @ v, v * w, rtol=0, atol=noise(a))
    # Exact pairs, in values and in vectors.
    pairs = np.flatnonzero(w.imag > 0)
    assert np.array_equal(w[pairs + 1], w[pairs].conj())
    assert np.array_equal(v[:, pairs + 1], v[:, pairs].conj())
    assert np.count_nonzero(w.imag) == 2 * len(pairs)
    alone = linalg.eigvals(fg.tensor(a)).numpy()
    np.testing.assert_allclose(alone.sum(), np.trace(a), rtol=0, atol=noise(a))
    t, z = (x.numpy() for x in linalg.schur(fg.tensor(a)))
    np.testing.assert_allclose(z @ t @ z.T, a, rtol=0, atol=noise(a))
    np.testing.assert_allclose(z.T @ z, np.eye(n), rtol=0, atol=1e-14 * (n + 5))
    below = np.diag(t, -1)
    assert not np.tril(t, -2).any()
    assert not (below[1:] * below[:-1]).any()
    for k in np.flatnonzero(below):
        assert t[k, k] == t[k + 1, k + 1]
        assert np.sign(t[k, k + 1]) == -np.sign(t[k + 1, k])


def nearest(x: Array, y: Array) -> float:
    return float(np.abs(x[:, None] - y).min(1).max())


@pytest.mark.parametrize("name", ["drawn", "companion", "orthogonal", "skew", "graded", "ones"])
@pytest.mark.parametrize("n", [5, 33, 120])
def test_values_beside_lapack(name: str, n: int) -> None:
    a = MATRICES[name](n)
    expected = np.linalg.eigvals(a)
    for x in (fg.tensor(a), fg.tensor(a, requires_grad=True), fg.tensor(a.T)):
        got = linalg.eigvals(x).detach().numpy()
        assert max(nearest(got, expected), nearest(expected, got)) < 50 * noise(a)


def test_stacks_and_widths() -> None:
    a = np.random.default_rng(2).standard_normal((3, 5, 6, 6))
    for dtype, accuracy in (("float64", 1e-12), ("float32", 1e-5)):
        x = fg.tensor(a.astype(dtype))
        w, v = (y.numpy() for y in linalg.eig(x))
        assert w.dtype == v.dtype == np.result_type(dtype, "complex64")
        np.testing.assert_allclose(a @ v, v * w[..., None, :], rtol=0, atol=accuracy * 50)
        assert np.array_equal(linalg.eigvals(x).numpy()[1, 2], linalg.eigvals(x[1, 2]).numpy())
    assert linalg.eig(fg.zeros((2, 0, 0))).eigenvectors.shape == (2, 0, 0)


def test_the_gradient_of_values() -> None:
    a = drawn(40)
    x = fg.tensor(a, requires_grad=True)
    (linalg.eigvals(x) ** 3).sum().real.backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * (a @ a).T, rtol=1e-9, atol=1e-9)


def test_nan_and_infinity_are_refused() -> None:
    for value in (np.nan, np.inf):
        a = np.eye(5)
        a[1, 3] = value
        for f in (linalg.eig, linalg.eigvals, linalg.schur):
            with pytest.raises(ValueError, match="NaN or infinity"):
                f(fg.tensor(a))
