"""Results that are written over operands nobody sees again, and operands that somebody does.

Owns: which operand of an operator may lend its memory. Invariant: whoever can still see an operand
finds in it what it was.
"""

import ctypes
import functools
import operator
import os
import platform
import sys
import threading
import weakref

import numpy as np
import pytest

import ferrograd as fg

SHAPE = (300, 300)
OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
]
READS_STACK = (
    sys.version_info < (3, 14)
    and platform.python_implementation() == "CPython"
    and platform.libc_ver()[0] == "glibc"
    and getattr(sys, "_is_gil_enabled", lambda: True)()
    # A sanitizer's functions stand between the interpreter and the call: `make sanitize`.
    and "asan" not in os.environ.get("LD_PRELOAD", "")
)


def numbers(seed=0, dtype="float64"):
    return fg.tensor(np.random.default_rng(seed).uniform(1, 2, SHAPE).astype(dtype))


class Seen:
    """Notes where operands lie and passes them on."""

    def __init__(self):
        self.places = []

    def __call__(self, x):
        self.places.append(x.data_ptr())
        return x


@pytest.mark.skipif(not READS_STACK, reason="no operand is a temporary here")
def test_a_temporary_lends_its_memory():
    x, y, seen = numbers(0), numbers(1), Seen()
    right = x - seen(y * 2.0)
    assert right.data_ptr() == seen.places[0]
    left = seen(x * y) / y
    assert left.data_ptr() == seen.places[1]
    both = seen(x * 2.0) + seen(y * 2.0)
    assert both.data_ptr() in seen.places[2:]
    with fg.no_grad():
        w = numbers(2).requires_grad_()
        step = w - seen(y * 0.1)
    assert step.data_ptr() == seen.places[4]
    assert not step.requires_grad
    assert np.array_equal(right, np.asarray(x) - np.asarray(y) * 2.0)
    assert np.array_equal(left, np.asarray(x) * np.asarray(y) / np.asarray(y))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "complex128"])
def test_values_are_those_of_numpy(dtype):
    x, y, z = (numbers(i, dtype) for i in range(3))
    a, b, c = (np.asarray(t).copy() for t in (x, y, z))
    for got, want in (
        (x - y * z, a - b * c),
        (x * y - z, a * b - c),
        ((x + y) * (y + z), (a + b) * (b + c)),
        ((x + y) * (x + y), (a + b) * (a + b)),
        (x - (y + z).T, a - (b + c).T),
        ((x + y)[::-1] - z, (a + b)[::-1] - c),
        (x[0] - (y + z), a[0] - (b + c)),
        ((x + y) == (y + x), (a + b) == (b + a)),
    ):
        assert np.array_equal(got, want)
    for t, array in ((x, a), (y, b), (z, c)):
        assert np.array_equal(t, array)


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_operands_that_somebody_has_stay(op):
    x, y = numbers(0), numbers(1)
    a, b = np.asarray(x).copy(), np.asarray(y).copy()
    held = [y * 1.0]
    assert np.array_equal(op(x, held[0]), op(x, y))
    named = y * 1.0
    assert np.array_equal(op(x, named), op(x, y))
    results = [op(x, t) for t in held] + list(map(op, [x], held))
    results.append(functools.reduce(op, [x, *held]))
    for result in results:
        assert np.array_equal(result, op(x, y))
    for t in (held[0], named, y):
        assert np.array_equal(t, b)
    assert np.array_equal(x, a)


def test_elements_of_an_array_of_objects_stay():
    x, y = numbers(0), numbers(1)
    array = np.empty(2, dtype=object)
    array[0], array[1] = x * 1.0, y * 1.0
    one = np.empty(1, dtype=object)
    one[0] = y * 1.0
    for _ in range(3):
        first, second = array - one
        assert np.array_equal(first, x - y)
        assert np.array_equal(second, y - y)
    # Both operators belong to the interpreter's loop; the elements between them to NumPy's.
    first, second = array - one * 1.0
    assert np.array_equal(first, x - y)
    assert np.array_equal(second, y - y)
    assert np.array_equal(array[0], x)
    assert np.array_equal(one[0], y)


