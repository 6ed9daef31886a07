"""Compiled functions whose surroundings change: gradients, switches, options; too many programs."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import CompileError


def counted(f: Callable[..., Any]) -> tuple[Any, list[int]]:
    """The compiled function, and a list that grows when Python runs it."""
    runs: list[int] = []

    def g(*args: Any) -> Any:
        runs.append(1)
        return f(*args)

    return fg.compile(g), runs


def test_the_program_that_was_used_longest_ago_goes() -> None:
    f, runs = counted(lambda x: x * 2.0)
    for n in range(1, 9):
        f(np.ones(n))
    with pytest.warns(RuntimeWarning, match="9 signatures"):
        f(np.ones(9))
    for n in range(10, 17):
        f(np.ones(n))
    for _ in range(3):
        f(np.ones(1))
    assert len(runs) == len(f.programs) == 16
    f(np.ones(17))
    assert len(f.programs) == 16
    f(np.ones(1))  # was used last before
    assert len(runs) == 17
    f(np.ones(2))  # went
    assert len(runs) == 18
    f(np.ones(1))
    assert len(runs) == 18


@pytest.mark.parametrize("kind", ["one", "two shapes"])
def test_gradients_that_accumulate_and_are_forgotten(kind: str) -> None:
    """`.grad` is missing every third call, and lies in other memory each time."""

    def run(compiled: bool) -> tuple[list[Any], list[int]]:
        model = fg.nn.Linear(2, 2)
        with fg.no_grad():
            for p in model.parameters():
                p.fill_(0.3)
        optimizer = fg.optim.SGD(model.parameters(), lr=0.1)
        runs: list[int] = []

        def step(x: Any) -> Any:
            runs.append(1)
            loss = (model(x) ** 2).sum()
            loss.backward()
            return loss.detach()

        f = fg.compile(step) if compiled else step
        found = []
        for i in range(36):
            rows = 2 + (i % 2 if kind == "two shapes" else 0)
            found.append(f(fg.tensor(np.full((rows, 2), 0.1 * i))).numpy())
            before = [p.grad for p in model.parameters()]
            found.extend(grad.numpy().copy() for grad in before)
            del before
            if i % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
        return found, runs

    (eager, _), (replayed, runs) = run(False), run(True)
    for a, b in zip(eager, replayed, strict=True):
        assert a.tobytes() == b.tobytes()
    assert len(runs) <= (2 if kind == "one" else 4)


def test_the_gradient_keeps_its_identity_and_its_version_moves() -> None:
    w = fg.tensor([1.0, 2.0], requires_grad=True)
    f, runs = counted(lambda x: ((w * x).sum().backward(), (w * 2.0).detach())[1])
    for _ in range(2):
        f(fg.ones(2))
    w.grad = fg.zeros(2)
    grad, version = w.grad, w.grad._version
    f(fg.ones(2))
    assert w.grad is grad
    assert grad._version > version
    assert grad.tolist() == [1.0, 1.0]
    assert len(runs) == 2


def test_a_gradient_that_is_also_read_as_itself() -> None:
    w = fg.tensor([1.0, 2.0], requires_grad=True)
    w.grad = fg.tensor([10.0, 20.0])
    held = w.grad

    def step(x: Any) -> Any:
        (w * x).sum().backward()
        return held * 1.0

    f = fg.compile(step)
    assert f(fg.ones(2)).tolist() == [11.0, 21.0]
    assert f(fg.ones(2)).tolist() == [12.0, 22.0]
    w.grad = fg.tensor([0.0, 0.0])
    assert f(fg.ones(2)).tolist() == [12.0, 22.0]
    assert w.grad.tolist() == [1.0, 1.0]


def test_gradients_that_are_arguments_or_of_two_leaves() -> None:
    v, w = (fg.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    f, _ = counted(lambda x: ((v * x).sum().backward(), (w * x).sum().backward(), x * 1.0)[2])
    for _ in range(3):
        f(fg.ones(2))
    shared = fg.tensor([0.0, 0.0])
    v.grad = w.grad = shared
    f(fg.ones(2))
    assert shared.tolist() == [2.0, 2.0]
    v.grad, w.grad = fg.zeros(2), fg.zeros(2)
    f(fg.ones(2))
    assert v.grad.tolist() == [1.0, 1.0]
    with pytest.raises(CompileError, match="memory that the function changes"):
        f(v.grad)
    v.grad.requires_grad_(False)
    view = v.grad.T
    v.grad = view
    f(fg.ones(2))
    assert v.grad.tolist() == [2.0, 2.0]


def test_a_bound_step_refuses_another_gradient() -> None:
    w = fg.tensor([1.0, 2.0], requires_grad=True)
    w.grad = fg.zeros(2)
    f = fg.compile(lambda x: ((w * x).sum().backward(), x * 1.0)[1])
    x = fg.ones(2)
    run = f.bind(x)
    run()
    run()
    assert w.grad.tolist() == [3.0, 3.0]
    w.grad = fg.zeros(2)
    with pytest.raises(CompileError, match="bind it again"):
        run()
    assert w.grad.tolist() == [0.0, 0.0]


class Noisy(fg.nn.Module):
    """Scales while it trains."""

    def forward(self, x: Any) -> Any:
        return x * 3.0 if self.training else x


@pytest.mark.parametrize("grad", [False, True])
def test_switches_that_a_function_turns(grad: bool) -> None:
    model = Noisy()
    runs: list[int] = []

    def train(x: Any) -> Any:
        runs.append(1)
        model.train()
        return model(x)

    def evaluate(x: Any) -> Any:
        runs.append(1)
        model.eval()
        return model(x)

    one, two = fg.compile(train), fg.compile(evaluate)
    x = fg.ones(2, requires_grad=grad)
    for _ in range(20):
        assert one(x).tolist() == [3.0, 3.0]
        assert model.training
        assert two(x).tolist() == [1.0, 1.0]
        assert not model.training
    assert len(runs) <= 4


def test_a_function_that_turns_a_switch_there_and_back() -> None:
    model = Noisy()

    def f(x: Any) -> Any:
        model.eval()
        y = model(x)
        model.train()
        return y + model(x)

    g, runs = counted(f)
    for state in (True, False) * 4:
        model.train(state)
        assert g(np.ones(1)).tolist() == [4.0]
        assert model.training
    assert len(runs) == 2


def test_a_module_that_does_something_at_its_first_call() -> None:
    class First(fg.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = True

        def forward(self, x: Any) -> Any:
            if self.first:
                self.first = False
                return x * 2.0
            return x * 3.0

    f, runs = counted(First())
    assert [f(np.ones(1))[0] for _ in range(5)] == [2.0, 3.0, 3.0, 3.0, 3.0]
    assert len(runs) == 2


def test_options_that_come_back_need_no_recording() -> None:
    w = fg.tensor([1.0, 2.0], requires_grad=True)
    optimizer = fg.optim.SGD([w], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    f, runs = counted(step)
    want = np.array([1.0, 2.0])
    for i in range(20):
        lr = optimizer.param_groups[0]["lr"] = (0.1, 0.2)[i % 2]
        f(fg.ones(2))
        want = want - lr * np.ones(2)
        np.testing.assert_array_equal(w.detach().numpy(), want)
    assert len(runs) == 2


def test_a_function_that_is_always_different_ends_up_eager() -> None:
    model = Noisy()
    model.factor = 0  # type: ignore[assignment]
    f, runs = counted(lambda x: model(x) * model.factor)
    for i in range(500):
        model.factor = i  # type: ignore[assignment]
        assert f(np.ones(2)).tolist() == [3.0 * i] * 2
    assert len(runs) == 500
    assert len(f.programs) <= 4
    told = [line for line in f.log if "does not pay" in line]
    assert len(told) == 1
    assert "beside its arguments has changed: 'factor' of Noisy is 8 and was 7, once" in told[0]
    # The first recordings, and fewer and fewer after them.
    assert len(f.log) <= 14
    assert "runs eagerly, because recording does not pay" in f.explain(np.ones(2))
    # What no longer changes is recorded in the end.
    for _ in range(2000):
        assert f(np.ones(2)).tolist() == [3.0 * 499] * 2
    assert len(runs) < 1600


def test_values_that_take_another_way_each_time_end_up_eager() -> None:
    f, runs = counted(lambda x: fg.nansum(x))
    for i in range(300):
        x = np.ones(8)
        x[: i % 2] = np.nan
        assert f(x) == 8 - i % 2
    assert len(runs) < 20


def test_a_pause_keeps_to_its_signature() -> None:
    model = Noisy()
    f, _ = counted(lambda x: model(x) * model.factor)
    for i in range(30):
        model.factor = i  # type: ignore[assignment]
        f(np.ones(2))
    model.factor = 5  # type: ignore[assignment]
    assert f(np.ones(3)).tolist() == [15.0] * 3
    assert f(fg.ones(2)).tolist() == [15.0] * 2
    assert isinstance(f(np.ones(2)), fg.Tensor | np.ndarray)
    with fg.no_grad():
        assert f(np.ones(2)).tolist() == [15.0] * 2


def test_calls_that_run_eagerly_for_good_do_so_at_once() -> None:
    w = fg.tensor([2.0], requires_grad=True)
    history = w * 2.0
    f, runs = counted(lambda x: x * history)
    for n in range(1, 6):
        x = fg.ones(1, requires_grad=True)
        y = f(x)
        y.backward(retain_graph=True)
        assert x.grad.tolist() == [4.0]
        assert w.grad.tolist() == [2.0 * n]
    assert "closes over a tensor with a history" in f.explain(x)
    assert len(f.log) == 1
    assert len(runs) >= 5


def test_an_attribute_that_a_function_changes_before_it_calls_the_module() -> None:
    class Named(fg.nn.Module):
        kind = "a"

        def forward(self, x: Any) -> Any:
            return x * (2.0 if self.kind == "a" else 3.0)

    model = Named()

    def f(x: Any) -> Any:
        model.kind = "b" if model.kind == "a" else "a"
        return model(x)

    g, runs = counted(f)
    assert [g(np.ones(1))[0] for _ in range(7)] == [3.0, 2.0, 3.0, 2.0, 3.0, 2.0, 3.0]
    assert model.kind == "b"
    model.kind = "a"
    assert g(np.ones(1))[0] == 3.0
    assert len(runs) <= 3  # there was no attribute before the first call


def test_threads_share_the_programs() -> None:
    """They record, drop and forget programs of one function at once."""
    f = fg.compile(lambda x: (x * 2.0).sum())
    raised: list[BaseException] = []

    def work(seed: int) -> None:
        draw = np.random.default_rng(seed)
        try:
            for i in range(600):
                n = int(draw.integers(1, 30))
                assert f(np.full(n, float(seed))) == 2.0 * n * seed
                assert len(f.programs) < 40
                if i % 200 == 0:
                    f.clear()
        except BaseException as error:
            raised.append(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert raised == []
