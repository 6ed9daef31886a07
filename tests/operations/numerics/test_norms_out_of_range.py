"""Norms of numbers whose powers are too large or too small for floats."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

NORMS: dict[str, Callable[[Any], Any]] = {
    "norm": fg.linalg.norm,
    "fg.norm": lambda x: fg.norm(x.reshape(-1)),
    "vector_norm": fg.linalg.vector_norm,
    "matrix_norm": fg.linalg.matrix_norm,
    "fro": lambda x: fg.linalg.norm(x, "fro"),
    "rows": lambda x: fg.linalg.norm(x, axis=1),
    "columns": lambda x: fg.linalg.vector_norm(x, axis=0, keepdims=True),
    "transposed": lambda x: fg.linalg.vector_norm(x.T, axis=0),
    "numpy": lambda x: np.linalg.norm(x, axis=-1),
    "3": lambda x: fg.linalg.vector_norm(x, 3),
    "4": lambda x: fg.linalg.vector_norm(x, 4, axis=1),
    "2.5": lambda x: fg.linalg.norm(x, 2.5, axis=0),
    "-3": lambda x: fg.linalg.vector_norm(x[:, :2], -3, axis=1),
    "0.5": lambda x: fg.linalg.vector_norm(x, 0.5, axis=1),
    "float order 2": lambda x: x.norm(2.0),
}
#: Scales of each dtype; the last one is among numbers that have not all digits.
SCALES = {
    "float64": (1e200, 1e-200, 1e160, 1e-160, 1e305, 1e-305),
    "float32": (1e30, 1e-30, 1e20, 1e-20, 1e36, 1e-36),
    "complex128": (1e200, 1e-200, 1e160, 1e-160, 1e305, 1e-305),
    "complex64": (1e30, 1e-30, 1e20, 1e-20, 1e36, 1e-36),
}
ROWS = np.array([[3.0, -4.0, 0.0], [0.5, 1.25, -2.0]])


def rows(dtype: str) -> np.ndarray:
    return (ROWS * (1 - 0.5j) if dtype.startswith("complex") else ROWS).astype(dtype)


def both(call: Callable[[Any], Any], array: np.ndarray) -> list[np.ndarray]:
    """The norms and their gradient."""
    x = fg.tensor(array, requires_grad=True)
    y = call(x)
    y.backward(fg.ones_like(y))
    return [y.detach().numpy(), x.grad.numpy()]


CASES = [
    (name, dtype, scale)
    for name in NORMS
    for dtype, scales in SCALES.items()
    for scale in scales
    if not (name in {"-3", "0.5"} and scale > 1e300)
]


@pytest.mark.parametrize(("name", "dtype", "scale"), CASES)
def test_values_and_gradients(name: str, dtype: str, scale: float) -> None:
    call, array = NORMS[name], rows(dtype)
    value, slope = both(call, array)
    scaled, same = both(call, (array * scale).astype(dtype))
    rtol = 1e-5 if dtype in {"float32", "complex64"} else 1e-13
    np.testing.assert_allclose(scaled.astype(np.float64) / scale, value, rtol=rtol)
    np.testing.assert_allclose(same, slope, rtol=rtol, atol=rtol)
    if name != "numpy":
        compiled = fg.compile(fg.value_and_grad(lambda x: call(x).sum()))
        plain = fg.value_and_grad(lambda x: call(x).sum())
        for numbers in (array, (array * scale).astype(dtype), array):
            for a, b in zip(compiled(numbers), plain(numbers), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("scale", [1e160, 1e-160, 1e200, 1e-200])
def test_second_derivatives(name: str, scale: float) -> None:
    def curvature(array: np.ndarray) -> np.ndarray:
        x = fg.tensor(array, requires_grad=True)
        y = NORMS[name](x).sum()
        (first,) = fg.autograd.grad(y, [x], create_graph=True)
        weights = fg.tensor(np.linspace(1, 2, array.size).reshape(array.shape))
        return fg.autograd.grad((first * weights).sum(), [x])[0].numpy()

    expected = curvature(ROWS)
    found = curvature(ROWS * scale) * scale
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


ORDERS = (3, 4, 6, 10, 2.5, 1.5, 0.5, 0.25, -0.25, -0.5, -1, -1.5, -2, -3, -4)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_derivatives_at_every_scale(order: float, dtype: str) -> None:
    """Those of the sum of powers leave the range long before the sum does."""

    def norm(x: Any) -> Any:
        return fg.linalg.norm(x, order)

    row = np.array([1.0, 2.0, -3.0])
    slope, curvature = fg.grad(norm)(row), fg.hessian(norm)(row)
    most, rtol = (150, 1e-11) if dtype == "float64" else (15, 5e-4)
    for exponent in range(-most, most + 1, most // 15):
        x = (row * 10.0**exponent).astype(dtype)
        np.testing.assert_allclose(fg.grad(norm)(x), slope, rtol=rtol)
        found = np.asarray(fg.hessian(norm)(x), np.float64) * 10.0**exponent
        np.testing.assert_allclose(found, curvature, rtol=rtol, atol=rtol * abs(curvature).max())


@pytest.mark.parametrize("order", [2, 3, 4, 2.5])
def test_rows_are_scaled_one_by_one(order: float) -> None:
    array = np.array([[3.0, 4.0], [3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0], [5e-324, 0.0]])
    value, slope = both(lambda x: fg.linalg.vector_norm(x, order, axis=1), array)
    unit = np.linalg.norm([3.0, 4.0], order)
    np.testing.assert_allclose(value[:3], unit * np.array([1, 1e200, 1e-200]), rtol=1e-14)
    assert value[3:].tolist() == [0.0, 5e-324]
    np.testing.assert_allclose(slope[:3], [slope[0]] * 3, rtol=1e-14)
    np.testing.assert_allclose(slope[3:], [[0.0, 0.0], [1.0, 0.0]], rtol=1e-13)
    alone, _ = both(lambda x: fg.linalg.vector_norm(x, order, axis=1), array[:1])
    assert alone[0] == value[0]


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("row", [[np.inf, 1e200], [np.nan, 1e200], [-np.inf, np.nan], []])
def test_what_is_not_finite_stays(order: float, row: list[float]) -> None:
    with np.errstate(all="ignore"):
        expected = np.linalg.norm(np.array(row), order)
    np.testing.assert_array_equal(fg.linalg.vector_norm(fg.tensor(row), order), expected)


def test_what_is_made_of_norms() -> None:
    x = fg.tensor([[3e200, 4e200], [3.0, 4.0]], requires_grad=True)
    y = fg.nn.functional.normalize(x)
    np.testing.assert_allclose(y.detach(), [[0.6, 0.8]] * 2, rtol=1e-14)
    (y * fg.tensor([1.0, 0.0])).sum().backward()
    np.testing.assert_allclose(x.grad[0] * 1e200, x.grad[1], rtol=1e-13)
    p = fg.nn.Parameter(np.zeros(2))
    p.grad = fg.tensor([3e200, 4e200])
    assert fg.nn.utils.clip_grad_norm_([p], 1.0).item() == pytest.approx(5e200, rel=1e-15)
    np.testing.assert_allclose(p.grad, [0.6, 0.8], rtol=1e-12)