def test_an_operand_of_a_foreign_caller_stays():
    x, y = numbers(0), numbers(1)
    held = [y * 1.0]
    call = ctypes.pythonapi.PyNumber_Subtract
    call.restype, call.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p]
    # The list has the only reference, as a local variable of an extension module would.
    references, place = sys.getrefcount(held[0]), id(held[0])
    assert references == 2
    for _ in range(2):
        assert np.array_equal(call(id(x), place), x - y)
        assert np.array_equal(held[0], y)


def test_an_operand_that_can_be_found_stays():
    x, y, kept = numbers(0), numbers(1), []

    def watched(t):
        kept.append(weakref.ref(t))
        return t

    def exported(t):
        kept.append(np.asarray(t))
        return t

    def shown(t):
        kept.append(t[1:])
        return t

    seen = Seen()
    assert (x - watched(seen(y * 1.0))).data_ptr() != seen.places[0]
    for keep in (exported, shown):
        result = x - keep(y * 1.0)
        assert np.array_equal(result, x - y)
    assert np.array_equal(kept[1], y)
    assert np.array_equal(kept[2], y[1:])


def test_what_a_graph_needs_stays():
    w, y = numbers(0).requires_grad_(), numbers(1)
    a, b = np.asarray(w.detach()).copy(), np.asarray(y).copy()
    # The product keeps both operands, the exponential its result.
    loss = (w * (y * 2.0) - (y + 1.0) * (w * 1.0)).sum()
    (slope,) = fg.autograd.grad(loss, [w])
    assert np.allclose(slope, 2 * b - (b + 1))
    e = fg.exp(w)
    with fg.no_grad():
        y - (e.detach() * 1.0)
    (slope,) = fg.autograd.grad((e - y * 3.0).sum(), [w])
    assert np.allclose(slope, np.exp(a))


def test_subclasses_and_python_operators():
    class Mine(fg.Tensor):
        def __sub__(self, other):
            first = super().__sub__(other)
            return first + super().__sub__(other)

    x, y = numbers(0), numbers(1)
    try:
        mine = Mine(np.asarray(x))
    except TypeError:
        pytest.skip("tensors have no subclasses")
    assert np.array_equal(mine - y * 1.0, 2 * (np.asarray(x) - np.asarray(y)))


def test_threads():
    x, y = numbers(0), numbers(1)
    want = np.asarray(x) - np.asarray(y) * 2.0
    wrong = []

    def work():
        for _ in range(30):
            if not np.array_equal(x - y * 2.0, want):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_compiled_programs_and_observers_see_every_result():
    x, y = numbers(0), numbers(1)

    def f(x, y):
        return x - y * 2.0

    compiled = fg.compile(f)
    for _ in range(3):
        assert np.array_equal(compiled(x, y), f(x, y))
    with fg.Graph():
        assert np.array_equal(f(x, y), np.asarray(x) - np.asarray(y) * 2.0)


@pytest.mark.parametrize("of", OPERATORS)
def test_operands_in_a_tuple_or_a_method_that_is_kept_stay(of):
    x, y, z = numbers(0), numbers(1), numbers(2)
    product = (x * y).numpy()
    name = f"__{of.__name__}__"
    for first in (True, False):
        pair = (x * y, z) if first else (z, x * y)
        for call in (of, getattr(fg.Tensor, name)):
            call(*pair)
            np.testing.assert_array_equal(pair[0 if first else 1].numpy(), product)
    for method in (name, name.replace("__", "__r", 1)):
        kept = getattr(x * y, method)
        expected = kept(z).numpy()
        np.testing.assert_array_equal(next(map(kept, [z, z])).numpy(), expected)
        np.testing.assert_array_equal(kept.__self__.numpy(), product)


def test_operands_of_a_table_of_functions_stay():
    def call(function, *args):
        function(*args)
        return args[0]

    x, y = numbers(0), numbers(1)
    np.testing.assert_array_equal(call(operator.sub, x * y, y).numpy(), (x * y).numpy())
