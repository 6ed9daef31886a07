"""State that a function makes in its first calls, before it can be recorded.

State of the first call is in `test_compile_training.py`.
"""

from typing import Any

import numpy as np

import ferrograd as fg
from test_compile import same_bits


def test_state_may_come_late() -> None:
    class Late:
        def __init__(self) -> None:
            self.state: dict[str, Any] = {}

        def __call__(self, x: Any) -> Any:
            state = self.state
            if "mean" not in state:
                state["mean"] = x * 0.0
            elif "momentum" not in state:
                state["momentum"] = x - state["mean"]
            else:
                state["momentum"].mul_(0.5).add_(x)
            state["mean"].lerp_(x, 0.5)
            return state["mean"] + state.get("momentum", 0.0)

    eager, late = Late(), Late()
    compiled = fg.compile(late)
    for i in range(6):
        x = fg.tensor([1.0, 4.0 + i])
        same_bits(compiled(x), eager(x))
    assert len(compiled.programs) == 1
    assert [reason for reason in compiled.log if "made state" in reason] == [compiled.log[1]] * 2
    bound = fg.compile(Late())
    x = np.array([1.0, 2.0])
    run = bound.bind(x)
    eager = Late()
    for _ in range(3):
        eager(fg.tensor(x))
    np.testing.assert_array_equal(run(), eager(fg.tensor(x)).numpy())


def test_a_late_buffer_and_a_late_momentum_are_state() -> None:
    class Scaled(fg.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = fg.nn.Parameter([1.0, 2.0])
            self.first: Any = None
            self.second: Any = None

        def forward(self, x: Any) -> Any:
            if self.first is None:
                self.first = x.detach() * 1.0
            elif self.second is None:
                self.second = x.detach() + self.first
            return x * self.weight * (self.first if self.second is None else self.second)

    def trained(wrap: Any) -> list[Any]:
        model = Scaled()
        optimizer = fg.optim.SGD(model.parameters(), lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = model(x).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = wrap(step)
        losses = []
        for i in range(8):
            if i == 3:
                optimizer.param_groups[0]["momentum"] = 0.9
            losses.append(step(fg.tensor([1.0, 2.0 + i])))
        return [*losses, model.weight.detach(), model.second]

    for mine, theirs in zip(trained(fg.compile), trained(lambda f: f), strict=True):
        same_bits(mine, theirs)
