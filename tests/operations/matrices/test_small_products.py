"""Products of a few rows, columns or terms: of whole numbers, whose sums are exact."""

import numpy as np
import pytest

import ferrograd as fg

SIDES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65]


def whole(shape, dtype, seed):
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [1, 2, 8, 31, 64, 65])
def test_sizes_around_those_of_tiles(k, dtype):
    for m in SIDES:
        for n in SIDES:
            a, b = whole((m, k), dtype, m + n), whole((k, n), dtype, m * n)
            want = a.astype(np.int64) @ b.astype(np.int64)
            ta, tb = fg.tensor(a), fg.tensor(b)
            np.testing.assert_array_equal((ta @ tb).numpy(), want)
            across = fg.tensor(np.ascontiguousarray(a.T)).T
            np.testing.assert_array_equal((across @ tb).numpy(), want)
            spread = fg.tensor(np.repeat(a, 2, 1))[:, ::2]
            np.testing.assert_array_equal((spread @ tb).numpy(), want)
            backwards = fg.tensor(np.ascontiguousarray(a[::-1, ::-1])).flip((0, 1))
            np.testing.assert_array_equal((backwards @ tb).numpy(), want)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [129, 512, 513, 1027])
def test_few_results_of_long_sums(k, dtype):
    for m in [1, 2, 3, 4, 5, 8, 9, 12, 13]:
        for n in [1, 2, 3, 4, 5, 8, 9, 12, 13]:
            a, b = whole((k, m), dtype, m + n), whole((k, n), dtype, m * n)
            want = a.T.astype(np.int64) @ b.astype(np.int64)
            ta, tb = fg.tensor(a), fg.tensor(b)
            np.testing.assert_array_equal((ta.T @ tb).numpy(), want)
            np.testing.assert_array_equal((fg.tensor(a.T.copy()) @ tb).numpy(), want)
            np.testing.assert_array_equal((fg.tensor(b.T.copy()).T.T @ ta).numpy(), want.T)
            batch = fg.tensor(np.stack([a, 2 * a])).swapaxes(1, 2) @ tb
            np.testing.assert_array_equal(batch.numpy(), np.stack([want, 2 * want]))


@pytest.mark.parametrize("n", [2, 3, 4, 8])
def test_few_results_see_every_infinity_and_nan(n):
    for place, value in ((0, np.inf), (777, -np.inf), (1026, np.nan)):
        a, b = np.ones((1027, n)), np.ones((1027, n))
        a[place, n - 1] = value
        got = (fg.tensor(a).T @ fg.tensor(b)).numpy()
        np.testing.assert_array_equal(got, a.T @ b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(5, 3, 7, 9), (7, 8, 8, 8), (64, 12, 32, 24), (3, 200, 6, 6)])
def test_batches_and_their_gradients(shape, dtype):
    items, m, k, n = shape
    a, b = whole((items, m, k), dtype, 1), whole((items, k, n), dtype, 2)
    ta, tb = fg.tensor(a, requires_grad=True), fg.tensor(b, requires_grad=True)
    y = ta @ tb
    np.testing.assert_array_equal(y.numpy(), np.matmul(a, b))
    g = whole((items, m, n), dtype, 3)
    y.backward(fg.tensor(g))
    np.testing.assert_array_equal(ta.grad.numpy(), np.matmul(g, b.swapaxes(1, 2)))
    np.testing.assert_array_equal(tb.grad.numpy(), np.matmul(a.swapaxes(1, 2), g))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [3, 8, 17, 31])
def test_nothing_is_written_beside_the_result(n, dtype):
    a, b = whole((11, 6), dtype, 1), whole((6, n), dtype, 2)
    room = np.full((13, n + 40), 7, dtype)
    fg.matmul(fg.tensor(a), fg.tensor(b), out=fg.from_numpy(room)[1:12, 20 : 20 + n])
    np.testing.assert_array_equal(room[1:12, 20 : 20 + n], a @ b)
    room[1:12, 20 : 20 + n] = 7
    assert (room == 7).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(40_000, 16, 24), (24, 16, 40_000)])
def test_bits_are_the_same_on_one_thread_and_two(shape, dtype):
    m, k, n = shape
    rng = np.random.default_rng(0)
    a, b = (fg.tensor(rng.standard_normal(s).astype(dtype)) for s in ((m, k), (k, n)))
    threads = fg.get_num_threads()
    try:
        results = []
        for count in (1, 2):
            fg.set_num_threads(count)
            results.append((a @ b).numpy())
    finally:
        fg.set_num_threads(threads)
    np.testing.assert_array_equal(results[0], results[1])
