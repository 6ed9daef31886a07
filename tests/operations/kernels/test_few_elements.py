"""Element-wise operations on few elements that lie in every way, turned round or repeated."""

import numpy as np
import pytest

import ferrograd as fg


def lie(x):
    """Arrays of the shape of `x`, which lie otherwise in memory or are repeated along an axis."""
    return [
        x,
        np.asfortranarray(x),
        x[::-1, ::-1].copy()[::-1, ::-1],
        np.repeat(x, 2, 1)[:, ::2],
        x[:1],
        x[:, :1],
        x[0, 0, None],
    ]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(1, 7), (3, 1), (4, 4), (2, 31), (16, 16), (16, 17)])
def test_pairs_of_operands(shape, dtype):
    numbers = np.random.default_rng(0).integers(0, 9, (2, *shape))
    for a in lie(numbers[0].astype(dtype)):
        for b in lie(numbers[1].astype(dtype)):
            x, y = fg.from_numpy(a), fg.from_numpy(b)
            np.testing.assert_array_equal((x + y).numpy(), np.add(a, b))
            np.testing.assert_array_equal((x < y).numpy(), np.less(a, b))
            got = fg.where(x > 3, x, y).numpy()
            np.testing.assert_array_equal(got, np.where(a.astype(int) > 3, a, b))


def test_a_result_takes_the_place_of_an_operand():
    rows = np.arange(12.0).reshape(3, 4)
    for column in (np.arange(3.0)[:, None], np.arange(4.0)):
        x = fg.tensor(rows)
        x += fg.tensor(column)
        np.testing.assert_array_equal(x.numpy(), rows + column)
        across = fg.tensor(rows).T
        across *= fg.tensor(np.broadcast_to(column, rows.shape).T)
        np.testing.assert_array_equal(across.numpy(), (rows * column).T)


@pytest.mark.parametrize("shape", [(4,), (3, 1), (1, 4), (1, 1), ()])
def test_gradients_of_repeated_operands(shape):
    a = np.random.default_rng(1).standard_normal((3, 4))
    b = np.random.default_rng(2).standard_normal(shape)
    x, y = fg.tensor(a, requires_grad=True), fg.tensor(b, requires_grad=True)
    (x * y * x.T.T).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * a * b, rtol=1e-14)
    want = (a * a * np.ones_like(b)).reshape(3, 4)
    axes = tuple(i for i in range(2) if i < 2 - b.ndim or b.shape[i - 2 + b.ndim] == 1)
    np.testing.assert_allclose(y.grad.numpy(), want.sum(axes).reshape(shape), rtol=1e-14)
