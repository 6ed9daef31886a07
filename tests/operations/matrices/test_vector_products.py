"""Products of matrices and vectors of every length and arrangement, at every instruction level."""

import os
import subprocess
import sys

import numpy as np
import pytest

import ferrograd as fg

ROWS = (1, 2, 5, 16, 33, 65, 130, 1000)
TERMS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 129, 300)
BOUNDS = {"float32": 3e-6, "float64": 5e-15}


def products(a: np.ndarray, v: np.ndarray, u: np.ndarray) -> dict[str, fg.Tensor]:
    """The products of rows with `v` and of `u` with columns, the matrix arranged in every way."""
    wide = np.zeros((a.shape[0], a.shape[1] + 3), a.dtype)
    wide[:, 1:-2] = a
    A, V, U, W = map(fg.tensor, (a, v, u, wide))
    F, rows = fg.tensor(np.asfortranarray(a)), fg.tensor(np.broadcast_to(v, a.shape).copy())
    part = W[:, 1:-2]
    return {
        "along": A @ V,
        "along, a column": (A @ V[:, None])[:, 0],
        "along, rows apart": part @ V,
        "along, columns in line": F @ V,
        "along, rows with rows": (A[:, None, :] @ rows[:, :, None])[:, 0, 0],
        "along, from below": (A[::-1] @ V)[::-1],
        "down": U @ A,
        "down, of the transpose": A.T @ U,
        "down, a column": (A.T @ U[:, None])[:, 0],
        "down, rows apart": U @ part,
        "down, columns in line": U @ F,
    }


def beyond(dtype: str) -> list[tuple[str, int, int, float]]:
    """The products that are off by more than the bound, relative to the sums of absolute values."""
    rng, found = np.random.default_rng(1), []
    for n in ROWS:
        for k in TERMS:
            a, v, u = (rng.standard_normal(s).astype(dtype) for s in ((n, k), (k,), (n,)))
            exact = [x.astype(np.longdouble) for x in (a, v, u)]
            right = {"along": exact[0] @ exact[1], "down": exact[2] @ exact[0]}
            size = {"along": abs(a) @ abs(v), "down": abs(u) @ abs(a)}
            for name, got in products(a, v, u).items():
                kind = name.split(",")[0]
                assert (got.dtype, got.shape) == (dtype, right[kind].shape), name
                off = float(np.max(abs(got.numpy() - right[kind]) / size[kind]))
                if not off <= BOUNDS[dtype]:
                    found.append((name, n, k, off))
    return found


@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
def test_products_are_right_at_every_level(level: str) -> None:
    env = {**os.environ, "FERROGRAD_ISA": level}
    done = subprocess.run([sys.executable, __file__], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n[]\n"


@pytest.mark.parametrize("dtype", list(BOUNDS))
@pytest.mark.parametrize("k", [3, 8, 20, 100])
def test_what_is_no_number_stays_in_its_row(k: int, dtype: str) -> None:
    a = np.ones((70, k), dtype)
    a[1], a[2, 0], a[-1, -1] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        along, down = a.sum(axis=1), a.sum(axis=0)
    got = (fg.tensor(a) @ fg.ones(k, dtype=dtype)).numpy()
    assert np.array_equal(got, along, equal_nan=True)
    got = (fg.ones(70, dtype=dtype) @ fg.tensor(a)).numpy()
    assert np.array_equal(got, down, equal_nan=True)


@pytest.mark.parametrize("dtype", list(BOUNDS))
@pytest.mark.parametrize(("n", "k"), [(1500, 3000), (3000, 1500), (400_000, 12)])
def test_products_with_vectors_have_the_same_bits_at_any_thread_count(
    n: int, k: int, dtype: str
) -> None:
    rng = np.random.default_rng(2)
    a, v, u = (fg.tensor(rng.standard_normal(s).astype(dtype)) for s in ((n, k), (k,), (n,)))
    before, found = fg.get_num_threads(), []
    try:
        for threads in (1, 2):
            fg.set_num_threads(threads)
            rows = a[:, None, :] @ a[:, :, None]
            found.append([x.numpy().tobytes() for x in (a @ v, u @ a, a.T @ u, rows)])
    finally:
        fg.set_num_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("k", [3, 20, 100])
def test_sums_of_a_row_do_not_depend_on_its_place(k: int) -> None:
    rng = np.random.default_rng(3)
    row, v = rng.standard_normal(k), fg.tensor(rng.standard_normal(k))
    got = (fg.tensor(np.tile(row, (1003, 1))) @ v).numpy()
    assert len(set(got.tolist())) == 1


if __name__ == "__main__":
    for width in BOUNDS:
        print(beyond(width))
