"""Operators between tensors of every dtype and Python numbers: dtypes, values, errors."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift"),
        *("and_", "or_", "xor", "lt", "le", "eq", "ne", "gt", "ge"),
    )
}
NUMBERS = [
    *(True, False, 0, 1, 2, 3, -1, -2, 100, 127, 128, 200, 255, 256, -129, 40000, 2**31, 2**40),
    *(2**63, 2**64, 0.0, 0.5, 2.0, -1.0, 3.0, 1e5, 1e300, np.inf, np.nan, 1j, 1 + 2j),
]


def result(f: Any, a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            return np.asarray(f(a, b))
        except (TypeError, ValueError, OverflowError, fg.errors.FerrogradError) as error:
            return error


def differs(dtype: str, name: str, wanted: Any, found: Any) -> bool:
    if isinstance(wanted, OverflowError) and dtype == "bool" and OPERATORS[name](1, 1) in (0, 1):
        return False  # comparisons beyond 64 bits: docs/differences.md
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        return isinstance(wanted, Exception) != isinstance(found, Exception)
    if wanted.dtype != found.dtype:
        return True
    if wanted.dtype.kind in "biu":
        return not np.array_equal(wanted, found)
    rtol = {"float16": 2e-3, "float32": 1e-5, "complex64": 1e-4}.get(wanted.dtype.name, 1e-10)
    far = np.isinf(wanted) if wanted.dtype.kind == "c" else False  # signs of overflowed parts
    with np.errstate(all="ignore"):
        near = np.isclose(found.astype(complex), wanted.astype(complex), rtol, rtol, True)
    return not bool(np.all(near | far))


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_and_a_number(dtype: str, name: str) -> None:
    f, a = OPERATORS[name], np.array([0, 1, 2, 3, 100, 127]).astype(dtype)
    t, wrong = fg.tensor(a), []
    for number in NUMBERS:
        for swapped in (False, True):
            if swapped:
                wanted, found = result(f, number, a), result(f, number, t)
            else:
                wanted, found = result(f, a, number), result(f, t, number)
            if differs(dtype, name, wanted, found):
                wrong.append((number, swapped, wanted, found))
    assert not wrong


def test_the_square_of_booleans_is_that_of_the_operator() -> None:
    mask = fg.tensor([True, False])
    assert (mask**2).dtype == np.int8
    assert (mask**3).dtype == (mask ** np.int64(2)).dtype == np.power(mask, 2).dtype == np.int64
    assert (mask**2.0).dtype == np.float64


@pytest.mark.parametrize("dtype", DTYPES[:9])
def test_functions_of_real_numbers_make_floats_of_integers(dtype: str) -> None:
    a = np.array([0, 1, 5]).astype(dtype)
    for name in ("fabs", "modf"):
        wanted, found = getattr(np, name)(a), getattr(np, name)(fg.tensor(a))
        if name == "fabs":
            wanted, found = (wanted,), (found,)
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one.numpy(), other)
