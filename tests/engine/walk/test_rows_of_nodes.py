"""A pass runs nodes in a row as it meets them and plans what comes behind: where rows end.

Deep rows have their own file.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from function_support import failing


class Doubled(fg.Function):
    @staticmethod
    def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
        return x * 2.0

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
        return g * 2.0


def fork(y: fg.Tensor) -> fg.Tensor:
    return y * fg.sin(y)


def halves(y: fg.Tensor) -> fg.Tensor:
    first, second = fg.split(fg.concatenate([y, y * 3.0]), 2)
    return first * second


def hooked(y: fg.Tensor) -> fg.Tensor:
    y = y * 1.0
    y.register_hook(lambda g: g * 1.0)
    return y


def retained(y: fg.Tensor) -> fg.Tensor:
    y = y * 1.0
    y.retain_grad()
    return y


MIDDLES: dict[str, Callable[[fg.Tensor], fg.Tensor]] = {
    "nothing": lambda y: y,
    "a fork": fork,
    "an operand twice": lambda y: y * y,
    "several outputs": halves,
    "a hook": hooked,
    "a retained gradient": retained,
    "an operation of Python": Doubled.apply,
    "a shape": lambda y: y.reshape((1, 2)).sum(axis=0),
    "an expansion": lambda y: (y + fg.ones((3, 2))).mean(axis=0),
}


def steps(y: fg.Tensor, leaves: list[fg.Tensor]) -> fg.Tensor:
    for leaf in leaves:
        y = fg.tanh(y * leaf + 0.1) - leaf
    return y


@pytest.mark.parametrize("middle", MIDDLES.values(), ids=MIDDLES)
@pytest.mark.parametrize("others", [1, 3, 12])
def test_rows_before_and_behind(middle: Callable[[fg.Tensor], fg.Tensor], others: int) -> None:
    """The same leaves before and behind: their sums begin on the row and go on in the plan."""
    rng = np.random.default_rng(0)
    x, *leaves = (fg.tensor(rng.standard_normal(2), requires_grad=True) for _ in range(1 + others))
    loss = steps(middle(steps(x, leaves)), leaves).sum()
    expected = fg.autograd.grad(loss, [x, *leaves], retain_graph=True)
    loss.backward(retain_graph=True)
    for tensor, known in zip([x, *leaves], expected, strict=True):
        assert tensor.grad is not None
        np.testing.assert_allclose(tensor.grad.numpy(), known.numpy(), rtol=1e-13, atol=1e-15)
    loss.backward()
    for tensor, known in zip([x, *leaves], expected, strict=True):
        assert tensor.grad is not None
        np.testing.assert_allclose(tensor.grad.numpy(), 2 * known.numpy(), rtol=1e-13, atol=1e-15)
    with pytest.raises(RuntimeError, match="retain_graph"):
        loss.backward()


def test_a_leaf_with_a_hook_beside_the_row() -> None:
    x = fg.tensor([2.0], requires_grad=True)
    w = fg.tensor([3.0], requires_grad=True)
    seen: list[float] = []
    w.register_hook(lambda g: seen.append(g.item()))
    y = x * 5.0
    for _ in range(3):
        y = y * w
    (y * 1.0).backward()
    assert seen == [3 * 10.0 * 9.0]
    assert w.grad is not None
    assert w.grad.item() == seen[0]


def test_a_pass_that_fails_on_the_row_or_behind_it_changes_no_leaf() -> None:
    Fails = failing(ZeroDivisionError)
    x = fg.tensor([2.0], requires_grad=True)
    w = fg.tensor([3.0], requires_grad=True)
    with pytest.raises(ZeroDivisionError):
        (Fails.apply(x * w) * w).backward()
    v = x * 1.0
    y = (w * v) * w
    with fg.autograd.graph.disallow_mutation_on_saved_tensors():
        v += 1.0
    with pytest.raises(RuntimeError):
        (y * w).backward()
    assert x.grad is None
    assert w.grad is None
    assert fg.live_nodes() > 0


def test_operands_of_a_row_are_those_it_computed_with() -> None:
    x = fg.tensor([2.0], requires_grad=True)
    w = fg.tensor([3.0], requires_grad=True)
    v = x * 1.0
    y = (w * v) * w
    v += 1.0
    (y * v).backward()  # w² x (x + 1)
    assert x.grad is not None
    assert w.grad is not None
    assert (x.grad.item(), w.grad.item()) == (9 * 5.0, 6 * 6.0)


def test_a_row_is_recorded_as_a_plan_is() -> None:
    x = fg.tensor([0.7], requires_grad=True)
    y = fg.exp(fg.sin(x * x) * 2.0)
    y.backward(create_graph=True)
    first = x.grad
    assert first is not None
    x.grad = None
    first.backward()
    v = 0.7
    s, c = np.sin(v * v), np.cos(v * v)
    value = np.exp(2 * s)
    slope = 4 * v * c
    assert x.grad is not None
    np.testing.assert_allclose(first.item(), value * slope, rtol=1e-14)
    curve = value * (slope**2 + 4 * c - 8 * v * v * s)
    np.testing.assert_allclose(x.grad.item(), curve, rtol=1e-13)


def test_a_long_row_gives_the_lock_away_and_ends_in_a_fork() -> None:
    x = fg.tensor([1.0], requires_grad=True)
    w = fg.tensor([1.0 + 2.0**-40], requires_grad=True)
    y = fork(x * w)
    for _ in range(20_000):
        y = y * w
    (y + 1.0).backward()
    v, n = w.item(), 20_000
    assert w.grad is not None
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.item(), v**n * v * (np.sin(v) + v * np.cos(v)), rtol=1e-9)
    slope = v**n * (np.sin(v) + v * np.cos(v)) + n * v ** (n - 1) * v * np.sin(v)
    np.testing.assert_allclose(w.grad.item(), slope, rtol=1e-9)
