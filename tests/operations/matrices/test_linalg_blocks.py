"""Factorisations of matrices large enough to be computed by blocks, and least squares.

Sizes lie on both sides of the cuts between the ways. Spectra have equal, clustered, graded and
vanishing values.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

import ferrograd as fg
from ferrograd import linalg

Array = NDArray[np.generic]

SIZES = (15, 17, 31, 32, 33, 39, 40, 65, 97, 130)
SHAPES = ((33, 33), (70, 33), (33, 70), (100, 40), (40, 100), (65, 64), (41, 1), (1, 41))
DTYPES = ("float64", "float32", "complex128", "complex64")
SPECTRA = {
    "distinct": lambda n: np.linspace(1, 2, n),
    "equal": lambda n: np.ones(n),
    "two values": lambda n: np.where(np.arange(n) % 2 == 0, 1.0, 3.0),
    "clustered": lambda n: 1 + 1e-13 * np.arange(n),
    "graded": lambda n: 10.0 ** -np.linspace(0, 18, n),
    "half zero": lambda n: np.where(np.arange(n) < n // 2, 1.0 + np.arange(n), 0.0),
    "one": lambda n: np.where(np.arange(n) == 0, 1.0, 0.0),
    "zero": np.zeros,
    "tiny": lambda n: 1e-300 * (1 + np.arange(n)),
    "huge": lambda n: 1e300 / (1 + np.arange(n)),
}


def numbers(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if "complex" in dtype:
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def basis(n: int, dtype: str = "float64", seed: int = 0) -> Array:
    return np.linalg.qr(numbers((n, n), dtype, seed))[0]


def noise(a: Array) -> float:
    """What rounding leaves of a matrix of this size."""
    return 100 * float(np.finfo(a.dtype).eps) * max(a.shape[-2:])


def close(x: Array, y: Array, of: Array) -> None:
    size = max(float(np.abs(of).max(initial=0.0)), np.finfo(of.dtype).tiny)
    np.testing.assert_allclose(x / size, y / size, rtol=0, atol=noise(of))


def orthonormal(q: Array) -> None:
    np.testing.assert_allclose(q.conj().T @ q, np.eye(q.shape[1]), rtol=0, atol=noise(q))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*((n, n) for n in SIZES), *SHAPES], ids=str)
def test_qr(shape: tuple[int, int], dtype: str) -> None:
    a = numbers(shape, dtype)
    q, r = (x.numpy() for x in linalg.qr(fg.tensor(a)))
    close(q @ r, a, a)
    orthonormal(q)
    np.testing.assert_array_equal(np.tril(r, -1), 0)
    close(r, np.linalg.qr(a)[1], a)
    close(linalg.qr(fg.tensor(a), mode="r").numpy(), r, a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 3, 8, *SIZES])
def test_inverses_and_solutions(n: int, dtype: str) -> None:
    a = numbers((n, n), dtype) + 3 * np.sqrt(n) * np.eye(n)[::-1].astype(dtype)
    one = np.eye(n, dtype=dtype)
    close(linalg.inv(fg.tensor(a)).numpy() @ a, one, one)
    factors, pivots = linalg.lu_factor(fg.tensor(a))
    lower, upper = np.tril(a) + 9 * one, np.triu(a) + 9 * one
    for k in (1, 3, 4, 5, n):
        b = numbers((n, k), dtype, seed=1)
        close(a @ linalg.solve(fg.tensor(a), fg.tensor(b)).numpy(), b, b)
        close(a @ linalg.lu_solve(factors, pivots, fg.tensor(b)).numpy(), b, b)
        for triangle, is_lower in ((lower, True), (upper, False)):
            x = linalg.solve_triangular(fg.tensor(triangle), fg.tensor(b), lower=is_lower)
            close(triangle @ x.numpy(), b, b)


def test_what_is_infinite_stays_below_in_triangles() -> None:
    """Rows before the infinite one, and other columns, know nothing of it."""
    n = 21
    lower = np.tril(numbers((n, n))) + 9 * np.eye(n)
    b = numbers((n, 6), seed=1)
    expected = linalg.solve_triangular(fg.tensor(lower), fg.tensor(b), lower=True).numpy()
    for value in (np.inf, np.nan):
        b[5, 2] = value
        found = linalg.solve_triangular(fg.tensor(lower), fg.tensor(b), lower=True).numpy()
        known = np.isfinite(found)
        assert np.array_equal(known[:, 2], np.arange(n) < 5)
        assert known.sum() == n * 5 + 5
        assert np.array_equal(found[known], expected[known])


def test_qr_of_dependent_columns() -> None:
    a = numbers((60, 8)) @ numbers((8, 50), seed=1)
    a[:, 20] = 0
    q, r = (x.numpy() for x in linalg.qr(fg.tensor(a)))
    close(q @ r, a, a)
    orthonormal(q)
    whole = linalg.qr(fg.tensor(a), mode="complete")[0].numpy()
    orthonormal(whole)


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("n", [33, 64, 100, 290])
def test_eigh_of_spectra(n: int, spectrum: str) -> None:
    values, v = SPECTRA[spectrum](n), basis(n)
    a = (v * values) @ v.T
    a = (a + a.T) / 2
    w, q = (x.numpy() for x in linalg.eigh(fg.tensor(a)))
    assert np.all(np.diff(w) >= 0)
    close(w, np.sort(values), a)
    close((q * w) @ q.T, a, a)
    orthonormal(q)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [*SIZES, 300])
def test_eigh(n: int, dtype: str) -> None:
    a = numbers((n, n), dtype)
    a = a + a.conj().T
    for uplo in ("L", "U"):
        w, q = (x.numpy() for x in linalg.eigh(fg.tensor(a), uplo=uplo))
        close(w, np.linalg.eigvalsh(a), a)
        close((q * w) @ q.conj().T, a, a)
        orthonormal(q)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*((n, n) for n in (1, 2, 3, 8, *SIZES, 300)), *SHAPES], ids=str)
def test_singular_values_alone(shape: tuple[int, int], dtype: str) -> None:
    a = numbers(shape, dtype)
    low = numbers((shape[0], 2), dtype) @ numbers((2, shape[1]), dtype, seed=1)
    for x in (a, low, np.triu(np.ones_like(a)), np.zeros_like(a), np.eye(*shape, dtype=dtype)):
        s = linalg.svdvals(fg.tensor(x)).numpy()
        assert np.all(np.diff(s) <= 0)
        close(s, np.linalg.svd(x, compute_uv=False), x)


@pytest.mark.parametrize("form", ["diagonal", "Toeplitz", "Wilkinson", "split"])
def test_eigh_of_tridiagonal_matrices(form: str) -> None:
    n = 85
    d, e = np.zeros(n), np.ones(n - 1)
    if form == "diagonal":
        d, e = np.arange(n)[::-1].astype(float), np.zeros(n - 1)
    elif form == "Wilkinson":
        d = np.abs(np.arange(n) - n // 2).astype(float)
    elif form == "split":
        e[::7] = 0
    a = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    w, q = (x.numpy() for x in linalg.eigh(fg.tensor(a)))
    close(w, np.linalg.eigvalsh(a), a)
    close((q * w) @ q.T, a, a)
    orthonormal(q)


@pytest.mark.parametrize("form", ["diagonal", "Toeplitz", "rising", "split", "far", "rows"])
@pytest.mark.parametrize("shape", [(86, 86), (85, 85), (150, 85)], ids=str)
def test_svd_of_bidiagonal_matrices(form: str, shape: tuple[int, int]) -> None:
    n = shape[1]
    d, e = np.ones(n), np.ones(n - 1)
    if form == "diagonal":
        d, e = np.arange(n).astype(float), np.zeros(n - 1)
    elif form == "rising":
        d = np.arange(n) / 10
    elif form == "split":
        d[::9], e[::7] = 0, 0
    elif form == "far":
        d[::2], e[::3] = 1e-170, 1e-70
    elif form == "rows":
        d[1::2], e[1::2] = 0, 0
    a = np.zeros(shape)
    a[:n] = np.diag(d) + np.diag(e, 1)
    u, s, vt = (x.numpy() for x in linalg.svd(fg.tensor(a), full_matrices=False))
    close(s, np.linalg.svdvals(a), a)
    close(linalg.svdvals(fg.tensor(a)).numpy(), s, a)
    close((u * s) @ vt, a, a)
    orthonormal(u)
    orthonormal(vt.T)


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize(
    "shape", [(40, 40), (90, 90), (90, 45), (45, 90), (160, 90), (290, 290)], ids=str
)
def test_svd_of_spectra(shape: tuple[int, int], spectrum: str) -> None:
    n = min(shape)
    values = SPECTRA[spectrum](n)
    a = (basis(shape[0])[:, :n] * values) @ basis(shape[1], seed=1)[:n]
    u, s, vt = (x.numpy() for x in linalg.svd(fg.tensor(a), full_matrices=False))
    assert np.all(np.diff(s) <= 0)
    close(s, np.sort(values)[::-1], a)
    alone = linalg.svdvals(fg.tensor(a)).numpy()
    assert np.all(np.diff(alone) <= 0)
    close(alone, np.sort(values)[::-1], a)
    close((u * s) @ vt, a, a)
    orthonormal(u)
    orthonormal(vt.T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*((n, n) for n in SIZES), *SHAPES], ids=str)
def test_svd(shape: tuple[int, int], dtype: str) -> None:
    a = numbers(shape, dtype)
    u, s, vt = (x.numpy() for x in linalg.svd(fg.tensor(a)))
    k = min(shape)
    close(s, np.linalg.svdvals(a), a)
    # Alone, and with the vectors that a gradient reads.
    for recorded in (False, True):
        x = fg.tensor(a, requires_grad=recorded)
        close(linalg.svdvals(x).detach().numpy(), np.linalg.svdvals(a), a)
        close(linalg.svd(x, compute_uv=False).detach().numpy(), np.linalg.svdvals(a), a)
    close((u[:, :k] * s) @ vt[:k], a, a)
    orthonormal(u)
    orthonormal(vt.conj().T)


def test_nan_and_infinity_are_refused() -> None:
    a = np.eye(64)
    for value in (np.nan, np.inf):
        a[3, 5] = a[5, 3] = value
        for f in (linalg.svd, linalg.eigh):
            with pytest.raises(ValueError, match="NaN or infinity"):
                f(fg.tensor(a))
        with pytest.raises(ValueError, match="NaN or infinity"):
            linalg.lstsq(fg.tensor(a), fg.tensor(np.ones(64)))


def test_threads_change_no_bit() -> None:
    a = numbers((6, 70, 70))
    before = fg.get_num_threads()

    def results() -> list[bytes]:
        t = fg.tensor(a)
        spd = t @ t.mT
        parts = [*linalg.qr(t), *linalg.svd(t), *linalg.eigh(spd), *linalg.lstsq(t, t)]
        return [np.asarray(x).tobytes() for x in parts]

    try:
        fg.set_num_threads(1)
        one = results()
        fg.set_num_threads(2)
        assert results() == one
    finally:
        fg.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(8, 3), (3, 8), (5, 5), (60, 45), (45, 60), (50, 50)], ids=str)
def test_least_squares(shape: tuple[int, int], dtype: str) -> None:
    a, b = numbers(shape, dtype), numbers((shape[0], 4), dtype, seed=1)
    got = linalg.lstsq(fg.tensor(a), fg.tensor(b))
    want = np.linalg.lstsq(a, b)
    np.testing.assert_allclose(got[0], want[0], rtol=0, atol=100 * noise(a))
    np.testing.assert_allclose(got[1], want[1], rtol=100 * noise(a))
    assert int(got[2]) == want[2]
    np.testing.assert_allclose(got[3], want[3], rtol=0, atol=10 * noise(a))


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (4, 4)], ids=str)
def test_least_squares_of_stacks(shape: tuple[int, int]) -> None:
    """Each matrix of a stack has the result and derivative that it has alone, whatever its rank."""
    a, b = numbers((2, 3, *shape)), numbers((2, 3, shape[0], 2), seed=1)
    low = a.copy()
    low[1, 2, 1] = low[1, 2, 0]
    low[1, 2, :, 1] = low[1, 2, :, 0]
    for stack in (a, low):
        x, y = fg.tensor(stack, requires_grad=True), fg.tensor(b, requires_grad=True)
        got = linalg.lstsq(x, y)
        (got[0] ** 2).sum().backward()
        for at in np.ndindex(2, 3):
            one = [fg.tensor(v[at], requires_grad=True) for v in (stack, b)]
            want = linalg.lstsq(*one)
            (want[0] ** 2).sum().backward()
            np.testing.assert_allclose(got[0].numpy()[at], want[0].numpy(), atol=1e-12)
            assert int(got[2].numpy()[at]) == int(want[2])
            np.testing.assert_allclose(got[3].numpy()[at], want[3].numpy(), atol=1e-12)
            for whole, part in zip((x, y), one, strict=True):
                assert whole.grad is not None
                assert part.grad is not None
                np.testing.assert_allclose(whole.grad.numpy()[at], part.grad.numpy(), atol=1e-10)
    if shape[0] > shape[1]:
        want = np.linalg.lstsq(a[1, 2], b[1, 2])[1]
        got = linalg.lstsq(fg.tensor(a), fg.tensor(b))
        np.testing.assert_allclose(got[1].numpy()[1, 2], want, atol=1e-12)
        assert linalg.lstsq(fg.tensor(low), fg.tensor(b))[1].shape == (2, 3, 0)
    with pytest.raises(ValueError, match="lstsq: a of shape"):
        linalg.lstsq(fg.tensor(a), fg.tensor(b[0]))


def test_least_squares_below_full_rank() -> None:
    """The solution of least norm."""
    a = numbers((50, 20)) @ numbers((20, 45), seed=1)
    b = numbers((50,), seed=2)
    got, want = linalg.lstsq(fg.tensor(a), fg.tensor(b)), np.linalg.lstsq(a, b)
    np.testing.assert_allclose(got[0], want[0], atol=1e-12)
    assert int(got[2]) == 20
    assert linalg.lstsq(fg.tensor(np.zeros((3, 2))), fg.tensor(np.ones(3)), rcond=0.0)[2] == 0
    again = linalg.lstsq(fg.tensor(np.ones((3, 2))), fg.tensor(np.ones(3)), rcond=1e-9)
    np.testing.assert_allclose(again[0], [0.5, 0.5], atol=1e-12)


def test_singular_values_of_least_squares_have_derivatives() -> None:
    a, b = numbers((6, 4)), numbers((6,), seed=1)

    def of(x: fg.Tensor) -> fg.Tensor:
        return (linalg.lstsq(x, fg.tensor(b))[3] ** 3).sum()

    x = fg.tensor(a, requires_grad=True)
    of(x).backward()
    y = fg.tensor(a, requires_grad=True)
    (linalg.svdvals(y) ** 3).sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    np.testing.assert_allclose(x.grad, y.grad, rtol=1e-11)
    assert fg.gradgradcheck(of, [fg.tensor(a, requires_grad=True)])


@pytest.mark.parametrize("n", [4, 9, 20, 28, 48, 60])
def test_small_matrices_with_equal_values_multiply_back(n: int) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        q, p = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
        for s in (np.repeat([3.0, 2.0, 1.0], n // 3 + 1)[:n], 10.0 ** -rng.integers(0, 14, n)):
            a = (q * s) @ p
            u, found, v = (x.numpy() for x in linalg.svd(fg.tensor(a), full_matrices=False))
            off = np.linalg.norm((u * found) @ v - a) / np.linalg.norm(a)
            assert off <= 8 * np.finfo(float).eps * np.sqrt(2 * n), (n, seed, off)


@pytest.mark.parametrize("shape", [(5, 2), (40, 4), (200, 26), (300, 50), (64, 64)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("decades", [(-100, 100), (150, -150), (0, -300)], ids=str)
def test_columns_whose_squares_vanish(
    shape: tuple[int, int], dtype: str, decades: tuple[int, int]
) -> None:
    a = numbers(shape, dtype) * 10.0 ** np.linspace(*decades, shape[1])
    q, r = (x.numpy() for x in linalg.qr(fg.tensor(a)))
    orthonormal(q)
    close(q @ r, a, a)
    for x in (a, a.conj().T):
        u, s, vt = (x.numpy() for x in linalg.svd(fg.tensor(x), full_matrices=False))
        close(s, np.linalg.svdvals(x), x)
        close(linalg.svdvals(fg.tensor(x)).numpy(), s, x)
        orthonormal(u)
        orthonormal(vt.conj().T)


@pytest.mark.parametrize("small", [1e-161, 1e-170, 1e-170 + 1e-170j])
def test_a_column_of_numbers_whose_squares_vanish(small: complex) -> None:
    a = np.zeros((5, 2), type(small))
    a[0, 0], a[1:, 1] = 1, small
    q, r = (x.numpy() for x in linalg.qr(fg.tensor(a)))
    orthonormal(q)
    np.testing.assert_allclose((q @ r)[1:, 1], a[1:, 1], rtol=1e-12)
