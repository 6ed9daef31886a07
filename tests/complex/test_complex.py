"""Complex tensors: values against NumPy and exact ones.

Derivatives, reductions and products have files of their own.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import FerrogradError

RANDOM = np.random.default_rng(3)
Z = RANDOM.normal(size=(3, 5)) + 1j * RANDOM.normal(size=(3, 5))
W = RANDOM.normal(size=(3, 5)) + 1j * RANDOM.normal(size=(3, 5))
X = RANDOM.normal(size=(3, 5))

UNARY = [
    *("negative", "positive", "square", "reciprocal", "sqrt", "exp", "exp2", "expm1", "log"),
    *("log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh"),
    *("cosh", "tanh", "arcsinh", "arccosh", "arctanh", "conjugate", "real", "imag", "absolute"),
    *("angle", "sign", "isnan", "isinf", "isfinite", "isreal", "iscomplex", "logical_not"),
    "sinc",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
]
HOLOMORPHIC = [
    *("sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos"),
    *("tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh"),
    *("arctanh", "sigmoid", "sinc", "square", "reciprocal", "negative"),
]


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_operand_are_those_of_numpy(name: str, dtype: Any) -> None:
    z = Z.astype(dtype)
    wanted = getattr(np, name)(z)
    found = getattr(np, name)(fg.tensor(z))
    assert isinstance(found, fg.Tensor)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    tol = 1e-12 if dtype is np.complex128 else 3e-6
    np.testing.assert_allclose(found.numpy(), wanted, rtol=tol, atol=tol)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_operands_are_those_of_numpy(name: str) -> None:
    f = getattr(np, name)
    pairs = [(Z, W), (Z, X), (X, Z), (Z.astype(np.complex64), X.astype(np.float32))]
    pairs += [(Z, Z), (Z.astype(np.complex64), W), (Z.T, W.T)]
    for a, b in pairs:
        wanted, found = f(a, b), f(fg.tensor(a), fg.tensor(b))
        assert found.dtype == wanted.dtype
        tol = 1e-12 if wanted.dtype != np.complex64 else 3e-6
        np.testing.assert_allclose(found.numpy(), wanted, rtol=tol, atol=tol)


@pytest.mark.parametrize("number", [1j, 2 - 3j, 0j, 2, -1, 0.5, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64", "complex128"])
def test_python_numbers_are_weak(number: Any, dtype: str) -> None:
    a = (np.arange(1, 5)).astype(dtype)
    t = fg.tensor(a)
    for f in (lambda x: x * number, lambda x: number + x, lambda x: x == number):
        wanted, found = f(a), f(t)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


def test_construction_fill_where_and_assignment() -> None:
    assert fg.tensor(1j).dtype == np.complex128
    assert fg.tensor([1, 2j]).tolist() == [1, 2j]
    assert fg.full((2,), 3 - 1j).tolist() == [3 - 1j, 3 - 1j]
    assert fg.full((2,), 3 - 1j, dtype="complex64").dtype == np.complex64
    t = fg.tensor(np.zeros(3), dtype="complex128")
    t[1] = 2j
    t.fill_(1 + 1j)
    assert t.tolist() == [1 + 1j] * 3
    mask = np.array([True, False])
    found = fg.where(mask, fg.tensor(np.ones(2, np.float32)), 1j)
    assert found.dtype == np.complex64
    assert found.tolist() == [1, 1j]
    with pytest.raises(FerrogradError, match="real part"):
        fg.zeros(2).fill_(1j)
    with pytest.raises(FerrogradError):
        fg.tensor(np.ones(2)).mul_(1j)
    assert fg.tensor(2 + 1j).item() == 2 + 1j
    assert complex(fg.tensor(2 + 1j)) == 2 + 1j


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize(
    "name",
    [
        "exp",
        "sqrt",
        "log",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "arcsin",
        "arccos",
        "arctan",
        "arcsinh",
        "arccosh",
        "arctanh",
    ],
)
def test_special_values_and_branch_cuts_are_those_of_c99(name: str) -> None:
    z = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL])
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(z)
    found = getattr(fg, name)(fg.tensor(z)).numpy()
    for part in ("real", "imag"):
        a, b = getattr(found, part), getattr(wanted, part)
        # C99 leaves the sign of an infinity beside a NaN open.
        a, b = (np.where(np.isinf(v) & np.isnan(wanted), np.inf, v) for v in (a, b))
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15, err_msg=f"{name}.{part}")
        # The sign of a zero names the side of a cut; that of an unspecified NaN or zero is free.
        certain = np.isfinite(z) & ~np.isnan(b)
        np.testing.assert_array_equal(np.signbit(a)[certain], np.signbit(b)[certain])


def test_division_neither_overflows_nor_underflows() -> None:
    a = np.array([1e300 + 1e300j, 1e-300 + 1e-300j, 1 + 1j, 1e308 + 1e-308j, 5e-324 + 0j])
    b = np.array([1e300 - 1e300j, 1e-300 - 1e-300j, 3 - 2j, 1e308 + 1e307j, 5e-324 + 0j])
    found = (fg.tensor(a) / fg.tensor(b)).numpy()
    wanted = np.array([1j, 1j, (1 + 5j) / 13, 1 / (1 + 0.1j), 1])
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            (fg.tensor([1 + 1j, 0j, 1j]) / 0j).numpy(), np.array([1 + 1j, 0j, 1j]) / 0j
        )


def test_a_value_does_not_depend_on_its_neighbours() -> None:
    z = np.concatenate([Z.ravel()] * 40)
    for name in HOLOMORPHIC:
        alone = getattr(fg, name)(fg.tensor(z)).numpy()
        mixed = getattr(fg, name)(fg.tensor(np.concatenate([z, [np.inf + 1j, 1e300]]))).numpy()
        assert alone.tobytes() == mixed[:-2].tobytes(), name


def test_powers_are_those_of_numpy() -> None:
    assert (fg.tensor(0j) ** 0j).item() == 1
    assert (fg.tensor(0j) ** 2).item() == 0
    assert np.isnan((fg.tensor(0j) ** -1.5).numpy())
    for w in (2, 3, -1, 0.5, 7, -4, 1.5 + 2j):
        np.testing.assert_allclose((fg.tensor(Z) ** w).numpy(), Z**w, rtol=1e-13)
        np.testing.assert_allclose((w ** fg.tensor(Z)).numpy(), w**Z, rtol=1e-13)


def test_parts_and_back() -> None:
    t = fg.tensor(Z)
    np.testing.assert_array_equal(t.real.numpy(), Z.real)
    np.testing.assert_array_equal(t.imag.numpy(), Z.imag)
    np.testing.assert_array_equal(fg.complex(Z.real, Z.imag).numpy(), Z)
    np.testing.assert_array_equal(fg.view_as_complex(fg.view_as_real(t)).numpy(), Z)
    np.testing.assert_allclose(fg.polar(abs(t), fg.angle(t)).numpy(), Z, rtol=1e-14)
    np.testing.assert_array_equal(t.mH.numpy(), Z.conj().T)
    np.testing.assert_array_equal(t.H.numpy(), Z.conj().T)
    x = fg.tensor(X)
    assert x.real is x
    assert not x.imag.numpy().any()
    assert fg.is_complex(t)
    assert not fg.is_complex(x)
    np.testing.assert_allclose(fg.angle(x).numpy(), np.angle(X))
    np.testing.assert_allclose(fg.angle(t, deg=True).numpy(), np.angle(Z, deg=True))
    np.testing.assert_allclose(fg.round(t, 1).numpy(), np.round(Z, 1))
    bad = fg.tensor([complex(np.nan, np.inf), 1j])
    np.testing.assert_array_equal(fg.nan_to_num(bad).numpy(), np.nan_to_num(bad.numpy()))


# Errors against exact values, in units of the last place: of the whole number, and of each part.
BOUNDS = {
    "exp": 3, "exp2": 3, "expm1": 4, "log": 3, "log2": 3, "log10": 3, "log1p": 3, "sqrt": 3,
    "sin": 4, "cos": 4, "tan": 6, "arcsin": 5, "arccos": 5, "arctan": 5, "sinh": 4, "cosh": 4,
    "tanh": 6, "arcsinh": 5, "arccosh": 5, "arctanh": 5, "sigmoid": 5, "sinc": 16, "reciprocal": 3,
}  # fmt: skip


# The parts whose own error is above 4 units of their last place; None: nothing is said of them.
PARTS = {"tan": 6, "tanh": 6, "expm1": 16, "sinc": None}


def _errors(name: str) -> tuple[float, float]:
    with np.load(Path(__file__).parents[1] / "golden" / "complex.npz") as held:
        z, wanted = held[f"{name}/z"], held[f"{name}/value"]
    found = getattr(fg, name)(fg.tensor(z)).numpy()
    if name == "sinc":
        z, found, wanted = (v[abs(abs(z) - 1) > 0.1] for v in (z, found, wanted))
    pairs = ((found.real, wanted.real), (found.imag, wanted.imag))
    each = [abs(a - b) / np.spacing(np.maximum(abs(b), 1e-300)) for a, b in pairs]
    return float(np.max(abs(found - wanted) / np.spacing(abs(wanted)))), float(np.max(each))


@pytest.mark.parametrize("name", BOUNDS)
def test_functions_are_within_their_bounds_of_exact_values(name: str) -> None:
    whole, part = _errors(name)
    assert whole <= BOUNDS[name]
    bound = PARTS.get(name, 4)
    assert bound is None or part <= bound


def test_the_documentation_states_the_complex_bounds() -> None:
    text = (Path(__file__).parents[2] / "docs" / "accuracy.md").read_text()
    for name, bound in BOUNDS.items():
        part = PARTS.get(name, 4)
        shown = "—" if part is None else f"{part:g}"
        assert f"| `{name}` (complex) | {bound:g} | {shown} |" in text, name


@pytest.mark.parametrize("n", [1, 3, 8, 17, 64, 1000, 1029])
def test_quotients_of_complex64_are_rounded_once(n: int) -> None:
    """Within one place of the quotient in complex128, whatever is beside them or how they lie."""
    rng = np.random.default_rng(n)
    a, b = (
        (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(np.complex64) for _ in "ab"
    )
    a *= np.float32(2.0) ** rng.integers(-60, 60, n).astype(np.float32)
    b *= np.float32(2.0) ** rng.integers(-60, 60, n).astype(np.float32)
    want = a.astype(np.complex128) / b.astype(np.complex128)
    got = fg.divide(a, b).numpy()
    assert got.dtype == np.complex64
    for part in ("real", "imag"):
        true, found = getattr(want, part), getattr(got, part)
        place = np.spacing(np.abs(true).astype(np.float32)).astype(np.float64)
        assert np.all(np.abs(found - true) <= 0.75 * place + 1e-15 * abs(want))
    np.testing.assert_array_equal((fg.tensor(b) / b).numpy(), np.ones(n, np.complex64))
    for special in (np.inf, np.nan, 0.0):
        beside = np.append(b, np.complex64(special))
        with_it = fg.divide(np.append(a, np.complex64(1.0)), beside).numpy()
        np.testing.assert_array_equal(with_it[:n], got)
    strided = fg.divide(np.repeat(a, 2)[::2], fg.tensor(np.repeat(b, 3))[::3]).numpy()
    np.testing.assert_array_equal(strided, got)
    np.testing.assert_array_equal(np.asarray(fg.divide(a[-1:], b[-1:])), got[-1:])
