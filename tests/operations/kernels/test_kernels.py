"""Kernels that cut their work into tiles, blocks and strips, beside NumPy and exact sums.

What operations compute: `test_ops.py`.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

import ferrograd as fg

RNG = np.random.default_rng(11)
F = fg.nn.functional


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
@pytest.mark.parametrize("last", [1, 2, 3, 5, 8, 10, 64, 65, 100, 127, 128, 129, 511, 513])
def test_broadcasting_along_a_short_axis(last: int, dtype: str) -> None:
    def draw(*dims: int) -> np.ndarray:
        return (RNG.standard_normal(dims) * 9).astype(dtype)

    plus = np.logical_or if dtype == "bool" else np.add
    x, column, stack = draw(37, last), draw(37, 1), draw(4, 1, last)
    wide, row, whole = draw(37, 2 * last), draw(last), draw(4, 37, last)
    for a, b in [
        *[(x, column), (x, row), (x, stack), (column, row), (whole, stack), (whole, column)],
        *[(wide[:, ::2], row), (wide[:, :last], x), (wide[:, ::-1][:, :last], stack)],
        *[(np.asfortranarray(x), row), (whole.swapaxes(0, 1)[:, :, ::-1], stack[:, 0])],
        *[(whole[:, ::3], stack), (whole[:, 1:2], x), (x[::-1], column)],
    ]:
        ours = getattr(fg, plus.__name__)(fg.tensor(a), fg.tensor(b)).numpy()
        np.testing.assert_array_equal(ours, plus(a, b))
        for name in ("subtract", "divide", "arctan2") if dtype.startswith("f") else ():
            for left, right in ((a, b), (b, a)):
                ours = getattr(fg, name)(fg.tensor(left), fg.tensor(right)).numpy()
                whole_rows = [np.ascontiguousarray(z) for z in np.broadcast_arrays(left, right)]
                flat = getattr(fg, name)(*map(fg.tensor, whole_rows)).numpy()
                np.testing.assert_array_equal(ours, flat)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [15, 16, 17, 33, 1024, 5001, 70_000])
def test_every_second_element_of_both(size: int, dtype: str) -> None:
    x, y = RNG.standard_normal((2, 2 * size)).astype(dtype)
    for first, second in ((0, 0), (1, 0), (1, 1)):
        a, b = x[first::2], y[second::2]
        ours = fg.tensor(x)[first::2] * fg.tensor(y)[second::2]
        np.testing.assert_array_equal(ours.numpy(), a * b)


@pytest.mark.parametrize("last", [1, 3, 8, 100, 130, 600])
def test_changes_in_place_along_a_short_axis(last: int) -> None:
    x, row = RNG.standard_normal((5, 2, 31, last)), RNG.standard_normal((2, 1, last))
    ours, theirs = fg.tensor(x), x.copy()
    ours += fg.tensor(row)
    theirs += row
    ours[:, 0, ::2] *= fg.tensor(row[0])
    theirs[:, 0, ::2] *= row[0]
    ours.swapaxes(0, 3)[:, :, :, 1:4] -= ours[0, 0, 0, 0].copy()
    theirs.swapaxes(0, 3)[:, :, :, 1:4] -= theirs[0, 0, 0, 0]
    np.testing.assert_array_equal(ours.numpy(), theirs)


@pytest.mark.parametrize("length", [*range(1, 41), 63, 64, 65, 100])
def test_sums_of_short_rows_have_one_order(length: int) -> None:
    rows = RNG.standard_normal((50, length))
    wide = np.concatenate([rows, rows], axis=1)
    together = fg.tensor(rows).sum(-1).numpy()
    alone = np.array([fg.tensor(row.copy()).sum().item() for row in rows])
    apart = fg.tensor(wide)[:, :length].sum(-1).numpy()
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(apart, alone)
    np.testing.assert_allclose(together, [math.fsum(row) for row in rows], 1e-14, 1e-14)


def exact_variance(x: np.ndarray, ddof: int = 0) -> float:
    values = [Fraction(float(v)) for v in x]
    mean = sum(values) / len(values)
    return float(sum((v - mean) ** 2 for v in values) / (len(values) - ddof))


@pytest.mark.parametrize("size", [2, 7, 33, 2047, 2048, 2049, 70_000])
@pytest.mark.parametrize("offset", [0.0, 1e3, -1e8])
def test_variance_is_as_exact_as_two_passes(size: int, offset: float) -> None:
    x = RNG.standard_normal(size) + offset
    exact = exact_variance(x, 1)
    ours = fg.var(fg.tensor(x), ddof=1).item()
    # One rounding of the differences and the sums: the offset leaves no trace.
    assert abs(ours - exact) <= 2e-15 * exact
    single = x.astype("float32")
    exact = exact_variance(single)
    if exact > 0:
        assert abs(fg.var(fg.tensor(single)).item() - exact) <= 1e-6 * exact
    rows = fg.var(fg.tensor(np.stack([x, 2 * x])), axis=1).numpy()
    np.testing.assert_allclose(rows, [np.var(x), 4 * np.var(x)], 1e-7)


def test_variance_of_what_is_no_number_or_the_same() -> None:
    x = np.tile(RNG.standard_normal(5000), (6, 1))
    x[1, 4000], x[2, 0], x[3, 2500], x[4], x[5] = np.nan, np.inf, -np.inf, 0.1, 1e300
    ours = fg.var(fg.tensor(x), axis=1).numpy()
    assert np.isnan(ours[1:4]).all()
    assert ours[0] > 0
    assert (ours[4:] == 0).all()
    assert math.isnan(fg.var(fg.zeros(0)).item())
    assert fg.var(fg.zeros(4, 0), axis=1).shape == (4,)
    assert math.isnan(fg.var(fg.tensor([1.0]), ddof=1).item())
    assert fg.var(fg.tensor([1.0, 3.0]), ddof=2).item() == math.inf


@pytest.mark.parametrize("dims", [(300_000,), (3, 150_000), (700, 300)])
def test_variance_has_the_same_bits_at_any_thread_count(dims: tuple[int, ...]) -> None:
    x = fg.tensor(RNG.standard_normal(dims), requires_grad=True)

    def run(threads: int) -> bytes:
        fg.set_num_threads(threads)
        y = x.var(axis=-1)
        (g,) = fg.autograd.grad(y.sum(), x)
        return y.detach().numpy().tobytes() + g.numpy().tobytes()

    assert run(1) == run(2) == run(3)


def test_second_derivatives_of_the_variance() -> None:
    x = RNG.standard_normal((3, 4))
    for axis in [None, 1, (0, 1)]:
        assert fg.autograd.gradcheck(lambda t, a=axis: t.var(axis=a, ddof=1), (x,))
        assert fg.autograd.gradgradcheck(lambda t, a=axis: t.std(axis=a), (x,))
    compiled = fg.compile(lambda t: t.var(axis=1))
    for scale in [1.0, 2.0, 3.0]:
        t = fg.tensor(x * scale)
        np.testing.assert_array_equal(compiled(t).numpy(), t.var(axis=1).numpy())


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bool", "complex128"])
def test_a_gather_checks_every_index(dtype: str) -> None:
    x = (RNG.standard_normal(1000) * 9).astype(dtype)
    index = RNG.integers(-1000, 1000, 150_000)
    for step in [1, 2, -1]:
        view = x[::step]
        inside = index % (2 * len(view)) - len(view)
        ours = fg.take(fg.tensor(x)[::step], fg.tensor(inside))
        np.testing.assert_array_equal(ours.numpy(), view[inside])
    index[70_000], index[140_000] = 1000, -1001
    with pytest.raises(IndexError, match="1000"):
        fg.take(fg.tensor(x), fg.tensor(index))
    with pytest.raises(IndexError, match="-1001"):
        fg.take(fg.tensor(x), fg.tensor(index[100_000:]))
    with pytest.raises(IndexError, match="0"):
        fg.take(fg.tensor(x[:0]), fg.tensor([0]))
    compiled = fg.compile(lambda t, i: fg.take(t, i))
    for part in (index[:50], index[100:150], index[150:200]):
        given = fg.tensor(x), fg.tensor(part)
        np.testing.assert_array_equal(compiled(*given).numpy(), x[part])
    with pytest.raises(IndexError):
        compiled(fg.tensor(x), fg.tensor(index[70_000:70_050]))


@pytest.mark.parametrize("width", range(1, 7))
@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
def test_short_rows_are_gathered_and_laid_down(width: int, dtype: str) -> None:
    table = (RNG.standard_normal((40, width)) * 3).astype(dtype)
    index = RNG.integers(-40, 40, (7, 11))
    x = fg.tensor(table)
    np.testing.assert_array_equal(x[index].numpy(), table[index])
    np.testing.assert_array_equal(x.T[:, index].numpy(), table.T[:, index])
    wide = fg.tensor(np.repeat(table, 2, 1))[:, ::2]
    np.testing.assert_array_equal(wide[index].numpy(), table[index])
    order = RNG.permutation(40)[:20]
    copy, want = x.clone(), table.copy()
    copy[order], want[order] = x[:20], table[:20]
    np.testing.assert_array_equal(copy.numpy(), want)
