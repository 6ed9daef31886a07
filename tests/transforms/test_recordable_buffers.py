"""Arrays made with `ferrograd.numpy` take tensors while a transform runs or a function is compiled.

Outside, for dtypes without derivatives, and for plain NumPy, nothing changes.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import ferrograd as fg
import ferrograd.numpy as np

X = numpy.array([0.5, 1.5, 2.5])

#: How a buffer of shape (2, 2) is made, of the namespace.
MAKERS: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda np: np.zeros((2, 2)),
    "zeros, dtype": lambda np: np.zeros((2, 2), dtype=float),
    "zeros, positional": lambda np: np.zeros([2, 2], np.float64),
    "zeros, order": lambda np: np.zeros((2, 2), order="F"),
    "zeros, float32": lambda np: np.zeros((2, 2), np.float32).astype(float),
    "zeros, shape=": lambda np: np.zeros(shape=(2, 2)),
    "ones": lambda np: np.ones((2, 2)),
    "empty": lambda np: _filled(np.empty((2, 2))),
    "full": lambda np: np.full((2, 2), 0.25),
    "full of a row": lambda np: np.full((2, 2), [0.25, 0.5]),
    "eye": lambda np: np.eye(2),
    "eye, k": lambda np: np.eye(2, 2, k=1),
    "identity": lambda np: np.identity(2),
    "zeros_like": lambda np: np.zeros_like(np.eye(2)),
    "zeros_like of a list": lambda np: np.zeros_like([[1.0, 2.0], [3.0, 4.0]]),
    "ones_like": lambda np: np.ones_like(numpy.eye(2)),
    "empty_like": lambda np: _filled(np.empty_like(numpy.eye(2))),
    "full_like": lambda np: np.full_like(numpy.eye(2), 3.0),
    "array": lambda np: np.array([[1.0, 0.0], [0.0, 1.0]]),
    "array of integers, dtype": lambda np: np.array([[1, 0], [0, 1]], dtype=float),
    "array of an array": lambda np: np.array(numpy.eye(2)),
    "asarray of a list": lambda np: np.asarray([[1.0, 0.0], [0.0, 1.0]]),
    "copy": lambda np: np.copy(numpy.eye(2)),
    "copy of a list": lambda np: np.copy([[1.0, 2.0], [3.0, 4.0]]),
    "diag": lambda np: np.diag([1.0, 2.0]),
    "complex": lambda np: np.zeros((2, 2), complex).real.copy(),
}


def _filled(a: Any) -> Any:
    a[...] = 1.0
    return a


def program(np: Any, make: Callable[[Any], Any], x: Any) -> Any:
    """Writes of every kind into a buffer, between reads."""
    A = make(np)
    A[0, 1] = x[0] * x[1]
    A[1] = A[0] * x[2]
    A[:, 0] += x[:2]
    A *= 1.0 + x[1]
    A[1, 1] -= A[0, 1] ** 2
    return np.sum(A * A)


def differences(f: Callable[[Any], Any], x: Any) -> Any:
    steps = 1e-6 * numpy.eye(len(x))
    return numpy.array([(f(x + h) - f(x - h)) / 2e-6 for h in steps])


WAYS: dict[str, Callable[[Any], Any]] = {
    "grad": fg.grad,
    "value_and_grad": lambda f: lambda x: fg.value_and_grad(f)(x)[1],
    "jacobian": fg.jacobian,
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](1.0)[0],
    "jvp": lambda f: lambda x: numpy.array([fg.jvp(f, (x,), (v,))[1] for v in numpy.eye(3)]),
    "of a tensor": lambda f: lambda x: fg.grad(f)(fg.tensor(x)).numpy(),
    "compiled": lambda f: fg.compile(fg.grad(f)),
    "grad of compiled": lambda f: fg.grad(fg.compile(f)),
    "checkpoint": lambda f: fg.grad(fg.checkpoint(f)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MAKERS)
def test_writes_are_recorded(name: str, way: str) -> None:
    make = MAKERS[name]
    expected = differences(lambda x: program(numpy, make, x), X)
    found = WAYS[way](lambda x: program(np, make, x))
    for _ in range(3):
        assert numpy.allclose(found(X), expected, rtol=1e-6)


@pytest.mark.parametrize("name", MAKERS)
def test_second_derivatives(name: str) -> None:
    def slope(x: Any) -> Any:
        return fg.grad(lambda x: program(np, MAKERS[name], x))(x)

    found = fg.hessian(lambda x: program(np, MAKERS[name], x))(X)
    expected = numpy.array([(slope(X + h) - slope(X - h)) / 2e-6 for h in 1e-6 * numpy.eye(len(X))])
    assert numpy.allclose(found, expected, rtol=1e-5, atol=1e-4)


def test_compiled_functions_begin_with_a_new_buffer_in_every_call() -> None:
    def cumulative(x: Any) -> Any:
        s = np.array([1.0, 0.0, 0.0, 0.0])
        for k in range(1, 4):
            s[k] += s[k - 1] * x[k - 1]
        return s

    run = fg.compile(cumulative)
    for scale in (1.0, 2.0, 2.0, -1.0):
        x = scale * X
        assert numpy.allclose(run(x), numpy.cumprod([1.0, *x]))


def body(carry: Any, x: Any) -> tuple[Any, Any]:
    new = np.zeros(2)
    new[0] = carry[1] * x
    new[1] = carry[0] + x
    return new, new.sum()


def looking(carry: Any, x: Any) -> tuple[Any, Any]:
    new, y = body(carry, x)
    return (new, y) if carry[0] > -1e9 else (carry, y)


@pytest.mark.parametrize("f", [body, looking])
@pytest.mark.parametrize("length", [0, 3])
def test_bodies_of_loops(f: Callable[..., Any], length: int) -> None:
    def looped(x: Any) -> Any:
        last, ys = fg.scan(f, fg.tensor([1.0, 2.0]), x[:length])
        return last.sum() + ys.sum()

    def unrolled(x: Any) -> Any:
        carry, total = np.array([1.0, 2.0]), 0.0
        for k in range(length):
            carry, y = body(carry, x[k])
            total = total + y
        return carry.sum() + total

    expected = fg.grad(unrolled)(X) if length else numpy.zeros(3)
    assert numpy.allclose(fg.grad(looped)(X), expected)
    t = fg.tensor(X, requires_grad=True)
    if length:
        looped(t).backward()
        assert numpy.allclose(t.grad, expected)
        assert numpy.allclose(fg.hessian(looped)(X), fg.hessian(unrolled)(X))


def test_branches() -> None:
    def chosen(x: Any) -> Any:
        def square(x: Any) -> Any:
            out = np.ones(2)
            out[1] = x[0] * x[0]
            return out

        return fg.cond(x[0] > 0, square, lambda x: x[:2] * 1.0, x).sum()

    assert fg.grad(chosen)(X).tolist() == [1.0, 0.0, 0.0]
    assert fg.compile(fg.grad(chosen))(X).tolist() == [1.0, 0.0, 0.0]


INTEGERS: dict[str, Callable[[], Any]] = {
    "zeros": lambda: np.zeros(2, int),
    "array": lambda: np.array([1, 2]),
    "bool": lambda: np.ones(2, bool),
    "full": lambda: np.full(2, 3),
    "eye": lambda: np.eye(2, dtype=int),
    "like": lambda: np.zeros_like(numpy.arange(3)),
    "like, dtype": lambda: np.zeros_like([1.0, 2.0], dtype=int),
    "text": lambda: np.array(["a", "b"]),
    "objects": lambda: np.array([None, {}], dtype=object),
    "diag": lambda: np.diag([1, 2]),
    "long double": lambda: np.zeros(2, numpy.longdouble),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_other_dtypes_stay_arrays(name: str) -> None:
    found = []

    def f(x: Any) -> Any:
        found.append(INTEGERS[name]())
        return (x * x).sum()

    fg.grad(f)(X)
    outside = INTEGERS[name]()
    assert type(found[0]) is numpy.ndarray
    assert found[0].dtype == outside.dtype
    assert numpy.array_equal(found[0], outside)


@pytest.mark.parametrize("name", MAKERS)
def test_outside_transforms_they_are_arrays(name: str) -> None:
    assert type(MAKERS[name](np)) is numpy.ndarray
    with fg.no_grad():
        assert type(MAKERS[name](np)) is numpy.ndarray


@pytest.mark.parametrize("name", MAKERS)
def test_a_buffer_has_numpys_elements_and_dtype(name: str) -> None:
    made = []

    def f(x: Any) -> Any:
        made.append(MAKERS[name](np))
        return x.sum()

    fg.grad(f)(X)
    expected = MAKERS[name](numpy)
    assert type(made[0]) is fg.Tensor
    assert made[0].dtype == expected.dtype
    assert numpy.array_equal(made[0], expected)


def test_memory_of_somebody_else_stays_an_array() -> None:
    outer = numpy.zeros(2)

    def f(x: Any) -> Any:
        same = np.asarray(outer)
        assert same is outer
        same[0] += 1.0
        assert np.asarray(memoryview(outer)).base is not None
        return x.sum()

    fg.grad(f)(X)
    assert outer[0] == 1.0


def test_without_recording_inside_a_transform_they_are_arrays() -> None:
    def f(x: Any) -> Any:
        with fg.no_grad():
            table = np.zeros(3)
            table[0] = x[0]
        assert type(table) is numpy.ndarray
        return (x * table).sum()

    assert fg.grad(f)(X).tolist() == [0.5, 0.0, 0.0]


RESULTS: dict[str, Callable[[Any], Any]] = {
    "grad, aux": lambda f: fg.grad(lambda x: (x.sum(), f(x)), has_aux=True)(X)[1],
    "grad of a float, aux": lambda f: fg.grad(lambda x: (x, f(x)), has_aux=True)(2.0)[1],
    "value_and_grad": lambda f: fg.value_and_grad(lambda x: (x.sum(), f(x)), has_aux=True)(X)[0][1],
    "jacobian, aux": lambda f: fg.jacobian(lambda x: (x, f(x)), has_aux=True)(X)[1],
    "vjp": lambda f: fg.vjp(f, X)[0],
    "jvp": lambda f: fg.jvp(f, (X,), (X,))[0],
    "compiled": lambda f: fg.compile(f)(X),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_buffer_without_history_leaves_as_an_array(name: str) -> None:
    found = RESULTS[name](lambda x: np.eye(2))
    assert type(found) is numpy.ndarray
    assert found.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    found[0, 0] = 5.0


def test_buffers_serve_as_arrays_do() -> None:
    import scipy.linalg

    def f(x: Any) -> Any:
        A = np.array([[2.0, 1.0], [1.0, 3.0]])
        total = float(A[0, 0]) + int(A[1, 1]) + len(A) + max(A[0]) + sum(A[1])
        total += 1.0 if A[0, 0] > 0 and (A > 0).all() else 100.0
        total += scipy.linalg.expm(A)[0, 0] + numpy.linalg.det(A) + np.linalg.inv(A)[0, 0]
        plain = numpy.ones(2)
        plain += A[0]
        plain[0] = A[1, 1]
        total += plain.sum() + numpy.random.default_rng(0).normal(A[0], A[1])[0]
        for row in A:
            for element in row:
                total += element
        total += float(f"{A[0, 1]:.3f}") + np.interp(1.5, A[0][::-1], A[1])
        return total + (A @ x[:2]).sum()

    value, slope = fg.value_and_grad(f)(X)
    assert numpy.isclose(value, f(X))
    assert slope.tolist() == [3.0, 4.0, 0.0]


AT: dict[str, tuple[Any, Any, Any]] = {
    "add": (np.add, [0, 0, 2], lambda x: x),
    "add, one place": (np.add, 1, lambda x: x[0]),
    "add, slice": (np.add, slice(0, 2), lambda x: x[:2]),
    "add, one value": (np.add, [2, 2, 1], lambda x: x[1]),
    "add, mask": (np.add, numpy.array([True, False, True]), lambda x: x[:2]),
    "add, negative": (np.add, [-1, 2, 0], lambda x: x),
    "add, nothing": (np.add, numpy.array([], int), lambda x: x[:0]),
    "subtract": (np.subtract, [0, 2, 2], lambda x: x),
    "multiply": (np.multiply, [1, 1, 1], lambda x: x),
    "divide": (np.divide, [2, 1, 2], lambda x: x),
    "maximum": (np.maximum, [0, 1, 1], lambda x: x),
    "power": (np.power, [2, 2, 0], lambda x: x),
}


@pytest.mark.parametrize("name", AT)
def test_ufunc_at(name: str) -> None:
    ufunc, index, values = AT[name]

    def f(np: Any, x: Any) -> Any:
        a = np.array([1.5, 0.7, 2.0])
        a[1] = x[0] + 1.0
        assert ufunc.at(a, index, values(x)) is None
        return (a * a * a).sum()

    value, slope = fg.value_and_grad(lambda x: f(np, x))(X)
    assert numpy.isclose(value, f(numpy, X), rtol=1e-15)
    assert numpy.allclose(slope, differences(lambda x: f(numpy, x), X), rtol=1e-6)
    assert numpy.allclose(fg.compile(fg.grad(lambda x: f(np, x)))(X), slope)


def test_ufunc_at_of_two_axes_through_a_view_and_of_one_operand() -> None:
    def f(np: Any, x: Any) -> Any:
        A = np.zeros((3, 4))
        A[0] = x[0]
        rows = A[:, 1:3]
        np.add.at(rows, ([0, 2, 0], [1, 0, 1]), x)
        np.add.at(A, (slice(None), [3, 3]), np.stack([x, x * x], axis=1))
        np.negative.at(A, ([0, 0], [0, 3]))
        return (A * A * x[2]).sum()

    value, slope = fg.value_and_grad(lambda x: f(np, x))(X)
    assert numpy.isclose(value, f(numpy, X))
    assert numpy.allclose(slope, differences(lambda x: f(numpy, x), X), rtol=1e-6)


def test_ufunc_at_truncates_each_float_that_goes_into_integers() -> None:
    for counts in (fg.zeros(3, dtype=fg.int64), numpy.zeros(3, int)):
        numpy.add.at(counts, [0, 0, 1], fg.tensor([1.5, 1.5, 2.5]))
        assert counts.tolist() == [2, 2, 0]


def assigned(x: Any) -> Any:
    a = numpy.zeros(3)
    a[0] = x[0]
    return a.sum()


def assigned_slice(x: Any) -> Any:
    a = numpy.zeros(3)
    a[:] = x
    return a.sum()


def augmented(x: Any) -> Any:
    a = numpy.zeros(3)
    a += x
    return a.sum()


def added(x: Any) -> Any:
    a = numpy.zeros(3)
    numpy.add.at(a, [0], x[0])
    return a.sum()


@pytest.mark.parametrize("f", [assigned, assigned_slice, augmented, added])
@pytest.mark.parametrize("transform", [fg.grad, fg.compile, lambda f: fg.compile(fg.grad(f))])
def test_an_array_of_numpys_refuses_and_names_the_import(f: Any, transform: Any) -> None:
    with pytest.raises(fg.errors.FerrogradError, match=r"import ferrograd\.numpy as np"):
        transform(f)(X)


def test_an_array_of_numpys_names_the_import_outside_transforms() -> None:
    t = fg.tensor(X, requires_grad=True)
    with pytest.warns(fg.errors.GraphCutWarning, match="fg.zeros"):
        assigned(t)
    with pytest.raises(fg.errors.GraphCutError, match=r"import ferrograd\.numpy as np"):
        assigned_slice(t)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert assigned_slice(t.detach()) == X.sum()


def test_calls_of_compiled_functions_that_run_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, function: Any = None) -> Any:
        A = np.zeros(2)
        A[0] = x[0] * x[1]
        return (A * A).sum() if function is None else function(A)

    def slope(run: Any, **kwargs: Any) -> Any:
        t = fg.tensor(X, requires_grad=True)
        run(t, **kwargs).backward()
        return t.grad.tolist()

    expected = fg.grad(f)(X).tolist()
    assert slope(fg.compile(f)) == expected
    assert slope(fg.compile(f), function=lambda A: (A * A).sum()) == expected
    # Every other element: such calls run eagerly.
    t = fg.tensor(numpy.repeat(X, 2), requires_grad=True)
    fg.compile(f)(t[::2]).backward()
    assert t.grad[::2].tolist() == expected
    monkeypatch.setenv("FERROGRAD_COMPILE", "0")
    assert slope(fg.compile(f)) == expected


def test_checkers_take_functions_that_fill_buffers() -> None:
    def f(x: Any) -> Any:
        return program(np, MAKERS["zeros"], x)

    assert fg.gradcheck(f, (fg.tensor(X, requires_grad=True),))
    fg.check_grads(f)(X)
