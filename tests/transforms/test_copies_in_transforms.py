"""Copies of what somebody differentiates: `copy.copy`, `copy.deepcopy` and `dataclasses`."""

import copy
import dataclasses
import multiprocessing
import pickle
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ferrograd as fg

X = np.array([1.0, 2.0])
Pair = namedtuple("Pair", "a b")


@dataclasses.dataclass
class State:
    position: Any
    parts: list[Any]


class Own:
    """An object of the program's with a tensor in its attributes."""

    def __init__(self, x: Any) -> None:
        self.x, self.more = x, {"y": [x * 2.0]}


def of_dataclass(p: Any) -> Any:
    state = dataclasses.asdict(State(p, [p * p]))
    return state["position"] * state["parts"][0]


def of_replaced(p: Any) -> Any:
    first = State(p, [p])
    second = dataclasses.replace(copy.deepcopy(first), position=first.position * 2.0)
    return second.position * second.parts[0]


def of_ordered(p: Any) -> Any:
    return sum(copy.deepcopy(OrderedDict(a=p, b=p * 3.0)).values()) * p


def of_changed(p: Any) -> Any:
    """A copy is memory of its own."""
    old = p * 1.0
    new = copy.deepcopy(old)
    new[0] = 10.0 * new[1]
    return old * 100.0 + new


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "argument": lambda p: copy.deepcopy(p) * p * p,
    "shallow": lambda p: copy.copy(p) ** 3,
    "result": lambda p: copy.deepcopy(np.sin(p)) * p,
    "shallow result": lambda p: copy.copy(np.sin(p)) * p,
    "method": lambda p: p.__copy__() * (p * p).__deepcopy__({}),
    "view": lambda p: copy.deepcopy(p[:1]) * p,
    "copy of a copy": lambda p: copy.deepcopy(copy.deepcopy(p)) ** 2,
    "list": lambda p: np.sum(copy.deepcopy([p, p * 2.0, 3.0])[1]) * p,
    "nested": lambda p: copy.deepcopy({"a": (p, [p * p])})["a"][1][0] * p,
    "namespace": lambda p: copy.deepcopy(SimpleNamespace(x=p, y=p * p)).y * p,
    "named tuple": lambda p: copy.deepcopy(Pair(p, p * 2.0)).b * p,
    "object": lambda p: copy.deepcopy(Own(p)).more["y"][0] * p,
    "asdict": of_dataclass,
    "replace": of_replaced,
    "ordered dict": of_ordered,
    "changed": of_changed,
}
EVERY = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)


