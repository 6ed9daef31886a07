"""What the array API standard says of all functions alike, beside NumPy's namespace.

NumPy 2 follows the standard where it is a reference here.
"""

import inspect
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ferrograd as fg
import ferrograd.array_api as xp
from array_api_signatures import _ONE, _TWO, SIGNATURES

SPECIAL = [np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, 1e30, -1e30]
ONE = [name for name in _ONE.split() if not name.startswith("bitwise") and "." not in name]
TWO = [name for name in _TWO.split() if not name.startswith("bitwise") and name != "matmul"]
#: The standard leaves the sign of a zero open where the operands are zeros of both signs.
EITHER_ZERO = {"maximum", "minimum"}
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float32", "float64", "complex64", "complex128"]
AXES = [line for line in SIGNATURES if "axis" in line and not line.startswith("linalg")]


def same(ours: Any, theirs: Any, signs: bool = True) -> None:
    """The same dtype, shape, values and signs of zeros."""
    found = np.asarray(ours.numpy())
    assert (found.dtype, found.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_allclose(
        found, theirs, rtol=1e-5 if theirs.dtype in (np.float32, np.complex64) else 1e-13
    )
    if signs and theirs.dtype.kind == "f":
        known = ~np.isnan(theirs)
        assert np.array_equal(np.signbit(found[known]), np.signbit(theirs[known]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ONE)
def test_special_values_of_one_argument(name: str, dtype: str) -> None:
    a = np.asarray(SPECIAL, dtype)
    with np.errstate(all="ignore"):
        same(getattr(xp, name)(fg.asarray(a)), getattr(np, name)(a))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", TWO)
def test_special_values_of_two_arguments_that_are_broadcast(name: str, dtype: str) -> None:
    a = np.asarray(SPECIAL, dtype)
    b = a[:, None]
    with np.errstate(all="ignore"):
        found = getattr(xp, name)(fg.asarray(a), fg.asarray(b))
        same(found, getattr(np, name)(a, b), name not in EITHER_ZERO)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES), st.sampled_from(["add", "multiply"]))
def test_dtypes_of_results(first: str, second: str, name: str) -> None:
    a, b = np.ones(3, first), np.ones((2, 1), second)
    same(getattr(xp, name)(fg.asarray(a), fg.asarray(b)), getattr(np, name)(a, b))
    assert xp.result_type(fg.asarray(a), fg.asarray(b)) == np.result_type(a, b)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 3), max_size=3), st.lists(st.integers(1, 3), max_size=3))
def test_shapes_are_broadcast_or_refused(first: list[int], second: list[int]) -> None:
    a, b = fg.ones(tuple(first)), fg.ones(tuple(second))
    try:
        expected = np.broadcast_shapes(tuple(first), tuple(second))
    except ValueError:
        for name in ("add", "less", "maximum"):
            with pytest.raises(ValueError, match="broadcast"):
                getattr(xp, name)(a, b)
        return
    assert xp.add(a, b).shape == expected
    assert [x.shape for x in xp.broadcast_arrays(a, b)] == [expected, expected]


def with_axis(line: str) -> tuple[Any, tuple[Any, ...]]:
    """A function and what it takes before its axis, for the array (2, 3)."""
    name = line.partition("(")[0]
    x = fg.asarray(np.arange(6.0).reshape(2, 3))
    first: dict[str, tuple[Any, ...]] = {
        "concat": ([x, x],),
        "stack": ([x, x],),
        "take": (x, fg.asarray([0])),
        "take_along_axis": (x, fg.asarray([[0]])),
        "vecdot": (x, x),
        "roll": (x, 1),
        "repeat": (x, 2),
    }
    return getattr(xp, name), first.get(name, (x,))


@pytest.mark.parametrize("line", [line for line in AXES if "moveaxis" not in line])
def test_axes_out_of_range(line: str) -> None:
    if "axis" not in inspect.signature(getattr(xp, line.partition("(")[0])).parameters:
        pytest.skip("the axes go by another name")
    function, arguments = with_axis(line)
    for axis in (5, -6):
        with pytest.raises((IndexError, ValueError)):
            function(*arguments, axis=axis)


