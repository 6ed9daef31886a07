"""Methods and functions of NumPy that write to an array, walk through it, or make another one.

Each program runs on arrays, eagerly and compiled; gradients are held to differences.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy as fnp

X = np.array([0.3, 1.7, 0.2, 0.9, 0.6, 0.55])
#: Programs of NumPy (or the module in its place) that write to the six elements of `y`.
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "sort": lambda np, y: y.sort(),
    "sort a view": lambda np, y: y[:3].sort(),
    "sort backwards": lambda np, y: y[::-1].sort(kind="stable"),
    "sort an axis": lambda np, y: y.reshape(3, 2).sort(axis=0),
    "sort a transposed view": lambda np, y: y.reshape(3, 2).T.sort(),
    "partition": lambda np, y: y.partition(5),
    "fill": lambda np, y: y.fill(y[1] * 2),
    "fill a view": lambda np, y: y[:2].fill(3),
    "put": lambda np, y: y.put([0, -1], y[2:4] * 1),
    "put in turn": lambda np, y: np.put(y, [1, 2, 3], [y[0], y[4]]),
    "put one place": lambda np, y: np.put(y, 1, y * 2),
    "put a place twice": lambda np, y: np.put(y, [1, 1, 30], [y[0], y[3] * 2], mode="wrap"),
    "put nothing": lambda np, y: np.put(y, [1], []),
    "putmask": lambda np, y: np.putmask(y, y > 0.8, y[0]),
    "putmask by position": lambda np, y: np.putmask(y, y > 0.8, y[1:5]),
    "place": lambda np, y: np.place(y, y > 0.8, [y[0]]),
    "place in turn": lambda np, y: np.place(y, y > 0.8, y[1:3] * 2),
    "a diagonal": lambda np, y: np.fill_diagonal(y.reshape(3, 2), y[:2] * 3),
    "a wrapped diagonal": lambda np, y: np.fill_diagonal(y.reshape(6, 1), y[1], wrap=True),
    "a diagonal of a vector": lambda np, y: np.fill_diagonal(y[:4].reshape(2, 2), y[4:] * 1),
    "copyto": lambda np, y: np.copyto(y, y * 2, where=y > 0.8),
    "out by position": lambda np, y: np.divide(y, y[::-1] * 1, y),
    "out of one operand": lambda np, y: np.exp(y, y),
    "reversed": lambda np, y: [
        np.multiply(v, 2, out=y[k : k + 1]) for k, v in enumerate(reversed(y))
    ],
    "a copy by ravel": lambda np, y: np.ravel(y[::-1]).fill(0.0),
    "a copy by ravel of columns": lambda np, y: y.reshape(3, 2).T.ravel().fill(0.0),
    "a copy by ravel in order": lambda np, y: y.reshape(3, 2).ravel(order="F").fill(0.0),
    "a view by ravel": lambda np, y: y.reshape(3, 2)[1:].ravel().fill(2.0),
    "a view by ravel in order": lambda np, y: y.reshape(3, 2).T.ravel(order="F").fill(2.0),
    "a view by reshape": lambda np, y: y[::-1].reshape(-1).fill(2.0),
    "a copy by flatten": lambda np, y: y.flatten().fill(0.0),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": fg.value_and_grad,
    "compiled": lambda f: fg.compile(fg.value_and_grad(f)),
    "a compiled function": lambda f: fg.value_and_grad(fg.compile(f)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", WRITES)
def test_what_writes(name: str, way: str) -> None:
    def f(x: Any, np: Any = fnp) -> Any:
        y = x * 1.5
        kept = y * y
        WRITES[name](np, y)
        return (y * y) @ np.arange(1.0, 7.0) + kept.sum()

    expected = [(f(X + h, np) - f(X - h, np)) / 2e-6 for h in 1e-6 * np.eye(6)]
    run = WAYS[way](f)
    for _ in range(2):
        value, gradient = run(X)
        np.testing.assert_allclose(value, f(X, np), 1e-12)
        np.testing.assert_allclose(gradient, expected, 1e-6, 1e-7)


@pytest.mark.parametrize("name", ["sort", "partition", "fill", "put"])
def test_methods_that_write_give_none_and_functions_a_copy(name: str) -> None:
    y = fg.tensor(X)
    assert WRITES[name](np, y) is None
    assert y.tolist() != X.tolist()
    z = fg.tensor(X)
    assert fg.sort(z).tolist() == np.sort(z).tolist() == fg.partition(z, 2).tolist() == sorted(X)
    assert z.tolist() == X.tolist()
    z.sort(descending=True)
    assert z.tolist() == sorted(X, reverse=True)


@pytest.mark.parametrize("name", ["sort", "partition", "fill", "put", "putmask", "a diagonal"])
def test_leaves_and_arguments_are_not_written_to(name: str) -> None:
    x = fg.tensor(X, requires_grad=True)
    with pytest.raises(fg.errors.InPlaceError, match=r"no_grad\(\)"):
        WRITES[name](fnp, x)
    with pytest.raises(fg.errors.FerrogradError, match=r"in place.*copy"):
        fg.grad(lambda x: (WRITES[name](fnp, x), x.sum())[1])(X)
    assert x.tolist() == X.tolist()
    with fg.no_grad():
        WRITES[name](fnp, x)
    assert x.tolist() != X.tolist()


REFUSED: dict[str, tuple[Callable[[fg.Tensor], Any], str]] = {
    "an axis of sort": (lambda y: y.sort(axis=None), "sort: axis=None .*fg.sort"),
    "a field": (lambda y: y.sort(order="a"), "sort: order='a'.* leave it out"),
    "a kind": (lambda y: y.sort(0, True), "sort: kind is True.*descending="),
    "dim": (lambda y: y.sort(dim=0), "dim= returns values and indices"),
    "no axis": (lambda y: y.sum().sort(), "sort: axis -1 is out of bounds"),
    "kth": (lambda y: y.partition(9), "partition: element 9 of an axis of size 6"),
    "an element": (lambda y: y[0].fill(1.0), r"assign to the element, x\[i\] = value"),
    "a vector": (lambda y: y.fill([1.0, 2.0]), r"fill: the value has shape \(2,\).* x\[\.\.\.\]"),
    "no values": (lambda y: np.place(y, X > 0, []), "place: .* give at least one value"),
    "a mask": (lambda y: np.putmask(y, [True], 1.0), r"putmask: .*\(1,\).*\(6,\).* each element"),
    "a vector's diagonal": (lambda y: np.fill_diagonal(y, 1.0), "fill_diagonal: .*matrix"),
    "a place": (lambda y: np.put(y, 9, 1.0), "out of bounds"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_leave_the_tensor(name: str) -> None:
    call, message = REFUSED[name]
    y = fg.tensor(X)
    with pytest.raises((ValueError, TypeError, IndexError, RuntimeError), match=message):
        call(y)
    assert y.tolist() == X.tolist()


def test_reversed() -> None:
    x = fg.tensor(X, requires_grad=True)
    assert [v.item() for v in reversed(x)] == X.tolist()[::-1]
    assert [row.tolist() for row in reversed(x.reshape(3, 2))] == X.reshape(3, 2).tolist()[::-1]
    next(reversed(x)).backward()
    assert x.grad.tolist() == [0.0] * 5 + [1.0]
    with pytest.raises(TypeError, match="0-d"):
        reversed(fg.tensor(1.0))


ITERATORS: dict[str, Callable[[Any], Any]] = {
    "nditer": fnp.nditer,
    "NumPy's nditer": lambda t: np.nditer(t),
    "nditer of several": lambda t: fnp.nditer([t, X]),
    "flat": lambda t: t.flat,
}


@pytest.mark.parametrize("name", ITERATORS)
def test_iterators_say_what_to_write(name: str) -> None:
    x = fg.tensor(X, requires_grad=True)
    with pytest.raises((fg.errors.NotDifferentiableError, AttributeError), match=r"reshape\(-1\)"):
        ITERATORS[name](x)
    with pytest.raises((fg.errors.NotDifferentiableError, AttributeError), match=r"reshape\(-1\)"):
        fg.grad(lambda x: sum(ITERATORS[name](x)))(X)
    assert not hasattr(x, "flat")


def test_iterators_of_arrays_are_numpys() -> None:
    assert [float(v) for v in fnp.nditer(X)] == [float(v) for v in np.nditer(fg.tensor(X))]
    assert fg.grad(lambda x: sum(v * v * i for (i,), v in fnp.ndenumerate(x)))(X).tolist() == [
        2 * v * i for i, v in enumerate(X)
    ]


COPIES: dict[str, Callable[[Any, Any], Any]] = {
    "array": lambda np, s: np.array(s),
    "asarray": lambda np, s: np.asarray(s),
    "asanyarray": lambda np, s: np.asanyarray(s),
    "copy": lambda np, s: np.copy(s),
    "select": lambda np, s: np.select([s > 0.1], [s], 0.0),
    "where": lambda np, s: np.where(s > 0.1, s, 0.0),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", COPIES)
def test_copies_of_values_are_memory(name: str, way: str) -> None:
    def f(x: Any, np: Any = fnp) -> Any:
        s, total = x[1], x.sum()
        a, b = COPIES[name](np, s), COPIES[name](np, total)
        c, d = a, b
        c *= 2
        np.multiply(d, 3.0, out=d)
        return a * 100 + b * 10 + s * total

    expected = [(f(X + h, np) - f(X - h, np)) / 2e-6 for h in 1e-6 * np.eye(6)]
    value, gradient = WAYS[way](f)(X)
    np.testing.assert_allclose(value, f(X, np), 1e-12)
    np.testing.assert_allclose(gradient, expected, 1e-6)


def test_asarray_of_memory_is_the_memory() -> None:
    a = fg.tensor(2.0)
    b = fnp.asarray(a)
    b += 1
    assert a.item() == 3.0
    assert fnp.asarray(fg.tensor(X)[0])._is_value() is False


def test_overlapping_copies_read_first() -> None:
    for assign in (
        lambda A: A.__setitem__((slice(None), -1), A[1]),
        lambda A: np.copyto(A[:, -1], A[1]),
        lambda A: A[:, -1].__setitem__(slice(None), A[1, :]),
    ):
        A = fg.arange(16.0).reshape(4, 4)
        assign(A)
        assert A[:, -1].tolist() == [4.0, 5.0, 6.0, 7.0]
        assert A[:, :-1].tolist() == np.arange(16.0).reshape(4, 4)[:, :-1].tolist()


def test_results_lie_in_c_order() -> None:
    A = fg.arange(6.0).reshape(2, 3)
    for made in (A.T * 2, np.exp(A.T), np.copy(A.T)):
        made.ravel().fill(0.0)
        assert not made.any()
