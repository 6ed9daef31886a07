"""Transposed operands give the bits of their copies, whatever stands beside them."""

import itertools
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

SHAPES = [(8, 32), (9, 33), (40, 130), (129, 257), (7, 300), (300, 7), (64, 31)]


def values(shape: Any, dtype: Any, seed: Any) -> Any:
    x = np.random.default_rng(seed).standard_normal(shape) * 50
    return x.astype(dtype)


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "int64", "int32", "float16", "uint8", "complex64", "complex128"]
)
@pytest.mark.parametrize("shape", SHAPES)
def test_operations_on_transposed_matrices(dtype: Any, shape: Any) -> None:
    a, b = values(shape[::-1], dtype, 0).T, values(shape, dtype, 1)
    row, column = b[:1], b[:, :1]
    t, (c, r, col) = fg.tensor(a.T).T, map(fg.tensor, (b, row, column))
    assert not t.is_contiguous()
    for got, want in (
        (t + c, a + b),
        (c - t, b - a),
        (t * t, a * a),
        (t + 3, a + np.array(3, dtype)),
        (t * r, a * row),
        (col * t, column * a),
        (t.T + c.T, a.T + b.T),
        (t == c, a == b),
    ):
        np.testing.assert_array_equal(got.numpy(), want)
        assert got.is_contiguous()
    np.testing.assert_array_equal(t.contiguous().numpy(), a)
    np.testing.assert_array_equal(t.copy().numpy(), a)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_images_with_moved_axes(dtype: Any) -> None:
    x = values((3, 10, 5, 9), dtype, 0)
    y = values((3, 10, 5, 9), dtype, 1)
    for axes in itertools.permutations(range(4)):
        t, u = fg.tensor(x).permute(axes), y.transpose(axes)
        np.testing.assert_array_equal((t + fg.tensor(u.copy())).numpy(), x.transpose(axes) + u)
        np.testing.assert_array_equal(
            (t * fg.tensor(y).permute(axes)).numpy(), x.transpose(axes) * u
        )
        np.testing.assert_array_equal(t.contiguous().numpy(), x.transpose(axes))
    tall = fg.tensor(values((1, 40, 1, 60), dtype, 2))
    np.testing.assert_array_equal(
        fg.exp(tall.permute((3, 0, 2, 1))).numpy(), fg.exp(tall).numpy().transpose(3, 0, 2, 1)
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_windows_of_transposed_matrices_and_steps(dtype: Any) -> None:
    x = values((90, 70), dtype, 3)
    t = fg.tensor(x)
    for part in (
        np.s_[5:, 3:],
        np.s_[::-1],
        np.s_[:, ::-1],
        np.s_[::2],
        np.s_[:, ::3],
        np.s_[4:77, 1:69],
    ):
        np.testing.assert_array_equal((t[part].T + 1).numpy(), x[part].T + np.array(1, dtype))
        np.testing.assert_array_equal((t.T[part] * 2).numpy(), x.T[part] * np.array(2, dtype))
        np.testing.assert_array_equal(t[part].T.contiguous().numpy(), x[part].T)


def test_in_place_with_a_transposed_operand() -> None:
    x = values((80, 80), "float64", 4)
    t = fg.tensor(x.copy())
    t += t.T
    np.testing.assert_array_equal(t.numpy(), x + x.T)
    u = fg.tensor(x.copy())
    u.T.mul_(fg.tensor(x))
    np.testing.assert_array_equal(u.numpy(), (x.T * x).T)


def test_large_transposed_matrices_do_not_depend_on_threads() -> None:
    x = values((700, 900), "float64", 5)
    t, before, results = fg.tensor(x), fg.get_num_threads(), []
    try:
        for threads in (1, 2):
            fg.set_num_threads(threads)
            results.append((fg.exp(t.T / 60) * fg.tensor(x.T.copy())).numpy())
    finally:
        fg.set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], np.exp(x.T / 60) * x.T, rtol=1e-14)
