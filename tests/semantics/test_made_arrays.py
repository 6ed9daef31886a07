"""Arrays that a program makes of values, of arrays and of nothing.

`tests/idioms/array_cases.py` has the programs that run.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy as fnp

X = np.array([0.3, 0.7, 1.1])

KEPT: dict[str, Callable[[Any], Any]] = {
    "a tensor": lambda x: fg.array(x),
    "a list": lambda x: fg.array([x[0], x[1], x[2]]),
    "a deque": lambda x: fg.array(deque([x[0], x[1], x[2]])),
    "a dtype": lambda x: fg.array(x, "float32"),
    "no copy": lambda x: fg.array(x, copy=None),
    "axes": lambda x: fg.array(x, ndmin=2)[0],
    "a clone": lambda x: x.clone(),
    "ferrograd.numpy": lambda x: fnp.array(x),
}


@pytest.mark.parametrize("name", KEPT)
def test_array_keeps_the_history(name: str) -> None:
    found = fg.grad(lambda x: (x * KEPT[name](x)).sum())(X)
    np.testing.assert_allclose(found, 2 * X, 1e-6)
    x = fg.tensor(X, requires_grad=True)
    KEPT[name](x).sum().backward()
    np.testing.assert_array_equal(x.grad, np.ones(3))


def test_array_is_memory_of_its_own() -> None:
    x = fg.tensor(X)
    y = fg.array(x)
    y *= 2
    assert x.tolist() == X.tolist()
    assert fg.array(x, copy=None) is x
    made = fg.array([1.0, 2.0], requires_grad=True, name="w")
    assert made.requires_grad
    assert made.name == "w"
    assert fg.array(x, requires_grad=True).is_leaf
    assert fg.array(3).dtype == np.int64
    assert not fg.array(x.sum())._is_value()


def test_tensor_refuses_to_cut_what_a_transform_differentiates() -> None:
    message = r"tensor: .*t\.clone\(\) or fg\.array\(t\).* t\.detach\(\)\.clone\(\)"
    for make in (fg.tensor, lambda x: fg.tensor(x * 2, dtype="float32")):
        with pytest.raises(fg.errors.GraphCutError, match=message):
            fg.grad(lambda x, make=make: (x * make(x)).sum())(X)
    assert fg.grad(lambda x: (x * x.detach().clone()).sum())(X).tolist() == X.tolist()
    assert fg.grad(lambda x: (x * fg.tensor(fg.zeros(3) + 2)).sum())(X).tolist() == [2.0] * 3
    x = fg.tensor(X, requires_grad=True)
    assert not fg.tensor(x).requires_grad


def test_isscalar() -> None:
    x = fg.tensor(X)
    for value in (x[0], x.sum(), x[0] * x[1], 3.0, np.float64(1)):
        assert fnp.isscalar(value)
    for array in (x, x[:1], fg.tensor(1.0), fnp.asarray(x[0]), np.array(1.0)):
        assert not fnp.isscalar(array)


COPY_NEEDED: dict[str, Callable[[Any], Any]] = {
    "another order": lambda A: fnp.asarray(A.T, order="C", copy=False),
    "Fortran's order": lambda A: fnp.array(A, order="F", copy=False),
    "another dtype": lambda A: fnp.array(A, "float32", copy=False),
    "a list": lambda A: fnp.array([A[0, 0]], copy=False),
    "a value": lambda A: fnp.asarray(A[0, 0], copy=False),
    "a reshape": lambda A: A.T.reshape(-1, copy=False),
}


@pytest.mark.parametrize("name", COPY_NEEDED)
def test_copy_false_refuses_to_copy(name: str) -> None:
    A = fg.tensor(np.eye(2, 3))
    with pytest.raises(ValueError, match="copy=False"):
        COPY_NEEDED[name](A)


def test_refusals() -> None:
    x = fg.tensor(X, requires_grad=True)
    for call, message in (
        (lambda: fnp.array(x, order="X"), "order is 'X'"),
        (lambda: fnp.array(x, like=x, ndmax=1), "no counterpart"),
        (lambda: fnp.require(x, requirements=["C", "F"]), "one order"),
        (lambda: fnp.asarray_chkfinite(x / 0), "infs or NaNs"),
        (lambda: fnp.fromiter([x[0]], float, 2), "1 elements and count=2"),
        (lambda: np.ix_(x, x[None]), "2 axes"),
        (lambda: x.reshape(3, order="K"), "order=.K."),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            call()


MADE: dict[str, Callable[[], Any]] = {
    "linspace": lambda: fnp.linspace(0, 1, 3),
    "arange": lambda: fnp.arange(3.0),
    "concatenate": lambda: fnp.concatenate([X, X]),
    "meshgrid": lambda: fnp.meshgrid(X, X)[1],
    "r_": lambda: fnp.r_[X, 1.0],
    "mgrid": lambda: fnp.mgrid[0:1:3j],
    "pad": lambda: fnp.pad(X, 1),
    "atleast_1d": lambda: fnp.atleast_1d(2.0),
}
NOT_MADE: dict[str, Callable[[], Any]] = {
    "arange of integers": lambda: fnp.arange(3),
    "tile of integers": lambda: fnp.tile([1, 2], 2),
    "what is computed": lambda: fnp.sin(X) * 2.0,
    "what was there": lambda: fnp.asarray(X),
    "a view of it": lambda: fnp.atleast_2d(X),
    "an open grid of it": lambda: fnp.meshgrid(X, X, sparse=True, copy=False)[0],
}


def test_what_a_transform_makes_tensors_of() -> None:
    def kinds(table: dict[str, Callable[[], Any]]) -> set[type]:
        found: set[type] = set()

        def f(x: Any) -> Any:
            found.update(type(make()) for make in table.values())
            return x.sum()

        fg.grad(f)(X)
        return found

    assert kinds(MADE) == {fg.Tensor}
    assert kinds(NOT_MADE) == {np.ndarray}
    assert {type(make()) for make in (*MADE.values(), *NOT_MADE.values())} == {np.ndarray}
    for make in MADE.values():
        assert isinstance(
            fg.grad(lambda x, make=make: (x.sum(), make()), has_aux=True)(X)[1], np.ndarray
        )


def written(make: Callable[[], Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        a = make()
        a[0] = x[0]
        return a.sum()

    return f


def test_arrays_that_cannot_hold_a_value_say_what_to_write() -> None:
    with pytest.raises(fg.errors.GraphCutError, match=r"a = np\.array\(a\)"):
        fg.grad(written(lambda: np.sin(X)))(X)
    with pytest.raises(
        fg.errors.GraphCutError, match=r"holds integers.*dtype=float.*astype\(int\)"
    ):
        fg.grad(written(lambda: fnp.arange(3)))(X)
    assert fg.grad(written(lambda: fnp.array(np.sin(X))))(X).tolist() == [1.0, 0.0, 0.0]


def test_the_error_names_a_call_that_another_follows() -> None:
    W = np.eye(3)
    for f, name in (
        (lambda x: W.dot(x).sum(), r"numpy\.ndarray\.dot: .*A @ t"),
        (lambda x: np.linalg.norm(W.dot(x).T), r"numpy\.ndarray\.dot: "),
        (lambda x: np.array([x[0]]).sum(), r"numpy\.array: "),
        (lambda x: np.asarray(x).T.sum(), r"numpy\.asarray: "),
    ):
        with pytest.raises(fg.errors.GraphCutError, match=f"^{name}"):
            fg.grad(f)(X)


@pytest.mark.parametrize("module", [np, fnp])
def test_places_of_infinities_and_replaced_numbers_of_constants(module: Any) -> None:
    y, out = fg.tensor([1.0, np.nan, np.inf, -np.inf]), fg.zeros(4, dtype=bool)
    assert module.isneginf(y, out) is out
    assert out.tolist() == [False, False, False, True]
    module.isposinf(y, out)
    assert out.tolist() == [False, False, True, False]
    assert module.nan_to_num(y, copy=False) is y
    assert y.tolist()[:2] == [1.0, 0.0]


def test_arguments_by_position_are_given_once_and_no_truth_value_stands_for_a_dtype() -> None:
    A = fg.tensor(np.ones((2, 2)))
    with pytest.raises(TypeError, match=r"dtype.* given twice"):
        A.sum(0, float, dtype=float)
    for call in (lambda: A.std(0, True), lambda: A.sum(0, True, None)):
        with pytest.raises(TypeError, match="by position"):
            call()
    assert A.sum(0, True).shape == (1, 2)
