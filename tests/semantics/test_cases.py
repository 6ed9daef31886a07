"""The table of cases of the contract, row by row."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

START = np.array([3.0, 1.0, 2.0])


def leaf() -> fg.Tensor:
    return fg.tensor(START, requires_grad=True)


def swapped(x: Any) -> Any:
    y = x.copy()
    y[0], y[1] = y[1], y[0]
    return y[0] + 10 * y[1] * y[2]


def summed(x: Any) -> Any:
    s = x.sum()
    t = s
    t += 1
    return s * 10 + t


def argument(x: Any) -> Any:
    x += 1
    return x * x


@pytest.mark.parametrize("wrap", [lambda f: f, fg.compile, fg.checkpoint])
def test_swaps_and_second_names(wrap: Any) -> None:
    for f, value, slope in (
        (swapped, 61.0, [20.0, 1.0, 30.0]),
        (summed, 67.0, [11.0] * 3),
    ):
        assert f(START) == value
        for _ in range(2):
            found, gradient = fg.value_and_grad(wrap(f))(START)
            assert (float(found), np.asarray(gradient).tolist()) == (value, slope)


def test_two_names_of_a_0d_array() -> None:
    for zeros in (np.zeros, fg.zeros):
        a = zeros(())
        b = a
        b += 1
        assert float(a) == 1.0


def test_an_argument_made_from_a_number() -> None:
    assert fg.grad(argument)(3.0) == 8.0
    assert fg.compile(fg.grad(argument))(3.0) == 8.0
    assert fg.grad(fg.grad(argument))(3.0) == 2.0


@pytest.mark.parametrize("make", [np.array, fg.tensor])
def test_an_argument_that_is_memory(make: Any) -> None:
    given = make(3.0)
    with pytest.raises(fg.errors.FerrogradError, match=r"in place.*copy"):
        fg.grad(argument)(given)
    assert float(given) == 3.0
    x = fg.tensor(3.0, requires_grad=True)
    with pytest.raises(fg.errors.InPlaceError, match=r"no_grad\(\)"):
        argument(x)
    with fg.no_grad():
        argument(x)
    assert x.item() == 4.0


def test_a_retained_gradient_stays_with_the_old_value() -> None:
    x = leaf()
    s = old = x[0] * 1
    old.retain_grad()
    s += x[1]
    (s * s).backward()
    assert old.grad is not None
    assert old.grad.item() == 8.0
    assert not s.retains_grad
    e = kept = x[0]
    kept.retain_grad()
    e *= 5
    e.backward()
    assert kept.grad is not None
    assert kept.grad.item() == 5.0


def test_a_hook_stays_with_the_old_value() -> None:
    x, seen = leaf(), []
    s = x[0] * 2
    s.register_hook(lambda g: seen.append(g.item()))
    s += x[1]
    (s * s).backward()
    assert seen == [14.0]


def test_backward_of_an_element() -> None:
    x = leaf()
    x[0].backward()
    x[2].backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 0.0, 1.0]


def test_an_element_that_requires_grad_is_a_leaf_of_its_own() -> None:
    x = fg.tensor(START)
    e = same = x[0]
    e.requires_grad_()
    (e * e * x[1]).backward()
    assert e.is_leaf
    assert e.grad is not None
    assert (e.grad.item(), x.requires_grad) == (6.0, False)
    with fg.no_grad():
        e += 1
    assert e is same
    assert (e.item(), x[0].item()) == (4.0, 3.0)


def test_state_of_a_compiled_step_is_written_in_place() -> None:
    state: dict[str, Any] = {"step": fg.zeros(()), "sum": fg.zeros(3)}
    group = {"lr": fg.tensor(8.0)}
    step, rate = state["step"], group["lr"]

    @fg.compile
    def update(x: Any) -> Any:
        state["step"] += 1
        state["sum"] += x
        group["lr"] *= 0.5
        return x * group["lr"]

    for k in range(1, 6):
        assert update(fg.ones(3)).tolist() == [8.0 * 0.5**k] * 3
    assert state["step"] is step
    assert group["lr"] is rate
    assert (step.item(), rate.item(), state["sum"].tolist()) == (5.0, 0.25, [5.0] * 3)
    assert len(update.programs) == 1


@pytest.mark.parametrize("compiled", [False, True])
def test_an_average_of_parameters_without_axes(compiled: bool) -> None:
    params = [fg.nn.Parameter(fg.tensor(2.0)), fg.nn.Parameter(fg.tensor([4.0, 8.0]))]
    average = [fg.zeros(()), fg.zeros(2)]
    names = list(average)

    def step() -> None:
        with fg.no_grad():
            for p, q in zip(average, params, strict=True):
                p *= 0.5
                p += 0.5 * q

    run = fg.compile(step) if compiled else step
    for _ in range(3):
        run()
    assert all(a is b for a, b in zip(average, names, strict=True))
    assert [a.tolist() for a in average] == [1.75, [3.5, 7.0]]


SORTS: dict[str, Callable[[Any], Any]] = {
    "sort": lambda y: y.sort(),
    "an axis": lambda y: y.reshape(3, 1).sort(axis=0),
    "a view": lambda y: y[:2].sort(),
    "backwards": lambda y: y[::-1].sort(),
    "stable": lambda y: y.sort(kind="stable"),
}


@pytest.mark.parametrize("name", SORTS)
def test_sort_is_in_place(name: str) -> None:
    sort = SORTS[name]
    array, y = START.copy(), fg.tensor(START)
    sort(array)
    sort(y)
    assert y.tolist() == array.tolist()

    def f(x: Any) -> Any:
        y = x * x
        kept = y * 1
        sort(y)
        return (y * np.arange(1.0, 4.0) + kept).sum()

    step = 1e-6 * np.eye(3)
    expected = [(f(START + h) - f(START - h)) / 2e-6 for h in step]
    np.testing.assert_allclose(fg.grad(f)(START), expected, 1e-8)


@dataclasses.dataclass
class State:
    """What programs copy."""

    x: Any
    step: int = 0


COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "deepcopy of a list": lambda y: copy.deepcopy([y, 1])[0],
    "deepcopy of a dict": lambda y: copy.deepcopy({"y": y})["y"],
    "asdict": lambda y: dataclasses.asdict(State(y))["x"],
    "replace": lambda y: dataclasses.replace(State(y), step=1).x,
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_keep_their_history(name: str) -> None:
    def f(x: Any) -> Any:
        y = x * x
        s = COPIES[name](y)
        s[0] = 0.0 if name != "replace" else s[0]
        return (s * y).sum()

    expected = 4 * START**3
    if name != "replace":
        expected[0] = 0.0
    np.testing.assert_allclose(fg.grad(f)(START), expected)


def test_a_copy_of_a_leaf_is_a_leaf() -> None:
    x = leaf()
    for again in (copy.deepcopy(x), copy.copy(x)):
        assert again.is_leaf
        assert again.requires_grad
        (again * again).sum().backward()
        assert x.grad is None


@pytest.mark.parametrize("use", [np.nditer, lambda t: t.flat])
def test_iterators_of_numpy_raise_and_say_what_to_write(use: Any) -> None:
    with pytest.raises((fg.errors.FerrogradError, AttributeError), match=r"for|reshape"):
        use(leaf())
