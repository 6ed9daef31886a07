"""Compiled training steps: parameters, gradients and state are those of eager steps."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import CompileError
from test_compile import same_bits

Make = Callable[[fg.nn.Module], fg.optim.Optimizer]


class Run:
    """A model, its optimiser and a training step, compiled or not."""

    def __init__(self, make: Make, compiled: bool, dtype: str = "float64") -> None:
        fg.manual_seed(3)
        layers = fg.nn.Linear(4, 8), fg.nn.Tanh(), fg.nn.Linear(8, 3)
        self.model = fg.nn.Sequential(*layers).to(dtype)
        self.optimizer = make(self.model)
        self.step = fg.compile(self.plain_step) if compiled else self.plain_step
        self.losses: list[Any] = []
        self.rng = np.random.default_rng(0)
        self.dtype = dtype

    def plain_step(self, x: Any, target: Any) -> Any:
        self.optimizer.zero_grad()
        loss = fg.nn.functional.cross_entropy(self.model(x), target)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def __call__(self, count: int) -> None:
        for _ in range(count):
            x = fg.tensor(self.rng.standard_normal((5, 4)), dtype=self.dtype)
            self.losses.append(self.step(x, fg.tensor(self.rng.integers(0, 3, 5))))

    def everything(self) -> list[Any]:
        state = self.optimizer.state_dict()["state"]
        kept = [value for entry in state.values() for value in entry.values()]
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        return [*self.losses, *self.model.parameters(), *grads, *kept]


def same_runs(make: Make, *change: Callable[[Run], Any], dtype: str = "float64") -> Run:
    """Holds a compiled run to an eager one; each change happens before another seven steps."""
    runs = [Run(make, compiled, dtype) for compiled in (False, True)]
    for run in runs:
        run(20)
        for step in change:
            step(run)
            run(7)
    eager, replayed = runs
    for a, b in zip(eager.everything(), replayed.everything(), strict=True):
        same_bits(b.detach(), a.detach())
    return replayed


OPTIMISERS: dict[str, Make] = {
    "SGD": lambda m: fg.optim.SGD(m.parameters(), lr=0.1),
    "momentum": lambda m: fg.optim.SGD(m.parameters(), lr=0.1, momentum=0.9),
    "dampening": lambda m: fg.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, dampening=0.3),
    "nesterov": lambda m: fg.optim.SGD(
        m.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1, maximize=True
    ),
    "Adam": lambda m: fg.optim.Adam(m.parameters(), lr=0.05),
    "Adam decay": lambda m: fg.optim.Adam(m.parameters(), lr=0.05, weight_decay=0.1, maximize=True),
    "amsgrad": lambda m: fg.optim.Adam(m.parameters(), lr=0.05, amsgrad=True),
    "AdamW": lambda m: fg.optim.AdamW(m.parameters(), lr=0.05),
    "groups": lambda m: fg.optim.AdamW(
        [
            {"params": m[0].parameters(), "lr": 0.01},
            {"params": m[2].parameters(), "weight_decay": 0.0, "betas": (0.5, 0.9)},
        ],
        lr=0.1,
    ),
    "NAdam": lambda m: fg.optim.NAdam(m.parameters(), lr=0.05, weight_decay=0.1),
    "RAdam": lambda m: fg.optim.RAdam(m.parameters(), lr=0.05, decoupled_weight_decay=True),
    "Adamax": lambda m: fg.optim.Adamax(m.parameters(), lr=0.05, maximize=True),
    "Adagrad": lambda m: fg.optim.Adagrad(m.parameters(), lr=0.05, lr_decay=0.1),
    "Adadelta": lambda m: fg.optim.Adadelta(m.parameters(), weight_decay=0.1),
    "RMSprop": lambda m: fg.optim.RMSprop(m.parameters(), lr=0.05, momentum=0.5, centered=True),
    "RMSprop plain": lambda m: fg.optim.RMSprop(m.parameters(), lr=0.05, weight_decay=0.1),
    "RMSprop momentum": lambda m: fg.optim.RMSprop(m.parameters(), lr=0.05, momentum=0.5),
    "RMSprop centered": lambda m: fg.optim.RMSprop(m.parameters(), lr=0.05, centered=True),
    "ASGD": lambda m: fg.optim.ASGD(m.parameters(), lr=0.05, t0=10),
    "Rprop": lambda m: fg.optim.Rprop(m.parameters()),
    "Muon": lambda m: fg.optim.Muon([p for p in m.parameters() if p.ndim == 2], lr=0.05),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_training_steps_replay(name: str, dtype: str) -> None:
    assert len(same_runs(OPTIMISERS[name], dtype=dtype).step.programs) == 1


@pytest.mark.parametrize("name", [name for name in OPTIMISERS if hasattr(fg.optim, name)])
def test_a_rate_that_is_a_tensor_is_taken_anew(name: str) -> None:
    def make(model: fg.nn.Module) -> fg.optim.Optimizer:
        params = [p for p in model.parameters() if p.ndim == 2 or name != "Muon"]
        return getattr(fg.optim, name)(params, lr=fg.tensor(0.1))  # type: ignore[no-any-return]

    run = same_runs(
        make,
        lambda run: run.optimizer.param_groups[0]["lr"].fill_(0.02),
        lambda run: run.optimizer.param_groups[0]["lr"].fill_(0.0),
    )
    steps = run.step.programs[0].steps()
    run.optimizer.param_groups[0]["lr"].fill_(0.01)
    run(1)
    assert run.step.programs[0].steps() == steps


def halve(run: Run) -> None:
    run.optimizer.param_groups[0]["lr"] *= 0.5


def reload(run: Run) -> None:
    state = run.optimizer.state_dict()
    run(3)
    run.optimizer.load_state_dict(state)


def reload_model(run: Run) -> None:
    state = {key: value.clone() for key, value in run.model.state_dict().items()}
    run(3)
    run.model.load_state_dict(state)


def drop_a_state(run: Run) -> None:
    del run.optimizer.state[next(run.model.parameters())]


def freeze(run: Run) -> None:
    run.model[0].requires_grad_(False)


def thaw(run: Run) -> None:
    run.model[0].requires_grad_(True)


def replace(run: Run) -> None:
    run.model[2].weight = fg.nn.Parameter(np.ones((8, 3)))


def replace_a_module(run: Run) -> None:
    fg.manual_seed(5)
    run.model.register_module("2", fg.nn.Linear(8, 3))


def add_a_module(run: Run) -> None:
    run.model.append(fg.nn.ReLU())


def add_a_group(run: Run) -> None:
    run.extra = fg.tensor([1.0], requires_grad=True)  # type: ignore[attr-defined]
    run.extra.grad = fg.tensor([1.0])  # type: ignore[attr-defined]
    run.optimizer.add_param_group({"params": [run.extra]})  # type: ignore[attr-defined]


CHANGES = {
    f.__name__: (f,)
    for f in (
        halve,
        reload,
        reload_model,
        drop_a_state,
        replace,
        replace_a_module,
        add_a_module,
        add_a_group,
    )
} | {"freeze and thaw": (freeze, thaw)}


@pytest.mark.parametrize("name", ["momentum", "Adam"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_between_calls_is_seen(name: str, change: str) -> None:
    same_runs(OPTIMISERS[name], *CHANGES[change])


def test_training_and_evaluation_are_told_apart() -> None:
    class Dropout(fg.nn.Module):
        def forward(self, x: Any) -> Any:
            return fg.nn.functional.dropout(x, 0.5, self.training)

    layer = Dropout()
    f = fg.compile(lambda x: layer(x) * 2)
    for training in (False, True, False):
        layer.train(training)
        for _ in range(2):
            assert set(f(fg.ones(50)).tolist()) == ({0.0, 4.0} if training else {2.0})


def test_members_of_modules_are_seen() -> None:
    class Scale(fg.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = 2.0

        def forward(self, x: Any) -> Any:
            return x * self.factor

    scale = Scale()
    f = fg.compile(lambda x: scale(x))
    g = fg.compile(lambda x: x @ linear.weight)
    linear = fg.nn.Linear(2, 2)
    linear.requires_grad_(False)
    for factor in (2.0, 3.0):
        scale.factor = factor
        linear.weight = fg.nn.Parameter(np.eye(2) * factor, requires_grad=False)
        for _ in range(2):
            assert f(fg.ones(1)).tolist() == [factor]
            assert g(fg.ones(2)).tolist() == [factor] * 2


def test_the_first_call_may_keep_what_it_computes() -> None:
    state: dict[str, Any] = {}

    def f(x: Any) -> Any:
        if "mean" not in state:
            state["mean"], state["n"] = x * 0.0, fg.zeros(())
        state["mean"].lerp_(x, 0.5)
        state["n"].add_(1.0)
        return state["mean"] + state["n"]

    compiled = fg.compile(f)
    assert compiled(fg.ones(2)).tolist() == [1.5, 1.5]
    assert compiled.programs == ()
    assert "the next call is recorded" in compiled.explain(fg.ones(2))
    for i in range(2, 5):
        assert compiled(fg.ones(2)).tolist() == [i + 1 - 0.5**i] * 2
    assert len(compiled.programs) == 1
    assert state["n"].item() == 4.0


def test_a_model_may_keep_what_it_computes_at_its_first_call() -> None:
    class Centred(fg.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = fg.nn.Parameter([1.0, 2.0])
            self.middle: Any = None

        def forward(self, x: Any) -> Any:
            if self.middle is None:
                self.middle = x.detach().mean()
            return (x - self.middle) * self.weight

    eager, module = Centred(), Centred()
    compiled = fg.compile(module)
    for i in range(4):
        x = fg.tensor([1.0, 4.0 + i])
        for f in (eager, compiled):
            f(x).sum().backward()
        same_bits(module.weight.grad, eager.weight.grad)
    assert len(compiled.programs) == 1
    module.middle = None  # noticed: the function runs again
    same_bits(compiled(x).detach(), module(x).detach())
    assert module.middle.item() == 4.0


def test_a_recording_that_fails_leaves_the_state_of_optimisers() -> None:
    w = fg.tensor([1.0, 2.0], requires_grad=True)
    optimizer = fg.optim.Adam([w], lr=0.1)

    def step(x: Any) -> Any:
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    with pytest.raises(CompileError):
        fg.compile(step)(fg.ones(2))
    assert w.tolist() == [1.0, 2.0]
    assert w.grad is None
    assert optimizer.state == {}


def test_a_step_that_returns_its_history_is_made_once() -> None:
    w = fg.tensor([1.0], requires_grad=True)
    optimizer = fg.optim.Adam([w], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss

    fg.compile(step)(fg.ones(1))
    assert optimizer.state[w]["step"].item() == 1.0


def test_gradients_accumulate_as_eagerly() -> None:
    def losses(run: Any) -> Any:
        w = fg.tensor([1.0, 2.0], requires_grad=True)

        def step(x: Any) -> Any:
            loss = (w * x).sum()
            loss.backward()
            return loss.detach()

        f = fg.compile(step) if run else step
        found = []
        for i in range(8):
            f(fg.tensor([i, 1.0]))
            found.append(w.grad.numpy().copy())
            if i in (3, 5):
                w.grad = None
        return found

    for a, b in zip(losses(False), losses(True), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_bound_step_notices_what_changed() -> None:
    w = fg.tensor([1.0, 2.0], requires_grad=True)
    optimizer = fg.optim.Adam([w], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = fg.compile(step).bind(fg.ones(2))  # makes the state, then records
    assert optimizer.state[w]["step"].item() == 2.0
    run()
    assert optimizer.state[w]["step"].item() == 3.0
    optimizer.param_groups[0]["lr"] = 0.2
    with pytest.raises(CompileError, match="bind it again"):
        run()
    assert optimizer.state[w]["step"].item() == 3.0


def test_hooks_that_come_and_go() -> None:
    layer = fg.nn.Linear(2, 2)
    compiled = fg.compile(layer)
    x = fg.ones(1, 2)
    handles = []

    def agree() -> None:
        for _ in range(3):
            np.testing.assert_array_equal(compiled(x).detach().numpy(), layer(x).detach().numpy())

    agree()
    handles.append(layer.register_forward_hook(lambda module, args, result: result * 2.0))
    agree()
    handles.append(layer.register_forward_hook(lambda module, args, result: result + 1.0))
    agree()
    for handle in handles:
        handle.remove()
        agree()
