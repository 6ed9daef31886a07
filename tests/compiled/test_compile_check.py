"""`compile(check=n)`: the comparison leaves everything as a replay alone would."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import CompileError

X = np.array([0.3, 0.7, -0.5, 1.1])


@pytest.mark.parametrize("check", [1, 2, 3])
def test_state_advances_once_in_each_call(check: int) -> None:
    s, t = fg.zeros(()), fg.zeros(4)

    def f(x: Any) -> Any:
        s.add_(1.0)
        t.mul_(0.5).add_(x)
        return (x * s + t).sum()

    compiled, total = fg.compile(f, check=check), np.zeros(4)
    for calls in range(1, 9):
        total = total * 0.5 + X
        assert np.isclose(compiled(X), (X * calls + total).sum())
        assert s.item() == calls
        assert np.allclose(t.numpy(), total)


def test_training_steps_are_compared() -> None:
    def trained(check: int) -> list[float]:
        fg.manual_seed(0)
        model = fg.nn.Sequential(fg.nn.Linear(4, 3), fg.nn.Dropout(0.5), fg.nn.Linear(3, 1))
        optimizer = fg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = (model(x) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        compiled = fg.compile(step, check=check)
        return [compiled(fg.tensor(X)).item() for _ in range(9)]

    assert trained(2) == trained(0) == trained(3)


def test_batches_are_counted_once() -> None:
    norm = fg.nn.BatchNorm1d(4)
    compiled = fg.compile(norm, check=3)
    x = fg.tensor(np.random.default_rng(0).random((5, 4)))
    for _ in range(9):
        compiled(x)
    assert norm.num_batches_tracked.item() == 9


def test_histories_are_compared() -> None:
    weight = fg.tensor(2.0, requires_grad=True)
    compiled = fg.compile(lambda x: (x * weight).sum(), check=2)
    for _ in range(5):
        compiled(fg.tensor(X)).backward()
    assert np.isclose(weight.grad.item(), 5 * X.sum())


def test_what_depends_on_something_else_raises() -> None:
    factor = [1.0]
    compiled = fg.compile(lambda x: x * factor[0], check=2)
    compiled(X)
    compiled(X)
    factor[0] = 2.0
    with pytest.raises(CompileError, match="besides its arguments"):
        compiled(X)
