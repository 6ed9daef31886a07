"""Loops of whole numbers, bits and conversions give NumPy's results, whatever length and size."""

import warnings
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

SIZES = (1, 7, 255, 256, 257, 700)
COMPARED = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
EXTREMES = (np.maximum, np.minimum, np.multiply)
QUOTIENTS = (np.floor_divide, np.remainder, np.fmod)


def dividends(dtype: Any, n: Any, seed: Any, bits: Any) -> Any:
    """Numbers of up to so many bits, the ends of their range among them."""
    rng, info = np.random.default_rng(seed), np.iinfo(dtype)
    low, high = max(info.min, -(2**bits)), min(info.max, 2**bits - 1)
    x = rng.integers(low, high, n, dtype=dtype, endpoint=True)
    x[: min(n, 2)] = (low, high)[: min(n, 2)]
    return x


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "uint64", "int16"])
@pytest.mark.parametrize("bits", [4, 31, 50, 51, 63])
def test_quotients_of_whole_numbers_are_numpys(dtype: Any, bits: Any) -> None:
    with np.errstate(all="ignore"):
        for n in SIZES:
            a, b = dividends(dtype, n, n, bits), dividends(dtype, n, n + 1, bits // 2)
            if n > 8:
                b[3::5] = 0
                a[4::7] = b[4::7]
            for op in QUOTIENTS:
                got = getattr(fg, op.__name__)(fg.tensor(a), fg.tensor(b)).numpy()
                np.testing.assert_array_equal(got, op(a, b), err_msg=f"{op.__name__} {n}")


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 10, 127, 2**31 - 1, 2**50 - 1, -1, -3, -128, 0])
@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_quotients_by_one_number(dtype: Any, divisor: Any) -> None:
    if abs(divisor) > np.iinfo(dtype).max:
        pytest.skip("not a number of the dtype")
    for bits in (8, 31, 50, 63):
        a = dividends(dtype, 700, divisor % 1000, bits)
        # What lies beside multiples of the divisor is what a rounded quotient could get wrong.
        if divisor:
            near = a[10:200] // divisor * divisor
            a[10:200], a[200:390], a[390:580] = near, near - 1, near + 1
        with np.errstate(all="ignore"):
            for op in QUOTIENTS:
                got = getattr(fg, op.__name__)(fg.tensor(a), divisor).numpy()
                np.testing.assert_array_equal(got, op(a, np.array(divisor, dtype)))


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "uint64", "int8"])
def test_whole_powers_are_products_that_wrap(dtype: Any) -> None:
    x = dividends(dtype, 100, 3, 63)
    for exponent in (0, 1, 2, 3, 4):
        got = fg.tensor(x) ** exponent
        assert got.dtype == fg.tensor(x).dtype
        np.testing.assert_array_equal(got.numpy(), x**exponent)
    with pytest.raises(ValueError, match="negative integer power"):
        fg.tensor(x) ** -1 if np.dtype(dtype).kind == "i" else fg.tensor(x.astype("i8")) ** -1


def test_comparisons_shifts_and_extremes_of_64_bits() -> None:
    a, b = dividends("int64", 333, 1, 63), dividends("int64", 333, 2, 63)
    b[::3] = a[::3]
    for op in (*COMPARED, *EXTREMES):
        with np.errstate(all="ignore"):
            want = op(a, b)
        np.testing.assert_array_equal(
            getattr(fg, op.__name__)(fg.tensor(a), fg.tensor(b)).numpy(), want
        )
    by = np.arange(333) % 70 - 3
    for name in ("left_shift", "right_shift"):
        want = getattr(np, name)(a, np.where((by < 0) | (by > 63), 63, by))
        if name == "left_shift":
            want = np.where((by < 0) | (by > 63), 0, want)
        else:
            want = np.where((by < 0) | (by > 63), np.where(a < 0, -1, 0), want)
        np.testing.assert_array_equal(getattr(fg, name)(fg.tensor(a), fg.tensor(by)).numpy(), want)
    np.testing.assert_array_equal(abs(fg.tensor(a)).numpy(), np.abs(a))


EDGES = [0.0, -0.0, 0.5, -0.5, 1.5, 2.0**31, 2.0**31 - 1, -(2.0**31), -(2.0**31) - 0.5,
         -(2.0**31) - 1, 2.0**53, 2.0**63, -(2.0**63), 1e300, -1e300, np.inf, -np.inf,
         np.nan]  # fmt: skip


