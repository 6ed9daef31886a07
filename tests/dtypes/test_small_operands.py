"""Few elements beside a number, and arrays of many axes: short ways answer as the long ones do."""

import operator

import numpy as np
import pytest

import ferrograd as fg

SIZES = [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 65, 255, 256, 257]
OPERATIONS = [operator.add, operator.sub, operator.mul, operator.lt, operator.ge, operator.eq]
DTYPES = ["float64", "float32", "int64", "int32", "uint8"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_a_number_stands_beside_every_element(size, dtype):
    array = (np.arange(size) % 11).astype(dtype)
    tensor = fg.tensor(array)
    for operation in OPERATIONS:
        for number in (3, 3.5) if dtype.startswith("float") else (3,):
            want = operation(array, number)
            got = operation(tensor, number)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got.numpy(), want)
            want = operation(number, array)
            np.testing.assert_array_equal(operation(number, tensor).numpy(), want)


@pytest.mark.parametrize("size", SIZES)
def test_flags_beside_a_flag(size):
    flags = np.arange(size) % 3 == 0
    for number in (True, False):
        np.testing.assert_array_equal((fg.tensor(flags) & number).numpy(), flags & number)
        np.testing.assert_array_equal((fg.tensor(flags) == number).numpy(), flags == number)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", SIZES[1:])
def test_gradients_of_products_with_numbers(size, dtype):
    x = fg.tensor(np.linspace(-1.0, 2.0, size).astype(dtype), requires_grad=True)
    y = 2.5 * x - x * x * 0.5
    y.backward(fg.ones_like(y))
    x2 = x.numpy()
    np.testing.assert_array_equal(x.grad.numpy(), (2.5 - x2).astype(dtype))


@pytest.mark.parametrize("size", SIZES[1:])
def test_both_gradients_of_a_product(size):
    a = fg.tensor(np.linspace(-1.0, 2.0, size), requires_grad=True)
    b = fg.tensor(np.linspace(0.5, 1.0, size), requires_grad=True)
    seed = fg.tensor(np.linspace(1.0, 3.0, size))
    before = seed.numpy().copy()
    (a * b).backward(seed)
    np.testing.assert_array_equal(a.grad.numpy(), before * b.numpy())
    np.testing.assert_array_equal(b.grad.numpy(), before * a.numpy())
    np.testing.assert_array_equal(seed.numpy(), before)


def test_arrays_of_many_axes():
    array = np.arange(2.0 * 3 * 2 * 2 * 3 * 2).reshape(2, 3, 2, 2, 3, 2)
    x = fg.tensor(array, requires_grad=True)
    for _ in range(3):
        part = x[1, ::-1, :, 1:, ::2][..., 1:]
        np.testing.assert_array_equal(part.numpy(), array[1, ::-1, :, 1:, ::2][..., 1:])
        turned = x.transpose(5, 0, 4, 1, 3, 2)[:, 1:, ::2]
        np.testing.assert_array_equal(turned.numpy(), array.transpose(5, 0, 4, 1, 3, 2)[:, 1:, ::2])
    (turned * 2.0).sum().backward()
    want = np.zeros_like(array)
    want.transpose(5, 0, 4, 1, 3, 2)[:, 1:, ::2] = 2.0
    np.testing.assert_array_equal(x.grad.numpy(), want)
