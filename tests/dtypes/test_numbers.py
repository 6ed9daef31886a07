"""What conversions lose: imaginary parts, numbers that do not fit, floats that become integers."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

COMPLEX = np.exceptions.ComplexWarning
REAL = ("float64", "float32", "float16", "int64", "int32", "int8", "uint8", "uint64")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
EVERY = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128")


def assigned(make: Any, dtype: str, index: Any, value: Any) -> Any:
    x = make([1, 2], dtype=dtype)
    x[index] = value
    return x


# Each takes what makes tensors or arrays, and a dtype.
LOSSY: list[Callable[[Any, str], Any]] = [
    lambda make, dtype: make([1 + 2j, 3]).astype(dtype),
    lambda make, dtype: make(np.array([1 + 2j, 3]), dtype=dtype),
    lambda make, dtype: assigned(make, dtype, slice(None), make([1 + 2j, 3])),
    lambda make, dtype: assigned(make, dtype, 0, np.complex128(3 + 2j)),
    lambda make, dtype: assigned(make, dtype, 0, np.array(3 + 2j)),
    lambda make, dtype: assigned(make, dtype, np.array([True, False]), make([3 + 2j])),
    lambda make, dtype: np.sum(make([1 + 2j, 3]), dtype=dtype),
    lambda make, dtype: np.cumsum(make([1 + 2j, 3]), dtype=dtype),
    lambda make, dtype: np.full_like(make([1, 2], dtype=dtype), 3 + 1j),
]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("convert", LOSSY)
def test_an_imaginary_part_is_lost_with_numpy_s_warning(
    convert: Callable[[Any, str], Any], dtype: str
) -> None:
    with pytest.warns(COMPLEX, match="discards the imaginary part") as caught:
        found = convert(fg.tensor, dtype)
    assert all(w.filename == __file__ for w in caught)
    with pytest.warns(COMPLEX):
        expected = convert(np.array, dtype)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda z: z.to("float64"),
        lambda z: z.float(),
        lambda z: fg.asarray(z, dtype=float),
        lambda z: fg.zeros(2).copy_(z),
        lambda z: fg.zeros(2).fill_(z[0]),
        lambda z: np.put(fg.zeros(2), [0], z[:1]),
        lambda z: np.put_along_axis(fg.zeros(2), np.array([0]), z[:1], 0),
        lambda z: np.copyto(fg.zeros(2), z, casting="unsafe"),
        lambda z: np.copyto(fg.zeros(2), z, casting="unsafe", where=[True, False]),
        lambda z: np.insert(fg.zeros(2), 0, z[0]),
        lambda z: np.add(z, 1, dtype=float, casting="unsafe"),
        lambda z: np.concatenate([z, z], dtype=float, casting="unsafe"),
        lambda z: fg.full((2,), 1j, dtype=float),
        lambda z: fg.full_like(fg.zeros(2), 1j),
    ],
)
def test_every_other_way_into_real_numbers_warns(call: Callable[[fg.Tensor], Any]) -> None:
    z = fg.tensor([1 + 2j, 3])
    with pytest.warns(COMPLEX) as caught:
        call(z)
    assert all(w.filename == __file__ for w in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(COMPLEX):
            call(z)


@pytest.mark.parametrize(
    "call",
    [
        lambda: assigned(fg.tensor, "float64", 0, 1j),
        lambda: assigned(fg.tensor, "float64", slice(None), [1j, 2]),
        lambda: fg.zeros(2).fill_(1j),
        lambda: fg.tensor(1j, dtype=float),
        lambda: fg.tensor([1j], dtype=float),
        lambda: fg.asarray([1j], dtype=float),
        lambda: fg.zeros(2).add_(1j),
        lambda: np.add(fg.tensor([1j]), 1, out=fg.zeros(1)),
        lambda: np.putmask(fg.zeros(1), [True], fg.tensor([1j])),
        lambda: np.copyto(fg.zeros(1), fg.tensor([1j])),
        lambda: np.sum(fg.zeros(1), initial=1j),
        lambda: float(fg.tensor(1j)),
        lambda: int(fg.tensor(1j)),
        lambda: fg.zeros(2).masked_fill(fg.tensor([True, False]), 1j),
    ],
)
def test_python_numbers_and_same_kind_casting_raise(call: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError):
            call()


def test_what_loses_nothing_is_silent() -> None:
    z, x = fg.tensor([1 + 2j], requires_grad=True), fg.tensor([2.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert z.astype(bool).item() is True
        (abs(z * x) ** 2).backward()
        z.detach().astype(np.complex64)
    assert x.grad is not None
    assert x.grad.dtype == np.float64


def test_a_parameter_may_be_complex() -> None:
    p = fg.nn.Parameter([1j, 2])
    assert p.dtype == np.complex128
    assert p.requires_grad
    np.testing.assert_array_equal(p.detach().numpy(), [1j, 2])
    assert fg.nn.Parameter(fg.tensor([1j], dtype=np.complex64)).dtype == np.complex64


# Python numbers


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("value", [300, -1, 70000, 2**31, 2**40, 2**63, 2**64, -(2**63) - 1, 2**70])
def test_python_integers_that_do_not_fit_raise(value: int, dtype: str) -> None:
    info = np.iinfo(dtype)
    fits = info.min <= value <= info.max
    ways: list[Callable[[], Any]] = [
        lambda: fg.tensor(value, dtype=dtype),
        lambda: fg.full((2,), value, dtype=dtype),
        lambda: fg.full_like(fg.zeros(2, dtype=dtype), value),
        lambda: assigned(fg.tensor, dtype, 0, value),
        lambda: fg.zeros(2, dtype=dtype).fill_(value),
        lambda: fg.zeros(2, dtype=dtype) + value,
    ]
    if -(2**63) <= value < 2**64:
        ways += [
            lambda: fg.tensor([value], dtype=dtype),
            lambda: assigned(fg.tensor, dtype, slice(0, 1), [value]),
        ]
    for way in ways:
        if fits:
            assert int(way().reshape(-1)[0]) == value
        else:
            with pytest.raises(OverflowError):
                way()


def test_floats_that_are_no_integers_of_the_dtype_raise() -> None:
    x = fg.zeros(2, dtype=np.uint8)
    x[0] = 2.9
    assert x.tolist() == [2, 0]
    for value, error in ((-1.5, OverflowError), (1e30, OverflowError), (np.nan, ValueError)):
        with pytest.raises(error):
            x[0] = value
        with pytest.raises(error):
            fg.tensor(value, dtype=np.uint8)
    assert x.tolist() == [2, 0]
    # As in NumPy, `full` converts an array.
    assert fg.full((1,), -1.5, dtype=np.uint8).item() == 255


@pytest.mark.parametrize("dtype", INTEGERS)
def test_clip_and_where_take_numbers_beyond_the_dtype(dtype: str) -> None:
    values, x = np.array([0, 1, 100], dtype=dtype), fg.tensor([0, 1, 100], dtype=dtype)
    for low, high in itertools.product((None, -(2**40), -200, 1), (None, 2, 300, 2**40)):
        np.testing.assert_array_equal(np.clip(x, low, high).numpy(), np.clip(values, low, high))
    for call in (lambda v: np.clip(v, 2**70, None), lambda v: np.clip(v, None, -(2**70))):
        for operand in (values, x):
            with pytest.raises(OverflowError):
                call(operand)
    for number in (-1, 300, 2**40):
        expected = np.where([True, False, False], values, number)
        found = np.where([True, False, False], x, number)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected)


# Floats to integers

FLOATS = [-1.0, 1.9, -2.9, 300.0, -129.0, 70000.0, 3e9, 5e9, 1e19, -1e19, 2e19, np.nan, np.inf]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("source", ["float64", "float32", "float16"])
def test_floats_become_the_integers_of_numpy(source: str, dtype: str) -> None:
    for value, n in itertools.product(FLOATS, (1, 40)):
        with np.errstate(all="ignore"):
            x = np.full(n, value, dtype=source)
        with warnings.catch_warnings(record=True) as theirs:
            warnings.simplefilter("always")
            expected = x[:1].astype(dtype)
        with warnings.catch_warnings(record=True) as ours:
            warnings.simplefilter("always")
            found = fg.tensor(x).astype(dtype)
        assert (found.numpy() == expected).all(), (value, n, found, expected)
        assert [str(w.message) for w in ours] == [str(w.message) for w in theirs], (value, n)
        assert all(w.category is RuntimeWarning and w.filename == __file__ for w in ours)


def test_the_warning_of_a_cast_stands_in_strided_and_large_tensors() -> None:
    x = fg.zeros(3, 400_000)
    x.T.astype(np.int32)
    x[1, 399_999] = np.nan
    with pytest.warns(RuntimeWarning, match="invalid value encountered in cast"):
        x.T.astype(np.int32)
    with pytest.warns(RuntimeWarning, match="invalid value"):
        fg.zeros(2, dtype=np.int8)[:] = x[1, -1]


# Comparisons

COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
SIGNED = np.array([-1, 0, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)], dtype=np.int64)
UNSIGNED = np.array([2**64 - 1, 0, 2**53 + 1, 2**53, 2**63 - 1, 2**63], dtype=np.uint64)


@pytest.mark.parametrize("name", COMPARISONS)
def test_integers_with_and_without_a_sign_compare_exactly(name: str) -> None:
    compare = getattr(np, name)
    pairs = [(SIGNED, UNSIGNED), (UNSIGNED, SIGNED), (SIGNED.astype(np.int8), UNSIGNED)]
    pairs += [(SIGNED[:, None], UNSIGNED), (UNSIGNED[0], SIGNED)]
    for a, b in pairs:
        expected = compare(a, b)
        np.testing.assert_array_equal(compare(fg.tensor(a), fg.tensor(b)).numpy(), expected)


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("value", [-1, 300, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 2**70, -(2**70)])
def test_comparisons_with_any_python_integer(name: str, value: int) -> None:
    compare = getattr(np, name)
    for x in (SIGNED, UNSIGNED, SIGNED.astype(np.int8), SIGNED.astype(np.float32)):
        np.testing.assert_array_equal(compare(fg.tensor(x), value).numpy(), compare(x, value))
        np.testing.assert_array_equal(compare(value, fg.tensor(x)).numpy(), compare(value, x))


def test_booleans_compare_with_any_integer() -> None:
    assert (fg.tensor([True, False]) < 2**70).tolist() == [True, True]


# Functions of two dtypes

PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "dot": np.dot,
    "inner": np.inner,
    "outer": np.outer,
    "vdot": np.vdot,
    "matmul": np.matmul,
    "kron": np.kron,
    "convolve": np.convolve,
    "correlate": np.correlate,
    "tensordot": lambda a, b: np.tensordot(a, b, 1),
    "einsum": lambda a, b: np.einsum("i,i->", a, b),
    "cross": np.cross,
    "polymul": np.polymul,
    "polysub": lambda a, b: np.polysub(a, b + b.dtype.type(1)),
    "polyval": np.polyval,
    "concatenate": lambda a, b: np.concatenate([a, b]),
    "where": lambda a, b: np.where(np.array([True, False, True]), a, b),
    "clip": lambda a, b: np.clip(a, b, None),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "diff": lambda a, b: np.diff(a, prepend=b),
    "linspace": lambda a, b: np.linspace(a, b, 3),
    "average": lambda a, b: np.average(a, weights=b),
    "searchsorted": lambda a, b: np.searchsorted(np.sort(a), b),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_functions_of_two_dtypes_have_numpy_s(name: str) -> None:
    call = PRODUCTS[name]
    for one, other in itertools.product(EVERY, EVERY):
        a, b = np.array([1, 2, 1], dtype=one), np.array([1, 1, 2], dtype=other)
        try:
            expected = np.asarray(call(a, b))
        except TypeError:
            continue
        found = call(fg.tensor(a), fg.tensor(b))
        assert found.dtype == expected.dtype, (one, other)
        np.testing.assert_allclose(found.numpy(), expected, rtol=2e-3, err_msg=f"{one} {other}")


# Keywords of ufuncs


@pytest.mark.parametrize("rule", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("name", ["add", "divide", "exp", "maximum", "equal", "matmul", "isnan"])
def test_casting_of_ufuncs(name: str, rule: str) -> None:
    ufunc = getattr(np, name)
    for one, other, dtype in itertools.product(EVERY, EVERY, (None, "float32", "int64")):
        given = [np.array([1, 2], dtype=one), np.array([1, 1], dtype=other)][: ufunc.nin]
        words = {"casting": rule} if dtype is None else {"casting": rule, "dtype": dtype}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = ufunc(*given, **words)
            except TypeError:
                with pytest.raises(TypeError):
                    ufunc(*map(fg.tensor, given), **words)
                continue
            found = ufunc(*map(fg.tensor, given), **words)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=2e-3)


def test_signatures_choose_the_loop() -> None:
    x = fg.tensor([1, 2], dtype=np.int32)
    assert np.exp(x, signature="f->f").dtype == np.float32
    assert np.add(x, x, sig="dd->d").dtype == np.float64
    assert np.add(x, x, signature=(None, None, np.float32)).dtype == np.float32
    y = fg.tensor([1.0, 2.0], requires_grad=True)
    np.exp(y, signature="f->f").sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), np.exp([1.0, 2.0]), rtol=1e-6)
    with pytest.raises(TypeError, match="add"):
        np.add(x, x, signature="??->i")


def test_ldexp_rounds_once() -> None:
    x = np.array([1.5, -1, 5e-324, 1e308, 1e-308, np.inf, np.nan, 3, 1 + 2**-52, 1 - 2**-53])
    n = np.array([-1074, 1100, 2000, -3000, 5, 3, 2, -2147483648, -1074, -1075])
    with np.errstate(all="ignore"):
        for dtype, shift in itertools.product(("f8", "f4", "f2"), range(10)):
            a, b = x.astype(dtype), np.roll(n, shift)
            found, expected = np.ldexp(fg.tensor(a), fg.tensor(b)), np.ldexp(a, b)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.numpy(), expected)
    assert np.ldexp(fg.tensor([1], dtype=np.int8), 1).dtype == np.float16
    y = fg.tensor([1.5, 3.0], requires_grad=True)
    np.ldexp(y, np.array([3, -2])).sum().backward()
    assert y.grad.tolist() == [8.0, 0.25]


# Reductions


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_extremes_of_nothing_are_the_initial_number(name: str, shape: tuple[int, ...]) -> None:
    extreme = getattr(np, name)
    for dtype, axis in itertools.product(("float64", "float32", "int64"), (None, 0)):
        x = np.zeros(shape, dtype=dtype)
        for keepdims in (False, True):
            expected = extreme(x, axis=axis, initial=2, keepdims=keepdims)
            found = extreme(fg.tensor(x), axis=axis, initial=2, keepdims=keepdims)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.numpy(), expected)


def test_a_product_begins_with_its_initial_number() -> None:
    x = np.array([1e-7, 3e-8, 0.7], dtype=np.float32)
    for initial in (0.1, 3e30, 2):
        assert np.prod(fg.tensor(x), initial=initial).item() == np.prod(x, initial=initial)
    assert np.prod(fg.tensor([100], dtype=np.int8), initial=300).item() == 30000


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["mean", "var", "std", "sum", "prod"])
def test_masked_reductions_have_numpy_s_dtype(name: str, dtype: str) -> None:
    x, mask = np.array([1, 2, 4]).astype(dtype), np.array([True, False, True])
    expected = getattr(np, name)(x, where=mask)
    found = getattr(np, name)(fg.tensor(x), where=mask)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected)