@pytest.mark.parametrize("source", ["float64", "float32"])
@pytest.mark.parametrize("target", ["int64", "int32"])
def test_floats_become_whole_numbers_as_in_numpy(source: Any, target: Any) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        edges = np.array(EDGES).astype(source)
        for n in (1, 3, 4, 9, 31):
            for shift in range(len(edges)):
                x = np.resize(np.roll(edges, shift), n)
                got = fg.tensor(x).astype(target).numpy()
                np.testing.assert_array_equal(got, x.astype(target))
        wide = np.linspace(-9.9, 9.9, 90).astype(source)[::3]
        np.testing.assert_array_equal(fg.tensor(wide).astype(target).numpy(), wide.astype(target))


def test_a_float_that_no_integer_stands_for_warns_wherever_it_lies() -> None:
    for n in (5, 64, 1000):
        for at in (0, n // 2, n - 1):
            for bad in (np.nan, np.inf, 2.0**31, -(2.0**31) - 1):
                for dtype in ("float32", "float64"):
                    x = np.zeros(n, dtype)
                    x[at] = bad
                    if x[at] == -(2.0**31):
                        continue
                    with pytest.warns(RuntimeWarning, match="invalid value"):
                        fg.tensor(x).astype("int32")


def test_float16_rounds_float64_once() -> None:
    halves = np.arange(0x7C01, dtype=np.uint16).view(np.float16).astype(np.float64)
    with np.errstate(all="ignore"):
        middles = (halves[:-1] + halves[1:]) / 2
        x = np.concatenate(
            [halves, middles, np.nextafter(middles, 0), np.nextafter(middles, np.inf)]
        )
        x = np.concatenate([x, -x, [np.nan, np.inf, -np.inf, 65519.99, 65520.0, 1e-300, 1e300]])
        want = x.astype(np.float16)
        for start in (0, 1, 5):
            got = fg.tensor(x[start:]).astype(fg.float16).numpy()
            np.testing.assert_array_equal(got.view(np.uint16), want[start:].view(np.uint16))
    back = fg.tensor(want).astype(fg.float64).numpy()
    np.testing.assert_array_equal(back, want.astype(np.float64))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_nextafter_is_numpys_to_the_bit(dtype: Any) -> None:
    info = np.finfo(dtype)
    ends = np.array([0, -0.0, 1, -1, 1.5, info.max, -info.max, info.smallest_subnormal,
                     -info.smallest_subnormal, info.tiny, np.inf, -np.inf,
                     np.nan], dtype)  # fmt: skip
    a, b = (x.copy() for x in np.broadcast_arrays(ends[:, None], ends))
    with np.errstate(all="ignore"):
        want = np.nextafter(a, b)
        beside = np.nextafter(ends, np.array(0.25, dtype))
    got = fg.nextafter(fg.tensor(a), fg.tensor(b)).numpy()
    if dtype != "float16":  # NumPy's own keeps the sign of the first of two equal zeros
        np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(fg.nextafter(fg.tensor(ends), 0.25).numpy(), beside)


def test_nextafter_is_compiled() -> None:
    f = fg.compile(lambda a, b: fg.nextafter(a, b) * 2)
    for seed in range(3):
        a, b = np.random.default_rng(seed).standard_normal((2, 50))
        np.testing.assert_array_equal(np.asarray(f(a, b)), np.nextafter(a, b) * 2)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_half_operands_wherever_they_lie(dtype: Any) -> None:
    x = np.random.default_rng(0).standard_normal((30, 40)).astype(np.float16)
    y = np.random.default_rng(1).standard_normal((30, 40)).astype(dtype)
    for u, v in ((x, y), (x.T, y.T), (x[::2, ::-1], y[::2]), (x[:, :1], y), (x[0], y)):
        got = (fg.tensor(u) + fg.tensor(v)).numpy()
        np.testing.assert_array_equal(got, u + v)
        assert got.dtype == (u + v).dtype
    np.testing.assert_array_equal(
        (fg.tensor(x) > fg.tensor(x.T[:30, :30].T[:1, :1])).numpy(), x > x[:1, :1]
    )
