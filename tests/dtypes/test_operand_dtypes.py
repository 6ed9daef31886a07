"""Arrays of every real dtype of NumPy's beside tensors: every way to compute has one dtype."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

THEIRS = [
    np.dtype(t) for t in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
]
OURS = THEIRS
BINARY = sorted(
    name
    for name in dir(np)
    if isinstance(ufunc := getattr(np, name), np.ufunc)
    and (ufunc.nin, ufunc.nout, ufunc.signature) == (2, 1, None)
    and ufunc.__name__ == name
    and hasattr(fg, name)
    # PyTorch's takes floats as exponents, and whole numbers become the default dtype.
    and name != "ldexp"
)
OPERATORS: dict[str, str] = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "power": "pow",
    "bitwise_and": "and_",
    "bitwise_or": "or_",
    "bitwise_xor": "xor",
    "left_shift": "lshift",
    "right_shift": "rshift",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}
IN_PLACE = {
    name: getattr(operator, "i" + word.rstrip("_"))
    for name, word in OPERATORS.items()
    if hasattr(operator, "i" + word.rstrip("_"))
}


def ways(name: str) -> dict[str, Callable[[Any, Any], Any]]:
    """Every way to compute an operation of a tensor and an array."""
    found: dict[str, Callable[[Any, Any], Any]] = {
        "function": getattr(fg, name),
        "method": lambda t, a: getattr(t, name)(a),
        "ufunc": getattr(np, name),
    }
    if hasattr(fg._core, name):  # others have the names that PyTorch gives their arguments
        found["keywords"] = lambda t, a: getattr(fg, name)(a=t, b=a)
    if name in OPERATORS:
        found["operator"] = getattr(operator, OPERATORS[name])
    return found


def dtype_of(call: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """The dtype of the result, or None where the dtypes are refused."""
    try:
        return call(x, y).dtype
    except TypeError:
        return None


def test_there_are_as_many_as_thought() -> None:
    assert len(BINARY) >= 30
    assert len(IN_PLACE) == 12


@pytest.mark.parametrize("name", BINARY)
def test_every_way_has_the_dtype_of_numpy(name: str) -> None:
    for mine in OURS:
        t = fg.ones(2, dtype=mine)
        for theirs in THEIRS:
            a = np.ones(2, theirs)
            expected = dtype_of(getattr(np, name), t.numpy(), a)
            made = {way: dtype_of(call, t, a) for way, call in ways(name).items()}
            scalar = {way: dtype_of(call, t, a[0]) for way, call in ways(name).items()}
            case = (name, mine, theirs, made)
            assert len(set(made.values())) == 1, case
            assert set(scalar.values()) == set(made.values()), (case, scalar)
            if np.result_type(mine, theirs) in OURS and expected is not None and expected in OURS:
                assert set(made.values()) == {expected}, (case, expected)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_array_on_the_left_is_no_other_rule(name: str) -> None:
    call = getattr(operator, OPERATORS[name])
    for mine in OURS:
        t = fg.ones(2, dtype=mine)
        for theirs in THEIRS:
            a = np.ones(2, theirs)
            assert dtype_of(call, a, t) == dtype_of(call, t, a), (name, mine, theirs)


@pytest.mark.parametrize("name", sorted(IN_PLACE))
def test_in_place_it_goes_where_numpy_lets_it(name: str) -> None:
    for mine in OURS:
        for theirs in THEIRS:
            if np.result_type(mine, theirs) not in OURS:
                continue
            x, y, a = fg.ones(2, dtype=mine), np.ones(2, mine), np.ones(2, theirs)
            if dtype_of(getattr(np, name), y, a) is None:
                # Bits of a float64, which int64 and uint64 become in NumPy.
                continue
            expected = dtype_of(IN_PLACE[name], y, a)
            made = dtype_of(IN_PLACE[name], x, a)
            case = (name, mine, theirs)
            assert made == expected, case
            if made is not None:
                np.testing.assert_array_equal(x, y, err_msg=str(case))


@pytest.mark.parametrize("theirs", [t for t in THEIRS if t.kind in "iu"], ids=str)
def test_integers_of_16_bits_beside_float32(theirs: Any) -> None:
    x, a = fg.ones(3, dtype=np.float32), np.ones(3, theirs)
    wanted = np.result_type(np.float32, theirs)
    for made in (
        x @ a,
        fg.dot(x, a),
        fg.where(x > 0, x, a),
        fg.concatenate([x, a]),
        fg.stack((x, a)),
        fg.einsum("i,i", x, a),
        fg.kron(x, a),
    ):
        assert made.dtype == wanted
    # Operands that stay apart keep what stands for their own dtype.
    alone = fg.broadcast_arrays(a)[0].dtype
    assert fg.broadcast_arrays(x, a)[1].dtype == alone
    assert fg.meshgrid(x, a)[1].dtype == alone
    assert np.meshgrid(x, a)[0].dtype == np.float32
    y = np.eye(3, dtype=np.float32)
    z = fg.asarray(y.copy())
    z @= np.eye(3, dtype=theirs)
    assert z.dtype == np.float32


@pytest.mark.parametrize("theirs", [t for t in THEIRS if t.kind in "iu"], ids=str)
def test_indices_stay_integers_beside_float32(theirs: Any) -> None:
    x, index = fg.tensor([1.0, 2.0, 3.0], dtype=np.float32), np.array([2, 0], theirs)
    rows, ones = fg.eye(3, dtype=np.float32), fg.ones(2, dtype=np.float32)
    chosen = [3.0, 1.0]
    assert x[index].tolist() == chosen
    assert fg.take(x, index).tolist() == chosen
    assert fg.take(x, indices=index).tolist() == chosen
    assert fg.gather(x, 0, index).tolist() == chosen
    assert fg.gather(x, 0, index=index).tolist() == chosen
    assert fg.index_select(x, 0, index).tolist() == chosen
    assert fg.take_along_axis(x, index).tolist() == chosen
    assert fg.take_along_dim(x, index).tolist() == chosen
    assert fg.index_add(x, 0, index, ones).tolist() == [2.0, 2.0, 4.0]
    assert fg.scatter(x, 0, index, ones).tolist() == [1.0, 2.0, 1.0]
    assert fg.scatter_add(x, 0, index, ones).tolist() == [2.0, 2.0, 4.0]
    assert fg.scatter_reduce(x, 0, index, ones, "sum").tolist() == [2.0, 2.0, 4.0]
    assert fg.index_reduce(x, 0, index, ones, "prod").tolist() == [1.0, 2.0, 3.0]
    assert fg.put_along_axis(x, index, ones).tolist() == [1.0, 2.0, 1.0]
    assert fg.repeat(x[:2], index).tolist() == [1.0, 1.0]
    assert fg.embedding(index, rows).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert fg.cross_entropy(rows[:2], index).dtype == np.float32
    assert fg.nn.functional.nll_loss(rows[:2], index).item() == 0
    assert fg.searchsorted(x, x, sorter=np.array([0, 1, 2], theirs)).tolist() == [0, 1, 2]


class Metres(float):
    """A number that would rather compute itself, as NumPy's arrays do not let it."""

    def __radd__(self, other: Any) -> Any:
        return "reflected"

    __rmul__ = __radd__


class Count(int):
    """The same of an integer."""

    def __radd__(self, other: Any) -> Any:
        return "reflected"

    __rmul__ = __radd__


class Plain(float):
    """A number without operators of its own."""


class Phase(complex):
    """The same of a complex number."""


@pytest.mark.parametrize("number", [Metres(2), Count(2), Plain(2), Phase(2j)], ids=repr)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_subclasses_of_numbers_are_numbers(number: Any, dtype: str) -> None:
    x, t = np.array([1, 3], dtype=dtype), fg.tensor([1, 3], dtype=dtype)
    for compute in (operator.add, operator.mul, operator.truediv, operator.pow, operator.eq):
        for one, two in ((compute(x, number), compute(t, number)),) + (
            ((compute(number, x), compute(number, t)),) if type(number) is not Count else ()
        ):
            assert isinstance(two, fg.Tensor)
            # Subclasses of int stay weak here.
            assert two.dtype == one.dtype or type(number) is Count
            np.testing.assert_allclose(two.numpy(), one, rtol=1e-6)
    assert fg.tensor(number).item() == number
    assert (t * np.float64(2)).dtype == (x * np.float64(2)).dtype
