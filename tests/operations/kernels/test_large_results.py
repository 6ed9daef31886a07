"""Results of 16 MB and more, which element-wise loops write past the caches, equal NumPy's."""

import numpy as np
import pytest

import ferrograd as fg

#: Just above the size, no whole number of tiles, vectors or lines.
BYTES = (16 << 20) + 1000
DTYPES = ("float64", "float32", "complex128", "int64")

UNARY = {
    "negative": lambda x: -x,
    "times a number": lambda x: x * 2,
    "number minus": lambda x: 3 - x,
}
BINARY = {
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "one element": lambda x, y: x + y[:1],
    "a view": lambda x, y: x[3:] - y[:-3],
}


def operands(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    n = BYTES // np.dtype(dtype).itemsize + 3
    x = np.arange(n, dtype=dtype)
    y = (x[::-1] / 7).astype(dtype)
    return (x, y) if x.dtype.kind != "c" else (x + 0.5j, y * (1 - 2j))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_results_equal_numpys(dtype: str, threads: int) -> None:
    x, y = operands(dtype)
    a, b = fg.tensor(x), fg.tensor(y)
    before = fg.get_num_threads()
    fg.set_num_threads(threads)
    try:
        for name, function in UNARY.items():
            np.testing.assert_array_equal(function(a).numpy(), function(x), err_msg=name)
        for name, function in BINARY.items():
            np.testing.assert_allclose(
                function(a, b).numpy(), function(x, y), rtol=1e-6, err_msg=name
            )
    finally:
        fg.set_num_threads(before)


def test_large_results_in_place_and_their_gradients() -> None:
    x, y = operands("float64")
    a, b = fg.tensor(x), fg.tensor(y)
    a.add_(b).mul_(0.5).sub_(b)
    np.testing.assert_array_equal(a.numpy(), (x + y) * 0.5 - y)
    p = fg.tensor(x, requires_grad=True)
    (p * b + p).sum().backward()
    np.testing.assert_array_equal(p.grad.numpy(), y + 1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_large_results_of_functions_have_the_bits_of_small_ones(dtype: str) -> None:
    x = fg.tensor(np.linspace(-9, 9, BYTES // np.dtype(dtype).itemsize + 3, dtype=dtype))
    piece = 100_003
    for function in (fg.exp, fg.tanh, lambda x: fg.sin(x * x * 1e4), lambda x: fg.abs(x) ** x):
        whole = function(x).numpy()
        for start in range(0, x.size, piece):
            part = function(x[start : start + piece]).numpy()
            np.testing.assert_array_equal(whole[start : start + piece], part)


def test_large_gradients_of_operations_that_run_together() -> None:
    """The result of a run of derivatives is streamed as well; a hook keeps them apart."""
    x, y = operands("float64")
    gradients = []
    for hook in (False, True):
        p, q = (fg.tensor(z / len(x), requires_grad=True) for z in (x, y))
        z = fg.tanh(p * 0.5)
        if hook:
            z.register_hook(lambda _: None)
        (z * q + z).sum().backward()
        gradients.append((p.grad.numpy(), q.grad.numpy()))
    for together, apart in zip(*gradients, strict=True):
        np.testing.assert_array_equal(together, apart)
