"""Operands of several dtypes: what is converted in tiles has NumPy's bits."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

DTYPES = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64")
SIZES = (7, 2048, 5000)


def of(dtype: str, n: int) -> Any:
    rng = np.random.default_rng(n)
    values = rng.integers(1, 100, n)
    return (values % 2 if dtype == "bool" else values).astype(dtype)


def same(ours: Any, theirs: Any) -> None:
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert ours.numpy().tobytes() == theirs.tobytes()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", ["int32", "int64", "float32", "float64", "complex128"])
def test_pairs_have_numpys_bits(a: str, b: str, n: int) -> None:
    x, y = of(a, n), of(b, n + 1)[:n]
    for text in (np.add, np.multiply, np.subtract):
        if a == "bool" and b == "bool":
            continue
        same(text(fg.tensor(x), fg.tensor(y)), text(x, y))
        same(text(fg.tensor(y)[::-1], fg.tensor(x)), text(y[::-1], x))
    if "complex" not in a + b:
        same(fg.tensor(x) / fg.tensor(y), x / y)
        same(fg.tensor(x) < fg.tensor(y), x < y)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("a", ["bool", "uint8", "int32", "int64"])
def test_whole_numbers_beside_a_float_and_under_a_root(a: str, n: int) -> None:
    x = of(a, n)
    same(fg.tensor(x) * 0.5, x * 0.5)
    same(2.5 - fg.tensor(x), 2.5 - x)
    same(fg.sqrt(fg.tensor(x)), np.sqrt(x))


def test_rows_columns_and_transposed_operands() -> None:
    x, row, column = of("int64", 4200).reshape(60, 70), of("float64", 70), of("int32", 60)
    same(fg.tensor(x) + fg.tensor(row), x + row)
    same(fg.tensor(x) * fg.tensor(column)[:, None].to(fg.float32), x * column[:, None].astype("f4"))
    same(fg.tensor(x).T + fg.tensor(x.T.astype("f8")), x.T + x.T.astype("f8"))
    same(fg.tensor(x)[:, ::2] + 0.5, x[:, ::2] + 0.5)


def test_gradients_reach_the_floats() -> None:
    whole = fg.tensor(np.arange(5000))
    x = fg.tensor(np.linspace(0.0, 1.0, 5000), requires_grad=True)
    narrow = fg.tensor(np.linspace(0.0, 1.0, 5000), dtype=fg.float32, requires_grad=True)
    (whole + x - narrow).sum().backward()
    (whole * x).sum().backward()
    assert x.grad is not None
    assert narrow.grad is not None
    assert narrow.grad.dtype == np.float32
    np.testing.assert_array_equal(x.grad.numpy(), 1.0 + np.arange(5000))
    np.testing.assert_array_equal(narrow.grad.numpy(), -np.ones(5000, "f4"))


@pytest.mark.parametrize("to", [np.int32, np.int64])
@pytest.mark.parametrize("from_", [np.float16, np.float32, np.float64])
def test_a_float_without_an_integer_warns_wherever_it_stands(from_: Any, to: Any) -> None:
    fits = np.zeros(5000, from_)
    with np.errstate(invalid="ignore"):
        np.array([np.inf]) - np.inf  # what was invalid before is not ours
    fg.tensor(fits).astype(to)
    for at in (0, 1, 4999):
        for bad in (np.nan, -np.inf):
            x = fits.copy()
            x[at] = bad
            with pytest.warns(RuntimeWarning, match="invalid value"):
                ours = fg.tensor(x).astype(to)
            with np.errstate(invalid="ignore"):
                same(ours, x.astype(to))
    least = np.full(5000, np.iinfo(to).min if from_ is np.float64 else 0).astype(from_)
    same(fg.tensor(least).astype(to), least.astype(to))
