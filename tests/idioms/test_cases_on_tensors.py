"""What programs of tensors, rather than of arrays, may rely on.

The same rules, seen from leaves.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg


def test_a_leaf_without_axes_refuses_augmented_assignment_outside_no_grad() -> None:
    x = fg.tensor(1.0, requires_grad=True)
    with pytest.raises(fg.errors.InPlaceError):
        x += 1
    before = x
    with fg.no_grad():
        x -= 0.25
    assert x is before
    assert x.item() == 0.75
    assert x.is_leaf


def test_a_hook_and_a_retained_gradient_stay_with_the_old_value() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    seen: list[float] = []
    s = x[0] * 3
    old = s
    s.retain_grad()
    s.register_hook(lambda g: seen.append(float(g)))
    s += x[1]
    (s * s + 5 * old).backward()
    assert s is not old
    assert seen == [15.0]
    assert old.grad is not None
    assert old.grad.item() == 15.0
    assert x.grad.tolist() == [45.0, 10.0]


def test_an_element_is_the_root_of_a_backward_pass() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    x[0].backward()
    assert x.grad.tolist() == [1.0, 0.0]


def test_an_element_of_a_constant_can_be_a_leaf_of_its_own() -> None:
    x = fg.tensor([1.0, 2.0])
    e = x[0]
    e.requires_grad_()
    (e * x[0]).backward()
    assert e.grad.item() == 1.0
    before = e
    with fg.no_grad():
        e += 4
    assert e is before
    assert (e.item(), x.tolist()) == (5.0, [1.0, 2.0])


def test_a_write_to_other_memory_changes_no_value() -> None:
    x = fg.tensor([1.0, 2.0])
    e, total = x[0], x.sum()
    x.zero_()
    assert (e.item(), total.item()) == (1.0, 3.0)


WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda x: x[0].add_(1),
    "...": lambda x: x[0].__setitem__(..., 5.0),
    "data": lambda x: setattr(x[0], "data", fg.tensor(5.0)),
    "out": lambda x: np.sin(x[1], out=x[0]),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_into_an_element_says_what_to_write(write: Callable[[Any], Any]) -> None:
    x = fg.tensor([1.0, 2.0])
    with pytest.raises(fg.errors.InPlaceError, match=r"x\[i\]"):
        write(x)
    assert x.tolist() == [1.0, 2.0]


def test_named_methods_change_other_values() -> None:
    y = fg.tensor([1.0, 2.0]).sum()
    z = y
    y.add_(1)
    assert z.item() == 4.0


def test_a_count_in_a_compiled_step_is_one_program() -> None:
    state = {"step": fg.zeros(()), "rate": fg.tensor(0.5)}

    @fg.compile
    def step(x: Any) -> Any:
        state["step"] += 1
        return x * state["step"] * state["rate"]

    first = state["step"]
    for k in (1.0, 2.0, 3.0):
        assert step(np.ones(2)).tolist() == [0.5 * k, 0.5 * k]
    assert state["step"] is first
    state["rate"] *= 0.5
    assert step(np.ones(2)).tolist() == [1.0, 1.0]
    assert len(step.programs) == 1


def test_parameters_without_axes_change_in_place() -> None:
    means = [fg.tensor(1.0), fg.tensor([1.0, 2.0])]
    params = [fg.tensor(3.0, requires_grad=True), fg.tensor([3.0, 4.0], requires_grad=True)]
    with fg.no_grad():
        for p, q in zip(means, params, strict=True):
            p *= 0.5
            p += 0.5 * q
    assert (means[0].item(), means[1].tolist()) == (2.0, [2.0, 3.0])


def test_copies_of_what_has_a_history_and_of_leaves() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    leaf = copy.deepcopy(x)
    assert leaf.is_leaf
    assert leaf.requires_grad
    y = x * 3
    twin = copy.deepcopy({"y": y, "list": [y, y[0]]})
    assert twin["list"][0] is twin["y"]
    y *= 2
    (twin["y"] * twin["list"][1]).sum().backward()
    assert twin["y"].tolist() == [3.0, 6.0]
    assert x.grad.tolist() == [36.0, 9.0]


@pytest.mark.parametrize("walk", [np.nditer, lambda t: t.flat], ids=["nditer", "flat"])
def test_iterating_over_memory_by_numpy_says_what_to_write(walk: Callable[[Any], Any]) -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    errors = (fg.errors.FerrogradError, AttributeError)
    with pytest.raises(errors, match=r"reshape\(-1\).*(t|x)\[|reshape\(-1\).*np\.put"):
        walk(x)
