"""Sorting, the largest and the distinct elements, at lengths around those of vectors and blocks."""

import numpy as np
import pytest

import ferrograd as fg

LENGTHS = [
    0,
    1,
    2,
    7,
    8,
    9,
    15,
    16,
    17,
    33,
    127,
    128,
    129,
    255,
    256,
    257,
    400,
    511,
    512,
    513,
    1023,
    1025,
    3000,
    40_000,
]
KINDS = ["random", "few", "ascending", "descending", "constant", "special", "organ"]


def values(kind, n, dtype):
    rng = np.random.default_rng(n)
    floats = np.issubdtype(dtype, np.floating)
    if kind == "random" and not floats and np.dtype(dtype).itemsize > 1:
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, n, dtype, endpoint=True)
    made = {
        "random": lambda: rng.standard_normal(n) * 100,
        "few": lambda: rng.integers(0, 5, n),
        "ascending": lambda: np.arange(n),
        "descending": lambda: np.arange(n)[::-1],
        "constant": lambda: np.full(n, 3),
        "special": lambda: rng.choice(
            [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5] if floats else [0, 1, 2], n
        ),
        "organ": lambda: np.concatenate([np.arange(n // 2), np.arange(n - n // 2)[::-1]]),
    }[kind]()
    return np.ascontiguousarray(made if floats else np.abs(made) % 128).astype(dtype)


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float32, np.int64, np.int32, np.uint64, np.uint8, np.float16]
)
@pytest.mark.parametrize("kind", KINDS)
def test_the_elements_come_in_order(kind, dtype):
    for n in LENGTHS:
        x = values(kind, n, dtype)
        t, want = fg.tensor(x), np.sort(x)
        np.testing.assert_array_equal(fg.sort(t).numpy(), want)
        # NaN is above every number, so it comes first here.
        np.testing.assert_array_equal(fg.sort(t, descending=True).numpy(), want[::-1])
        np.testing.assert_array_equal(fg.unique(t).numpy(), np.unique(x))
        spread = fg.tensor(np.stack([x, x, x], 1))
        np.testing.assert_array_equal(
            fg.sort(spread, 0).numpy(), np.sort(np.stack([x, x, x], 1), 0)
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("kind", KINDS)
def test_the_first_of_equals_are_chosen(kind, dtype):
    for n in LENGTHS:
        x = values(kind, n, dtype)
        smallest = np.argsort(x, kind="stable")
        # The numbers of the order that `topk` takes: descending, equals as they come.
        rank = np.empty(n, np.int64)
        rank[smallest] = np.cumsum(np.r_[False, ~alike(x[smallest][1:], x[smallest][:-1])][:n])
        largest = np.argsort(-rank, kind="stable")
        for k in {0, min(n, 1), n // 100, n // 9, n // 2, n}:
            got, index = fg.topk(fg.tensor(x), k, largest=False)
            np.testing.assert_array_equal(index.numpy(), smallest[:k])
            np.testing.assert_array_equal(got.numpy(), x[smallest[:k]])
            index = fg.topk(fg.tensor(x), k)[1].numpy()
            np.testing.assert_array_equal(index, largest[:k])
            index = fg.topk(fg.tensor(np.repeat(x, 2))[::2], k)[1].numpy()
            np.testing.assert_array_equal(index, largest[:k])


def alike(a, b):
    return (a == b) | ((a != a) & (b != b))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_both_zeros_are_as_often_in_order_as_before(dtype):
    x = np.random.default_rng(3).choice([0.0, -0.0, 1.0, -1.0], 5000).astype(dtype)
    got = fg.sort(fg.tensor(x)).numpy()
    np.testing.assert_array_equal(got, np.sort(x))
    assert np.signbit(got).sum() == np.signbit(x).sum()
    # Negative ones come first, at every level of the CPU.
    zeros = np.signbit(got[got == 0])
    assert zeros[: zeros.sum()].all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("kind", KINDS)
def test_more_numbers_than_fit_beside_are_parted_where_they_lie(kind, dtype):
    x = values(kind, 300_000, dtype)
    np.testing.assert_array_equal(fg.sort(fg.tensor(x)).numpy(), np.sort(x))
    np.testing.assert_array_equal(fg.unique(fg.tensor(x)).numpy(), np.unique(x))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("lead", [(3,), (4, 3)])
def test_each_row_of_values_is_looked_up_in_its_row(lead, side):
    rng = np.random.default_rng(7)
    for n in [0, 1, 2, 7, 64]:
        rows, wanted = (
            np.sort(rng.integers(0, 20, (*lead, n)), -1),
            rng.integers(-1, 22, (*lead, 5)),
        )
        # A view of every second value; and NaN, which is above every number.
        rows, wanted = rows.astype(float), np.repeat(wanted, 2, -1).astype(np.float32)
        wanted[..., 0] = np.nan
        got = fg.searchsorted(fg.tensor(rows), fg.tensor(wanted)[..., ::2], side=side).numpy()
        pairs = zip(rows.reshape(np.prod(lead), n), wanted[..., ::2].reshape(-1, 5), strict=True)
        want = [np.searchsorted(row, value, side=side) for row, value in pairs]
        np.testing.assert_array_equal(got, np.reshape(want, got.shape))
    assert fg.searchsorted(fg.zeros((0, 3)), fg.zeros((0, 2))).shape == (0, 2)
    assert fg.searchsorted(fg.zeros((2, 3)), fg.zeros((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("n", [100, 5000, 100_000])
def test_orders_that_are_bad_for_pivots_are_sorted(n):
    # The numbers whose places a sample of evenly spaced ones takes are the least.
    for step in [n // 16, n // 32, 3, 7]:
        x = np.arange(n, dtype=np.float64)
        x[step // 2 :: max(step, 1)] -= n
        np.testing.assert_array_equal(fg.sort(fg.tensor(x)).numpy(), np.sort(x))


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("n", [2, 9, 40, 300, 5000])
def test_zeros_of_real_parts_are_one_number(n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    parts = rng.choice([0.0, -0.0, 1.0, -2.0], n), rng.integers(-9, 9, n)
    z = np.empty(n, dtype)
    z.real, z.imag = parts
    np.testing.assert_array_equal(fg.sort(fg.tensor(z)), np.sort(z))
    np.testing.assert_array_equal(fg.sort(fg.tensor(z), descending=True), np.sort(z)[::-1])
    np.testing.assert_array_equal(fg.sort(fg.tensor(z)[::-1]), np.sort(z))
