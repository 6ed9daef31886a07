"""Complex numbers in order, beside NaN, at random and as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

NAN = np.nan
NUMBERS = [
    np.array([1 + 2j, 1 - 1j, 0.5 + 9j, 1 + 2j, -3 + 0j]),
    np.array([[1 + 2j, complex(NAN, 1)], [3 - 1j, complex(2, NAN)], [0j, 1j]]),
    np.array([1 + 2j, 3, 0.5j], dtype="complex64"),
    np.array([complex(NAN, 0), complex(NAN, NAN), complex(1, NAN), 2]),
]


ONE = [
    "max",
    "min",
    "ptp",
    "median",
    "argmax",
    "argmin",
    "sort",
    "argsort",
    "nanmax",
    "nanmin",
    "nanprod",
    "nancumsum",
    "nancumprod",
    "nansum",
    "nanmedian",
]
FLOATS = [0.1 + 0.2, 1 / 3, 1e22, -0.0, np.float32(0.1), np.float16(0.1)]
TEXTS = [*FLOATS, 5, True, 1j, 1 + 2j, complex(1 / 3, NAN), np.complex64(1 / 3)]


def same(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("z", NUMBERS)
@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_extremes_of_two(name: str, z: np.ndarray) -> None:
    extreme, w = getattr(np, name), z[::-1].copy()
    same(extreme(fg.tensor(z), fg.tensor(w)), extreme(z, w))
    for other in (0.5, 1 + 1j, np.float32(2)):
        same(extreme(fg.tensor(z), other), extreme(z, other))
        same(extreme(other, fg.tensor(z)), extreme(other, z))
    same(extreme(fg.tensor(z), fg.ones(z.shape)), extreme(z, np.ones(z.shape)))


@pytest.mark.parametrize("z", NUMBERS)
def test_clip(z: np.ndarray) -> None:
    x = fg.tensor(z)
    for low, high in ((0.5, 1 + 1j), (None, 1), (1j, None), (z[::-1].copy(), None)):
        given = [fg.tensor(b) if isinstance(b, np.ndarray) else b for b in (low, high)]
        same(np.clip(x, *given), np.clip(z, low, high))
    real = fg.tensor([0.0, 3.0])
    same(np.clip(real, 1j, None), np.clip(real.numpy(), 1j, None))


@pytest.mark.parametrize("z", NUMBERS)
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one(name: str, z: np.ndarray) -> None:
    function = getattr(np, name)
    with np.errstate(all="ignore"):
        same(function(fg.tensor(z)), np.asarray(function(z)))
        if z.ndim > 1 and name != "nanmedian":
            same(function(fg.tensor(z), axis=0), np.asarray(function(z, axis=0)))


@pytest.mark.parametrize("z", NUMBERS)
def test_unique_keeps_one_nan(z: np.ndarray) -> None:
    same(np.unique(fg.tensor(z)), np.unique(z))
    options = {"return_index": True, "return_inverse": True, "return_counts": True}
    for found, expected in zip(
        np.unique(fg.tensor(z), **options), np.unique(z, **options), strict=True
    ):
        same(found, expected)


def test_gradients_reach_the_chosen_element() -> None:
    w = fg.tensor([1 + 1j, 2 + 0j])
    for function, expected in (
        (lambda z: np.maximum(z, w), [0, 1]),
        (lambda z: np.fmin(z, w), [1, 0]),
        (lambda z: np.clip(z, 1.5, None), [0, 1]),
        (lambda z: np.median(fg.concatenate([z, fg.tensor([9j])])), [1, 0]),
    ):
        z = fg.tensor([1 - 1j, 2 + 3j], requires_grad=True)
        function(z).real.sum().backward()
        assert z.grad.tolist() == expected
    fg.gradcheck(lambda z: np.maximum(z, w), [fg.tensor([0.5 - 1j, 3j + 3], requires_grad=True)])
    fg.gradcheck(np.median, [fg.tensor([1 - 1j, 2 + 3j, 4, 5j], requires_grad=True)])
    compiled = fg.compile(lambda z: np.maximum(z, w) * 2)
    for value in ([1 - 1j, 2 + 3j], [3j, 5 + 0j]):
        same(compiled(fg.tensor(value)), np.maximum(np.array(value), w.numpy()) * 2)


def test_powers_of_zero() -> None:
    for w in (1 + 2j, 1 - 2j, 0.5j, -1 + 0j, -1 + 1j, 0j, 2 + 0j):
        with np.errstate(all="ignore"):
            expected = np.power(0j, w)
        found = (fg.tensor(0j) ** w).item()
        np.testing.assert_array_equal(found, expected)


def test_trapezoid_with_a_complex_step() -> None:
    y = np.array([1 + 2j, 3, 0.5j])
    np.testing.assert_allclose(np.trapezoid(fg.tensor(y), dx=1j).numpy(), np.trapezoid(y, dx=1j))
    found = np.trapezoid(fg.tensor([1.0, 2.0], dtype=np.float32), dx=1j)
    assert found.dtype == np.complex64
    assert found.item() == 1.5j
    fg.gradcheck(lambda t: np.trapezoid(t, dx=2 + 1j), [fg.tensor(y, requires_grad=True)])


def test_the_angle_of_real_numbers_has_their_precision() -> None:
    for dtype in ("float16", "float32", "int8", "int16", "int64", "bool", "complex64"):
        x = np.array([1, 0, 1]).astype(dtype)
        same(np.angle(fg.tensor(x)), np.angle(x))
    same(np.angle(fg.tensor([-1.0, -0.0, NAN])), np.angle(np.array([-1.0, -0.0, NAN])))


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_random_numbers_have_both_parts(dtype: str) -> None:
    rng = fg.Generator(0)
    for draw in (
        lambda: fg.randn(4000, dtype=dtype, generator=rng),
        lambda: fg.zeros(4000, dtype=dtype).normal_(generator=rng),
        lambda: fg.randn_like(fg.zeros(4000, dtype=dtype)),
    ):
        z = draw()
        assert z.dtype == dtype
        # The variance is 1 in total.
        for part in (z.real, z.imag):
            assert abs(float(part.std()) ** 2 - 0.5) < 0.05
    z = fg.rand(4000, dtype=dtype, generator=rng)
    for part in (z.real, z.imag):
        assert float(part.min()) >= 0
        assert float(part.max()) < 1
        assert abs(float(part.mean()) - 0.5) < 0.05
    assert fg.randn((), dtype=dtype).shape == ()
    z = fg.zeros(4000, dtype=dtype).normal_(1 + 2j, 0.1, generator=rng)
    assert abs(z.mean().item() - (1 + 2j)) < 0.02
    assert isinstance(fg.randn(2, generator=fg.Generator(3)).tolist()[0], float)
    fg.nn.init.kaiming_normal_(w := fg.zeros(50, 50, dtype=dtype))
    assert float(abs(w.imag).max()) > 0


@pytest.mark.parametrize("value", TEXTS)
def test_one_number_as_text_has_all_its_digits(value: Any) -> None:
    assert str(fg.tensor(value)) == str(np.asarray(value)[()])


@pytest.mark.parametrize("z", NUMBERS)
def test_text(z: np.ndarray) -> None:
    assert str(fg.tensor(z)) == str(z)


def test_where_numpy_differs() -> None:
    found = np.reciprocal(fg.tensor([0j])).item()
    assert np.isinf(found.real)
    assert np.isnan(found.imag)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("x", NUMBERS)
def test_running_extremes(name: str, x: Any) -> None:
    for axis in range(x.ndim):
        want = getattr(np, name).accumulate(x, axis=axis)
        got = getattr(np, name).accumulate(fg.tensor(x), axis=axis)
        np.testing.assert_array_equal(got.numpy(), want)