@pytest.mark.parametrize("line", [line for line in SIGNATURES if "*, " in line])
def test_parameters_behind_the_star_go_by_name_only(line: str) -> None:
    function: Any = xp
    for part in line.partition("(")[0].split("."):
        function = getattr(function, part)
    count = sum(
        p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        for p in inspect.signature(function).parameters.values()
    )
    with pytest.raises(TypeError, match="positional"):
        function(*[fg.ones((2, 2))] * (count + 1))


OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
OPERATORS += ["lt", "le", "gt", "ge", "eq", "ne"]


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_with_numbers_of_python(name: str, dtype: str) -> None:
    act, a = getattr(operator, name), np.asarray([1, 2, 3], dtype)
    if dtype == "complex64" and name in ("floordiv", "mod", "lt", "le", "gt", "ge"):
        return
    for number in (2, 2.5) if dtype[0] in "fc" else (2,):
        same(act(fg.asarray(a), number), act(a, number))
        same(act(number, fg.asarray(a)), act(number, a))


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "ipow", "ifloordiv", "imod", "itruediv"])
def test_operators_in_place_keep_array_and_dtype(name: str) -> None:
    act = getattr(operator, name)
    for dtype in ("int32", "float32", "float64"):
        if name == "itruediv" and dtype == "int32":
            continue
        a, x = np.asarray([4, 5, 6], dtype), xp.asarray(np.asarray([4, 5, 6], dtype), copy=True)
        view = x[:]
        assert act(x, 2) is x
        same(x, act(a, 2))
        assert view.tolist() == x.tolist()


@pytest.mark.parametrize(
    "index",
    [
        *(1, -1, (1, 2), (0, ...), (..., 0), (slice(None), 1), slice(5, 0, -2), (None, 1)),
        *((..., None, slice(1, 9)), (), (slice(None, None, -1), -1), np.s_[::2, 1:3], slice(0, 0)),
    ],
)
def test_indices(index: Any) -> None:
    a = np.arange(24.0).reshape(4, 6)
    same(fg.asarray(a)[index], np.asarray(a[index]))
    x, b = xp.asarray(a, copy=True), a.copy()
    x[index] = 7.0
    b[index] = 7.0
    assert np.array_equal(x.numpy(), b)


def test_indices_out_of_range_and_too_many() -> None:
    x = fg.ones((2, 3))
    for index in (2, -3, (0, 3), (0, 0, 0), (..., 0, ..., 1)):
        with pytest.raises(IndexError):
            x[index]
    mask = fg.asarray([True, False])
    assert x[mask].shape == (1, 3)
    assert x[fg.asarray([1, 0, 1]), fg.asarray([0, 0, 2])].shape == (3,)


def test_exchange_of_memory_takes_the_arguments_of_the_standard() -> None:
    x = xp.asarray(np.asarray([1.0, 2.0]), copy=True)
    assert x.__dlpack_device__() == (1, 0)
    for options in ({}, {"max_version": (1, 0)}, {"dl_device": (1, 0)}, {"copy": True}):
        assert "dltensor" in repr(x.__dlpack__(stream=None, **options))
    shared, copied = xp.from_dlpack(x), xp.from_dlpack(x, device="cpu", copy=True)
    x[0] = 5.0
    assert (shared.tolist(), copied.tolist()) == ([5.0, 2.0], [1.0, 2.0])
    with pytest.raises((ValueError, BufferError)):
        xp.from_dlpack(x, device="gpu")


def test_facts_of_the_namespace() -> None:
    facts = xp.__array_namespace_info__()
    assert facts.capabilities().keys() >= {"boolean indexing", "data-dependent shapes"}
    assert facts.devices() == ["cpu"]
    assert facts.default_device() == "cpu"
    assert set(facts.default_dtypes()) == {
        *("real floating", "complex floating", "integral", "indexing"),
    }
    assert set(facts.dtypes(kind="bool")) == {"bool"}
    assert set(facts.dtypes(kind=("real floating", "complex floating"))) >= {"float64", "complex64"}