def weighted(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda p: np.sum(np.array([1.0, 3.0]) * program(p))


@EVERY
def test_gradients_are_those_of_the_program_on_arrays(program: Any) -> None:
    f = weighted(program)

    def slope(k: int) -> Any:
        step = 1e-6 * np.eye(2)[k]
        return (f(X + step) - f(X - step)) / 2e-6

    expected = [slope(0), slope(1)]
    assert_allclose(fg.grad(f)(X), expected, rtol=1e-7)
    assert_allclose(fg.grad(f)(fg.tensor(X)), expected, rtol=1e-7)
    assert_allclose(fg.grad(lambda p, n: f(p))(X, 2), expected, rtol=1e-7)
    x = fg.tensor(X, requires_grad=True)
    assert_allclose(fg.grad(f)(x).detach(), expected, rtol=1e-7)
    assert_allclose(fg.value_and_grad(f)(X)[1], expected, rtol=1e-7)
    assert_allclose(fg.jvp(f, (X,), (np.array([1.0, 0.0]),))[1], expected[0], rtol=1e-7)
    assert_allclose(fg.jacobian(lambda d: f(d["p"]))({"p": X})["p"], expected, rtol=1e-7)


@EVERY
def test_second_derivatives_and_nested_transforms(program: Any) -> None:
    f = weighted(program)
    fg.check_grads(f, order=2)(X)
    inner = fg.grad(lambda p, q: np.sum(program(p) * q), 0)
    assert_allclose(
        fg.jacobian(lambda q: inner(X, q))(X),
        fg.jacobian(lambda q: fg.vjp(program, X)[1](q)[0])(X),
    )


@EVERY
def test_copies_are_recorded_in_programs(program: Any) -> None:
    f = weighted(program)
    fast, slope = fg.compile(f), fg.compile(fg.grad(f))
    for x in (X, X * 3.0, X - 4.0):
        assert_allclose(fast(fg.tensor(x)), f(fg.tensor(x)))
        assert_allclose(slope(x), fg.grad(f)(x))


def test_copies_in_loops_keep_their_history() -> None:
    def step(carry: Any, _: Any) -> Any:
        return copy.deepcopy(carry) * 2.0, None

    def f(x: Any) -> Any:
        return np.sum(fg.scan(step, x, None, length=3)[0] ** 2)

    assert_allclose(fg.grad(f)(X), 128.0 * X)


@EVERY
def test_copies_in_checkpoints_keep_their_history(program: Any) -> None:
    f = weighted(program)
    assert_allclose(fg.grad(fg.checkpoint(f))(X), fg.grad(f)(X))
    x = fg.tensor(X, requires_grad=True)
    fg.autograd.checkpoint(f, x * 1.0).backward()
    assert_allclose(x.grad, fg.grad(f)(X))


def test_one_tensor_in_several_places_is_one_copy() -> None:
    def f(p: Any) -> Any:
        first, second = copy.deepcopy([p, p])
        assert first is second
        assert first is not p
        memo: dict[int, Any] = {}
        assert copy.deepcopy(p, memo) is copy.deepcopy(p, memo)
        first[0] = 5.0
        return np.sum(second * p)

    assert fg.grad(f)(X).tolist() == [5.0, 4.0]


def test_a_view_and_its_base_are_copied_apart_as_arrays_are() -> None:
    def f(p: Any) -> Any:
        base = p * 1.0
        other, view = copy.deepcopy((base, base[:1]))
        other[0] = 7.0
        return np.sum(view * p)

    assert f(X) == 3.0
    assert fg.value_and_grad(f)(X)[0] == 3.0


# --- what stays a leaf ----------------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_leaves_of_the_program_s_own_stay_leaves(duplicate: Any) -> None:
    w = fg.tensor(X, requires_grad=True)
    p = fg.nn.Parameter(X)

    def f(x: Any) -> Any:
        inner = fg.tensor([1.0], requires_grad=True)
        for leaf in (w, p, inner):
            other = duplicate(leaf)
            assert other.is_leaf
            assert other.requires_grad
            assert type(other) is type(leaf)
        assert not duplicate(x).is_leaf
        return np.sum(x * duplicate(w))

    assert fg.grad(f)(X).tolist() == [1.0, 2.0]
    assert duplicate(w).is_leaf
    assert w.grad is None


def test_an_argument_is_one_only_while_its_function_runs() -> None:
    kept = []

    def f(x: Any) -> Any:
        kept.append(x)
        with pytest.raises(ValueError, match="inner"):
            fg.grad(failing)(x * 1.0)
        assert not copy.deepcopy(x).is_leaf
        return np.sum(x * x)

    def failing(x: Any) -> Any:
        kept.append(x)
        raise ValueError("inner")

    fg.grad(f)(X)
    assert copy.deepcopy(kept[0]).is_leaf
    pickle.dumps(kept[0])
    with pytest.raises(ValueError, match="inner"):
        fg.grad(failing)(X)
    assert copy.deepcopy(kept[-1]).is_leaf


def test_no_history_is_copied_where_nothing_records() -> None:
    y = fg.tensor(X, requires_grad=True) * 2.0
    with fg.no_grad():
        for other in (copy.copy(y), copy.deepcopy(y)):
            assert not other.requires_grad
            assert other.tolist() == [2.0, 4.0]
    assert copy.deepcopy(fg.tensor([1, 2])).tolist() == [1, 2]


def test_copies_of_values_are_values_and_of_memory_memory() -> None:
    for duplicate in (copy.copy, copy.deepcopy):

        def f(p: Any, duplicate: Any = duplicate) -> Any:
            value, memory = duplicate(p[0]), duplicate(np.sum(p, keepdims=True)[0:].reshape(()))
            old, kept = value, memory
            value += 1.0
            memory += 1.0
            return old * 10.0 + kept

        assert f(X) == 14.0
        assert fg.value_and_grad(f)(X)[0] == 14.0
        assert f(fg.tensor(X)).item() == 14.0


def test_a_model_is_copied_with_what_it_has_computed() -> None:
    model = fg.nn.Linear(2, 1)
    model.last = model(fg.tensor(X)).sum()
    twin = copy.deepcopy(model)
    assert all(p.is_leaf for p in twin.parameters())
    twin.last.backward()
    assert twin.weight.grad is None
    assert model.weight.grad is not None


# --- pickle ---------------------------------------------------------------------------------------


def test_pickle_refuses_a_history_and_says_detach() -> None:
    message = r"pickle: a tensor with history .*x\.detach\(\)"
    y = fg.tensor(X, requires_grad=True) * 2.0
    for value in (y, [y], {"a": y}, State(y, [])):
        with pytest.raises(fg.errors.GradientError, match=message):
            pickle.dumps(value)
    assert pickle.loads(pickle.dumps(y.detach())).tolist() == [2.0, 4.0]

    def f(x: Any) -> Any:
        with pytest.raises(fg.errors.GradientError, match=message):
            pickle.dumps(x)
        with pytest.raises(fg.errors.GradientError, match=message):
            pickle.dumps({"x": x})
        pickle.dumps(x.detach())
        return np.sum(x)

    for x in (X, fg.tensor(X), {"x": X}):
        fg.grad(f if not isinstance(x, dict) else lambda d: f(d["x"]))(x)


def test_queues_of_processes_refuse_a_history() -> None:
    sender, receiver = multiprocessing.Pipe()
    with pytest.raises(fg.errors.GradientError, match=r"x\.detach\(\)"):
        sender.send(fg.tensor(X, requires_grad=True) * 2.0)
    sender.close()
    receiver.close()


# --- full_like ------------------------------------------------------------------------------------


def test_the_method_full_like_keeps_the_gradient_of_its_value() -> None:
    assert fg.grad(lambda x: np.sum(fg.ones(3).full_like(x[0] ** 2)))(X).tolist() == [6.0, 0.0]
