"""Compiled steps of optimisers of one's own that count, in numbers or in a tensor."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg


class Counting(fg.optim.Optimizer):
    """Corrects a mean by the number of steps, as Adam does."""

    in_tensor = False

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.1})

    def _update(self, p: Any, grad: Any, state: Any, group: Any) -> Any:
        if not state:
            state["step"] = fg.zeros((), dtype="float64") if self.in_tensor else 0
            state["mean"] = fg.zeros_like(p)
        state["step"] += 1
        state["mean"].mul_(0.9).add_(grad, alpha=0.1)
        return p - group["lr"] * state["mean"] / (1.0 - 0.9 ** state["step"])


class InTensor(Counting):
    in_tensor = True


class OwnStep(Counting):
    def step(self, closure: Any = None) -> None:
        with fg.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    p.copy_(self._update(p.detach(), p.grad.detach(), self.state[p], group))


class InMember(Counting):
    """Counts in a member of its own."""

    count = 0

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.count = 0

    def _update(self, p: Any, grad: Any, state: Any, group: Any) -> Any:
        self.count += 1
        return p - group["lr"] * grad / self.count


class InGroup(Counting):
    """Lowers its own rate."""

    def _update(self, p: Any, grad: Any, state: Any, group: Any) -> Any:
        group["lr"] *= 0.5
        return p - group["lr"] * grad


def trained(kind: Any, history: bool, compiled: bool) -> tuple[Any, Any]:
    w = fg.tensor([1.0, 2.0], requires_grad=True)
    optimizer = kind([w])

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = ((w - x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss if history else loss.detach()

    run = fg.compile(step) if compiled else step
    losses = [run(fg.tensor(3.0 + i)).item() for i in range(8)]
    return np.array([*losses, *w.tolist()]), run


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("kind", [Counting, OwnStep, InMember, InGroup, InTensor])
def test_a_compiled_step_counts(kind: Any, history: bool) -> None:
    expected, _ = trained(kind, history, compiled=False)
    found, run = trained(kind, history, compiled=True)
    np.testing.assert_array_equal(found, expected)
    if history:
        return
    said = [line for line in run.log if "of an optimiser or its schedule goes from" in line]
    assert len(said) == (0 if kind is InTensor else 1), run.log
    assert len(run.programs) == (1 if kind is InTensor else 0)
