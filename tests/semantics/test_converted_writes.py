"""What writes make of numbers of another kind, and what they refuse: NumPy's rules."""

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

#: The kinds of errors that a program may raise.
KINDS = {OverflowError: "range", IndexError: "index", TypeError: "type", ValueError: "range"}

INTEGERS = ["int8", "int32", "int64", "uint8", "uint64", "bool", "float32"]
NUMBERS = [
    *(np.int8(v) for v in (-1, 100)),
    *(np.int64(v) for v in (-300, -1, 7, 300, 70000)),
    *(np.uint8(v) for v in (7, 200)),
    np.uint64(2**63),
    *(np.float64(v) for v in (-300.5, -0.5, 3.7, 300.0)),
    np.float32(300),
    np.float16(3.5),
    np.bool_(True),
    np.complex128(3),
    np.array(200),
    np.array(3.7),
    200,
    3.7,
    -1,
]

#: Programs of `y`, an array of zeros, by its dtype and shape.
PROGRAMS = {
    ("float64", (2, 2)): [
        "np.fill_diagonal(y, 1 + 2j)",
        "np.fill_diagonal(y, [1 + 2j, 1])",
        "np.fill_diagonal(y, np.array([1 + 2j, 3]))",
        "np.fill_diagonal(y, np.complex128(1 + 2j))",
        "np.fill_diagonal(y, [1, 2])",
    ],
    ("int8", (2, 2)): [
        "np.fill_diagonal(y, 200)",
        "np.fill_diagonal(y, 1.5)",
        "np.fill_diagonal(y, np.uint8(200))",
        "np.fill_diagonal(y, np.array([1.5]))",
    ],
    ("float64", (3,)): [
        "np.place(y, y == 0, [1 + 2j])",
        "np.place(y, y == 0, np.array([1 + 2j]))",
        "np.place(y, y == 0, [1, 2])",
        "np.putmask(y, y == 0, 1 + 2j)",
        "np.putmask(y, y == 0, np.array([1 + 2j, 1, 2]))",
        "np.put(y, [0], 1 + 2j)",
        "np.put(y, [0], [1 + 2j])",
        "np.put(y, [0], np.complex128(1 + 2j))",
        "np.put(y, [0], np.array([1 + 2j]))",
        "y.put([0], 1 + 2j)",
        "np.put_along_axis(y, np.array([0]), 1 + 2j, 0)",
        "np.put_along_axis(y, np.array([0]), 1 + 2j, None)",
        "np.put_along_axis(y, np.array([0]), np.array([1 + 2j]), 0)",
        "np.add.at(y, [0, 0], np.complex128(1 + 2j))",
        "np.greater.at(y, [0], -1.0)",
    ],
    ("int64", (3,)): [
        "np.add.at(y, [0], 1.5)",
        "np.add.at(y, [0, 0], 1.5)",
        "np.add.at(y, [0, 0, 1], np.array([1.5, 1.5, 2.5]))",
        "np.add.at(y, slice(0, 2), 1.5)",
        "np.subtract.at(y, [0, 0], np.float64(1.5))",
        "y += 3; np.multiply.at(y, [0, 0], 1.5)",
        "np.maximum.at(y, [0], 1.5)",
        "y += 7; np.divide.at(y, [0, 0], 2)",
        "y += 5; np.sqrt.at(y, [0])",
    ],
    ("int8", (3,)): [
        "y[0] = 200",
        "y[0] = 300.0",
        "y[0] = float('nan')",
        "y[0] = np.float64('nan')",
        "y[0] = np.float32('inf')",
        "y.fill(np.uint8(200))",
        "np.copyto(y, np.uint8(200))",
        "np.put(y, [0], 200)",
        "np.put(y, [0], np.uint8(200))",
        "np.put(y, [0], 1.5)",
        "np.place(y, y == 0, 200)",
        "np.add.at(y, [0, 0], 100)",
        "np.add.at(y, [0, 0], 1.5)",
    ],
    ("bool", (3,)): ["np.add.at(y, [0, 0], 1)"],
    ("float64", (2, 4)): [
        "y[0] = [[1, 2, 3, 4]]",
        "y[0, 0] = [5]",
        "y[0, 0] = [[5]]",
        "y[0:1] = [[[1, 2, 3, 4]]]",
        "y[0, 0:1] = [[5]]",
        "y[0] = [1, 2, 3, 4]",
        "y[:] = [[1, 2, 3, 4]]",
        "y[0:1] = [1, 2, 3, 4]",
        "y[..., 0] = [1, 2]",
        "y[None, 0] = [[1, 2, 3, 4]]",
        "y[[0, 1]] = [[1], [2]]",
        "y[y == 0] = [1] * 8",
        "y[0, 0] = 5",
        "y[0] = np.ones((1, 4))",
        "y[:] = np.ones((1, 2, 4))",
    ],
    ("float64", (2, 0)): ["y = np.partition(y, 0)", "y = np.partition(y, 5)", "y.partition(3)"],
    ("float64", (4,)): ["y = np.partition(y, 4)", "y = np.partition(y, 3)"],
}
ALL = [(*key, program) for key, programs in PROGRAMS.items() for program in programs]


