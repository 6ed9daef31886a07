"""Products of some hundred rows, columns or terms: of whole numbers, whose sums are exact."""

import os
import subprocess
import sys

import numpy as np
import pytest

import ferrograd as fg

# Rows, terms and columns: around tiles, and beyond what is packed at once.
SIZES = [
    (128, 784, 256),
    (250, 257, 70),
    (13, 300, 1000),
    (130, 513, 1),
    (1, 513, 130),
    (97, 101, 103),
    (520, 30, 520),
    (300, 300, 2),
    (2, 300, 300),
    (245, 70, 965),
]


def whole(shape, dtype, seed):
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(dtype)


def arrangements(x):
    """Tensors of one matrix that lie differently in memory."""
    yield fg.tensor(x)
    yield fg.tensor(np.ascontiguousarray(x.T)).T
    yield fg.tensor(np.repeat(np.repeat(x, 2, 0), 3, 1))[::2, ::3]
    yield fg.tensor(np.ascontiguousarray(x[::-1, ::-1])).flip((0, 1))
    # Rows begin beside whole vectors.
    yield fg.tensor(np.pad(x, ((0, 0), (1, 2))))[:, 1:-2]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
def test_operands_may_lie_anyhow(size, dtype):
    m, k, n = size
    a, b = whole((m, k), dtype, 1), whole((k, n), dtype, 2)
    want = a @ b
    for x in arrangements(a):
        for y in arrangements(b):
            np.testing.assert_array_equal((x @ y).numpy(), want)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_may_lie_anyhow(dtype):
    a, b = whole((67, 300), dtype, 1), whole((300, 71), dtype, 2)
    want = a @ b
    for step, turned in [(1, False), (2, False), (1, True), (2, True)]:
        room = np.full((71, 67 * step) if turned else (67, 71 * step), 7, dtype)
        out = fg.from_numpy(room)[:, ::step]
        fg.matmul(fg.tensor(a), fg.tensor(b), out=out.T if turned else out)
        got = room[:, ::step]
        np.testing.assert_array_equal(got.T if turned else got, want)
        room[:, ::step] = 7
        assert (room == 7).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_no_number_stays_in_its_row_and_column(dtype):
    a, b = whole((90, 270), dtype, 1), whole((270, 80), dtype, 2)
    a[7, 261], b[3, 79] = np.nan, np.inf
    got = (fg.tensor(a) @ fg.tensor(b)).numpy()
    assert np.isnan(got[7]).all()
    assert not np.isfinite(got[:, 79]).any()
    rest = np.delete(np.delete(got, 7, 0), 79, 1)
    np.testing.assert_array_equal(rest, np.delete(a, 7, 0) @ np.delete(b, 79, 1))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_terms_make_zeros(dtype):
    for x in (fg.zeros((90, 0), dtype=dtype), fg.zeros((0, 90), dtype=dtype).T):
        y = (x @ fg.zeros((0, 70), dtype=dtype)).numpy()
        assert y.shape == (90, 70)
        assert not y.any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "size", [(128, 784, 256), (784, 128, 256), (400, 900, 400), (130, 2000, 70)]
)
def test_bits_do_not_follow_threads(size, dtype):
    m, k, n = size
    rng = np.random.default_rng(0)
    a, b = (fg.tensor(rng.standard_normal(s).astype(dtype)) for s in ((m, k), (k, n)))
    across, down = (fg.tensor(np.ascontiguousarray(x.numpy().T)).T for x in (a, b))
    threads = fg.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            fg.set_num_threads(count)
            results.append([(x @ y).numpy() for x in (a, across) for y in (b, down)])
    finally:
        fg.set_num_threads(threads)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@pytest.mark.parametrize("level", ["scalar", "avx2"])
def test_every_level_multiplies(level):
    env = {**os.environ, "FERROGRAD_ISA": level}
    tests = [
        "test_operands_may_lie_anyhow",
        "test_results_may_lie_anyhow",
        "test_no_terms_make_zeros",
    ]
    chosen = [f"{__file__}::{name}" for name in tests]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *chosen]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
