"""Loops over arrays of some hundred to some thousand elements, at every length of their rests."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

LENGTHS = [*range(1, 140), 255, 257, 1000, 1023, 1024, 1025, 1056, 2049]
RNG = np.random.default_rng(5)


def rows(n: int, dtype: type[np.number[Any]]) -> Any:
    """Rows with a NaN, with an infinity, and of nothing but the identity of a maximum."""
    x = (RNG.standard_normal((21, n)) * 50).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        x[1, n // 2], x[2, -1], x[3], x[4, ::2] = np.nan, np.inf, -np.inf, np.nan
    return x


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.float16])
def test_extremes_of_rows_of_every_length(dtype: type[np.number[Any]]) -> None:
    for n in LENGTHS:
        x = rows(n, dtype)
        for array in (x, x[:, ::-1], x.T):
            axis = 0 if array.shape[0] == n and array is not x else 1
            for name in ("max", "min", "argmax", "argmin"):
                ours = getattr(fg.tensor(array), name)(axis=axis)
                ours = ours[0] if isinstance(ours, tuple) else ours
                theirs = getattr(array, name)(axis=axis)
                assert np.array_equal(
                    ours.numpy(), theirs, equal_nan=np.dtype(dtype).kind == "f"
                ), (n, name)


def test_the_extreme_of_a_short_row_has_the_bits_that_it_has_alone() -> None:
    for n in range(1, 70):
        x = RNG.choice([-0.0, 0.0], (37, n))
        for name in ("amax", "amin"):
            together = getattr(fg, name)(fg.tensor(x), 1)
            alone = [getattr(fg, name)(fg.tensor(row)).item() for row in x]
            assert np.array_equal(np.signbit(together.numpy()), np.signbit(alone)), (n, name)
        assert np.array_equal(fg.tensor(x).argmax(1).numpy(), x.argmax(1)), n


def test_the_first_of_the_extremes_in_rows_of_every_layout() -> None:
    for n in (1, 3, 8, 13, 63):
        x = RNG.integers(0, 3, (3, 300, n)).astype(np.float32)
        for array in (x, x[::-1, ::7], x[:, ::-1], x[:, :, : n // 2 + 1], x.swapaxes(0, 1), x[:1]):
            assert np.array_equal(fg.tensor(array).argmax(-1).numpy(), array.argmax(-1)), n
            view = fg.asarray(array)
            assert np.array_equal(view.argmin(-1).numpy(), array.argmin(-1)), n
            assert np.array_equal(fg.amax(view, -1).numpy(), array.max(-1)), n
        repeated = np.broadcast_to(x[:, :1], x.shape)
        assert np.array_equal(fg.tensor(repeated).argmax(-1).numpy(), repeated.argmax(-1)), n


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extremes_among_infinities_of_both_signs_and_nan(dtype: type[np.number[Any]]) -> None:
    for n in (64, 65, 100, 200, 1024, 1100, 5000):
        x = (RNG.standard_normal((9, n)) * 50).astype(dtype)
        x[:, 1], x[:, n - 2], x[2, 0], x[4, 0] = np.inf, -np.inf, -np.inf, np.inf
        x[5, n // 3], x[6, -1], x[7, 0] = np.nan, np.nan, np.nan
        x[8] = np.finfo(dtype).max
        x[8, n // 2 :] = np.finfo(dtype).min
        for name in ("max", "min", "argmax", "argmin"):
            for array in (x, *x):
                ours = getattr(fg.tensor(array), name)(axis=-1)
                ours = ours[0] if isinstance(ours, tuple) else ours
                theirs = getattr(array, name)(-1)
                assert np.array_equal(ours.numpy(), theirs, equal_nan=True), (n, name)


@pytest.mark.parametrize("largest", [True, False])
def test_running_extremes_are_the_last_of_equals(largest: bool) -> None:
    x = RNG.integers(0, 4, (3, 500)).astype(np.float32)
    x[1, 200], x[1, 300], x[2] = np.nan, np.nan, np.sort(x[2])
    values, index = (fg.cummax if largest else fg.cummin)(fg.tensor(x), 1)
    accumulate = np.maximum.accumulate if largest else np.minimum.accumulate
    expected = accumulate(x, 1)
    assert np.array_equal(values.numpy(), expected, equal_nan=True)
    places = np.where((x == expected) | np.isnan(x), np.arange(500), 0)
    assert np.array_equal(index.numpy(), np.maximum.accumulate(places, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
def test_values_are_looked_up_in_lists_of_every_length(dtype: type[np.number[Any]]) -> None:
    for n in [*range(1, 20), 100, 1000]:
        a = np.sort(RNG.integers(0, 99, n)).astype(dtype)
        for v in (RNG.integers(0, 99, n % 7 + 1).astype(dtype), RNG.integers(0, 99, 333)):
            for side in ("left", "right"):
                found = fg.searchsorted(fg.tensor(a), fg.tensor(v), side).numpy()
                assert np.array_equal(found, np.searchsorted(a, v, side)), n
    rows = np.sort(RNG.integers(0, 9, (4, 13)), 1).astype(dtype)
    v = RNG.integers(0, 9, (4, 11)).astype(dtype)
    found = fg.searchsorted(fg.tensor(rows), fg.tensor(v)).numpy()
    assert np.array_equal(found, [np.searchsorted(a, b) for a, b in zip(rows, v, strict=True)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sums_of_rows_of_every_length(dtype: type[np.number[Any]]) -> None:
    exact = (1 << 10) // np.dtype(dtype).itemsize
    for n in LENGTHS:
        x = RNG.integers(-exact, exact, (3, n)).astype(dtype)
        assert np.array_equal(fg.tensor(x).sum(1).numpy(), x.sum(1)), n
        assert np.array_equal(fg.tensor(x[:, ::-1]).sum(1).numpy(), x.sum(1)), n
        assert fg.tensor(x).sum().item() == x.sum(), n


def test_float16_is_converted_as_numpy_does() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    assert np.array_equal(
        fg.tensor(every).to(fg.float32).numpy(), every.astype(np.float32), equal_nan=True
    )
    between = every[np.isfinite(every)].astype(np.float32)
    numbers = np.concatenate(
        [np.nextafter(between, np.float32(s)) for s in (-1e9, 1e9)]
        + [between * 1.0004, [1e9, np.nan]]
    )
    numbers = numbers.astype(np.float32)
    with np.errstate(over="ignore"):
        theirs = numbers.astype(np.float16)
    ours = fg.tensor(numbers).to(fg.float16).numpy()
    assert np.array_equal(ours, theirs, equal_nan=True)
    assert np.array_equal(np.signbit(ours), np.signbit(theirs))
    for n in range(20):
        assert np.array_equal(fg.tensor(numbers[:n]).to(fg.float16).numpy(), theirs[:n])


@pytest.mark.parametrize("shape", [(7,), (5, 6), (3, 4, 5), (200, 300), (1, 5), (150000,)])
def test_elements_are_gathered_with_and_without_a_graph(shape: tuple[int, ...]) -> None:
    x = RNG.standard_normal(shape)
    for axis, size in enumerate(shape):
        sizes = [*shape[:axis], 9, *shape[axis + 1 :]]
        index = RNG.integers(-size, size, sizes)
        expected = np.take_along_axis(x, index, axis)
        for t in (fg.tensor(x), fg.tensor(x, requires_grad=True), fg.tensor(x.T.copy()).T):
            for i in (fg.tensor(index), fg.tensor(index.T.copy()).T):
                assert np.array_equal(fg.gather(t, axis, i).detach().numpy(), expected)
                assert np.array_equal(fg.take_along_axis(t, i, axis).detach().numpy(), expected)
        wrong = index.copy()
        wrong.flat[-1], wrong.flat[wrong.size // 2] = size, -size - 3
        for t in (fg.tensor(x), fg.tensor(x, requires_grad=True)):
            with pytest.raises(
                IndexError, match=f"index {-size - 3} is out of range for axis {axis}"
            ):
                fg.gather(t, axis, wrong)


def test_vectors_are_indexed_by_arrays_with_and_without_a_graph() -> None:
    x = RNG.standard_normal(300)
    index = RNG.integers(-300, 300, (40, 50))
    for t in (fg.tensor(x), fg.tensor(x, requires_grad=True)):
        assert np.array_equal(t[index].detach().numpy(), x[index])
        assert np.array_equal(t[::-2][index // 2].detach().numpy(), x[::-2][index // 2])
        with pytest.raises(IndexError, match="index 300 is out of range for axis 0 of size 300"):
            t[[0, 300, -301]]
    with pytest.raises(IndexError, match="the axis is empty"):
        fg.tensor(np.zeros(0))[[0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_power_of_a_half_is_the_root(dtype: type[np.number[Any]]) -> None:
    x = np.array([4.0, 0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 1e-30], dtype)
    with np.errstate(invalid="ignore"):
        assert np.array_equal((fg.tensor(x) ** 0.5).numpy(), x**0.5, equal_nan=True)
    t = fg.tensor(np.array([4.0, 0.25], dtype), requires_grad=True)
    (first,) = fg.autograd.grad((t**0.5).sum(), [t], create_graph=True)
    (second,) = fg.autograd.grad(first.sum(), [t])
    assert np.allclose(first.detach().numpy(), [0.25, 1.0])
    assert np.allclose(second.numpy(), [-1 / 32, -2.0])