def outcome(program: str, y: Any, **names: Any) -> tuple[Any, ...]:
    """What a program makes of `y`, or the kind of its error, and the kinds of its warnings."""
    names.update(np=np, y=y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(program, names)
            found = names["y"].tolist()
        except Exception as raised:
            found = next(name for kind, name in KINDS.items() if isinstance(raised, kind))
    told = [w.category.__name__ for w in caught if not issubclass(w.category, RuntimeWarning)]
    return str(found), told


@pytest.mark.parametrize(("dtype", "shape", "program"), ALL, ids=[row[2] for row in ALL])
def test_programs(dtype: str, shape: tuple[int, ...], program: str) -> None:
    zeros = np.zeros(shape, dtype)
    ours, theirs = outcome(program, fg.tensor(zeros)), outcome(program, zeros.copy())
    assert ours == theirs


@pytest.mark.parametrize("write", ["y[0] = v", "y[:] = v", "y[...] = v", "y.fill(v)"])
def test_numbers_into_elements(write: str) -> None:
    for dtype, number in itertools.product(INTEGERS, NUMBERS):
        zeros = np.zeros(2, dtype)
        theirs = outcome(write, zeros.copy(), v=number)
        assert outcome(write, fg.tensor(zeros), v=number) == theirs, (dtype, number)


#: Calls with two outputs of which the second does not do.
OUTPUTS: dict[str, Callable[[Any, Any], Any]] = {
    "dtype": lambda y, make: np.modf(y, out=(y, make(np.zeros(2, int)))),
    "shape": lambda y, make: np.divmod(y, 2, out=(y, make(np.zeros(3)))),
    "shape of frexp": lambda y, make: np.frexp(y, out=(y, make(np.zeros(3, "int32")))),
    "an array that only is read": lambda y, make: np.modf(y, out=(y, read_only())),
}


def read_only() -> Any:
    found = np.zeros(2)
    found.flags.writeable = False
    return found


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_are_refused_before_one_is_written(name: str) -> None:
    for make in (np.array, fg.tensor):
        y = make([1.5, 2.5])
        with pytest.raises((TypeError, ValueError)):
            OUTPUTS[name](y, make)
        assert y.tolist() == [1.5, 2.5]


def test_a_leaf_as_second_output_is_refused_before_the_first_is_written() -> None:
    y, w = fg.tensor([1.5, 2.5]), fg.zeros(2, requires_grad=True)
    with pytest.raises(fg.errors.InPlaceError):
        np.modf(y, out=(y, w))
    assert y.tolist() == [1.5, 2.5]
    assert w.tolist() == [0, 0]
    with fg.no_grad():
        np.modf(y, out=(y, w))
    assert y.tolist() == [0.5, 0.5]
    assert w.tolist() == [1, 2]
