"""Complex functions of zeros, infinities and NaN: NumPy's values, signs of zeros included."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

PARTS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]
FUNCTIONS = [
    *("exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "square", "reciprocal", "sin"),
    *("cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh"),
    *("arctanh", "absolute", "angle", "sign", "conjugate", "negative", "isnan", "isinf"),
]


def places(dtype: Any) -> Any:
    z = np.empty((len(PARTS), len(PARTS)), dtype)
    z.real, z.imag = np.array(PARTS)[:, None], np.array(PARTS)
    return z.ravel()


def assert_same(found: Any, wanted: Any, free: Any = False, signs: bool = True) -> None:
    """Equal with signs; where the other part is NaN, that of an infinity or a zero is free."""
    tol = 1e-14 if wanted.dtype.itemsize in (8, 16) and wanted.dtype != np.complex64 else 1e-5
    parts = ("real", "imag") if wanted.dtype.kind == "c" else ("real", "real")
    for part, other in (parts, parts[::-1]):
        a, b, beside = getattr(found, part), getattr(wanted, part), getattr(wanted, other)
        open_ = free | np.isnan(b) | (np.isnan(beside) & (np.isinf(b) | (b == 0)))
        a, b = (np.where(open_ & ~np.isnan(v), np.abs(v), v) for v in (a, b))
        np.testing.assert_allclose(
            a[~np.broadcast_to(free, a.shape)], b[~np.broadcast_to(free, b.shape)], rtol=tol
        )
        if signs and a.dtype.kind == "f":
            certain = ~np.broadcast_to(open_, a.shape)
            np.testing.assert_array_equal(np.signbit(a)[certain], np.signbit(b)[certain])


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_values_of_numpy(name: str, dtype: Any) -> None:
    z = places(dtype)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(z)
    found = getattr(np, name)(fg.tensor(z)).numpy()
    assert found.dtype == wanted.dtype
    # 1 / 0 is that of the quotient.
    assert_same(found, wanted, free=(z == 0) if name == "reciprocal" else False)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_expm1_is_the_exponential_less_one(dtype: Any) -> None:
    """NumPy has NaN where a part is infinite."""
    z = places(dtype)
    with np.errstate(all="ignore"):
        wanted = np.exp(z) - 1
        known = np.expm1(z)
    found = np.expm1(fg.tensor(z)).numpy()
    far = ~np.isfinite(z)
    assert_same(found[far], wanted[far], signs=False)
    assert_same(found[~far], known[~far])


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_quotients_have_the_values_of_numpy(dtype: Any) -> None:
    """NumPy's zeros have the signs of Smith's algorithm."""
    a, b = (v.ravel() for v in np.meshgrid(places(dtype), places(dtype)))
    with np.errstate(all="ignore"):
        wanted = a / b
    assert_same((fg.tensor(a) / fg.tensor(b)).numpy(), wanted, signs=False)


def test_powers_of_finite_numbers_have_the_values_of_numpy() -> None:
    """Of infinite numbers `w log z` is NaN, where C's product may find an infinity."""
    a, b = (v.ravel() for v in np.meshgrid(places(complex), places(complex)))
    keep = np.isfinite(b) & np.isfinite(a)
    with np.errstate(all="ignore"):
        wanted = np.power(a[keep], b[keep])
    found = np.power(fg.tensor(a[keep]), fg.tensor(b[keep])).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15)
    assert np.power(fg.tensor([complex(np.inf, 1)]), fg.tensor([-1 + 0j])).item() == 0


def test_directions_have_derivatives_where_numbers_are_large_or_zero() -> None:
    z = fg.tensor([3 + 4j, 3e200 + 4e200j, 3e-200 - 4e-200j, 0j], requires_grad=True)
    y = np.sign(z)
    np.testing.assert_allclose(y.detach().numpy(), [0.6 + 0.8j, 0.6 + 0.8j, 0.6 - 0.8j, 0])
    y.real.sum().backward()
    np.testing.assert_allclose(
        z.grad.numpy(), [0.128 - 0.096j, 1.28e-201 - 9.6e-202j, 1.28e199 + 9.6e198j, 0]
    )
    fg.gradcheck(np.sign, [fg.tensor([1 + 2j, -3 + 0.5j], requires_grad=True)])
    fg.gradgradcheck(np.sign, [fg.tensor([1 + 2j, -3 + 0.5j], requires_grad=True)])


def test_parts_whose_squares_vanish() -> None:
    y = np.array([1e-300, -1e-300, 1e-200, -3e-170, 1e-160])
    # NumPy loses small real parts in log1p.
    for name in ("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "sqrt"):
        for z in (1 + 1j * y, -1 + 1j * y, y + 1j, y - 1j, 1j * y, y + 1e-300j):
            with np.errstate(all="ignore"):
                wanted = getattr(np, name)(z)
            found = getattr(np, name)(fg.tensor(z)).numpy()
            np.testing.assert_allclose(found, wanted, rtol=1e-14, err_msg=f"{name} {z}")
    found = np.log1p(fg.tensor(-1 + 1j * y)).numpy()
    np.testing.assert_allclose(found, np.log(abs(y)) + 0.5j * np.pi * np.sign(y), rtol=1e-15)


def test_powers_of_two_turn_many_times() -> None:
    y = np.array([1e6, 2e7, 1e9, 3e12, 1e20, 1e29])
    once, twice = (np.exp2(fg.tensor(1j * part)).numpy() for part in (y, 2 * y))
    np.testing.assert_allclose(once**2, twice, rtol=1e-14)
    far = np.exp2(fg.tensor([1e31j, 1e200j, 1e300j, 1 - 1.7e308j])).numpy()
    np.testing.assert_allclose(abs(far), [1, 1, 1, 2], rtol=1e-14)


def test_zeros_of_an_inverse_have_the_sign_of_the_number() -> None:
    z = np.array([complex(-0.0, 1e300), complex(0.0, -1e300), complex(-1e300, 0.0)])
    found = np.arctanh(fg.tensor(z)).numpy()
    assert np.signbit(found.real).tolist() == [True, False, True]
    assert not np.signbit(np.arctan(fg.tensor([complex(1e300, 0.0)])).numpy().imag).any()
