"""Compiled steps of optimisers, schedules and modules that count, in numbers or in a tensor."""

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


class InClass(Counting):
    """Counts for all optimisers of its kind."""

    count = 0

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        InClass.count = 0

    def _update(self, p: Any, grad: Any, state: Any, group: Any) -> Any:
        InClass.count += 1
        return p - group["lr"] * grad / InClass.count


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
@pytest.mark.parametrize("kind", [Counting, OwnStep, InMember, InClass, InGroup, InTensor])
def test_a_compiled_step_counts(kind: Any, history: bool) -> None:
    expected, _ = trained(kind, history, compiled=False)
    found, run = trained(kind, history, compiled=True)
    np.testing.assert_array_equal(found, expected)
    if history:
        return
    said = [line for line in run.log if f"{kind.__name__} goes from" in line]
    assert len(said) == (0 if kind is InTensor else 1), run.log
    assert len(run.programs) == (1 if kind is InTensor else 0)


class Halving(fg.optim.lr_scheduler.LRScheduler):
    """A schedule whose step is all its own; the rates are tensors, which stay the same ones."""

    steps = 0

    def get_lr(self) -> Any:
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch: Any = None) -> None:
        self.steps += 1
        for group in self.optimizer.param_groups:
            group["lr"].fill_(0.5**self.steps)


def scheduled(compiled: bool) -> tuple[list[float], Any]:
    w = fg.tensor([1.0, 2.0], requires_grad=True)
    optimizer = fg.optim.SGD([w], lr=fg.tensor(0.1, dtype="float64"))
    schedule = Halving(optimizer)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()
        schedule.step()
        return w.detach() * 1.0

    run = fg.compile(step) if compiled else step
    return [run(fg.tensor(3.0 + i)).tolist() for i in range(8)], run


def test_a_schedule_with_a_step_of_its_own_counts_in_a_compiled_step() -> None:
    expected, _ = scheduled(compiled=False)
    found, run = scheduled(compiled=True)
    assert found == expected
    assert any("Halving goes from" in line for line in run.log), run.log


class Calls(fg.nn.Module):
    """Adds how often it was called."""

    n = 0
    of_all = 0

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where
        self.weight = fg.nn.Parameter(fg.ones(2))
        Calls.of_all = 0

    def forward(self, x: Any) -> Any:
        if self.where == "member":
            self.n += 1
            return x * self.weight + self.n
        if self.where == "class":
            Calls.of_all += 1
            return x * self.weight + Calls.of_all
        self.n = len(x)
        return x * self.weight + self.n


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("where", ["member", "class", "size"])
def test_a_compiled_module_counts(where: str, detach: bool) -> None:
    model = Calls(where)
    f = fg.compile(lambda x: model(x).detach() if detach else model(x))
    x = fg.ones(2)
    found = [f(x)[0].item() for _ in range(8)]
    assert found == [1.0 + (2 if where == "size" else i + 1) for i in range(8)]
    assert len(f.programs) == (1 if where == "size" else 0), f.log
    counts = any("goes from" in line for line in f.log)
    assert counts == (where != "size"), f.log


def test_a_number_that_is_counted_is_that_of_the_calls_after_a_failed_recording() -> None:
    model = Calls("class")

    def fails(x: Any) -> Any:
        if model(x).sum() > 0:
            return x
        return -x

    f = fg.compile(fails)
    with pytest.raises(fg.errors.CompileError):
        f(fg.ones(2))
    assert Calls.of_all == 0


@pytest.mark.parametrize("average", [None, fg.optim.swa_utils.get_ema_avg_fn(0.9)])
def test_averages_of_a_model_count_in_a_tensor(average: Any) -> None:
    fg.manual_seed(0)
    model = fg.nn.Sequential(fg.nn.Linear(2, 2), fg.nn.BatchNorm1d(2))
    averaged = [fg.optim.swa_utils.AveragedModel(model, avg_fn=average) for _ in range(2)]
    step = fg.compile(averaged[0].update_parameters)
    for n in range(8):
        with fg.no_grad():
            model[0].weight.add_(float(n))
        model(fg.full((3, 2), float(n)))
        if n == 5:
            for each in averaged:
                each.n_averaged.zero_()
        step(model)
        averaged[1].update_parameters(model)
        found, want = (each.state_dict() for each in averaged)
        assert {k: v.tolist() for k, v in found.items()} == {k: v.tolist() for k, v in want.items()}
    assert len(step.log) <= 2, step.log
