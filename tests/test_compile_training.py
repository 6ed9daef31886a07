"""Compiled training steps: parameters and gradients of leaves are those of eager steps.

Owns: effects beside results. Everything else is in `test_compile.py`.
"""

from typing import Any

import numpy as np

import ferrograd as fg
from test_compile import same_bits


def train(compiled: bool, momentum: float = 0.0) -> list[Any]:
    fg.manual_seed(3)
    model = fg.nn.Sequential(fg.nn.Linear(4, 8), fg.nn.Tanh(), fg.nn.Linear(8, 3))
    optimizer = fg.optim.SGD(model.parameters(), lr=0.1, momentum=momentum)

    def step(x: Any, target: Any) -> Any:
        optimizer.zero_grad()
        loss = fg.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = fg.compile(step) if compiled else step
    rng = np.random.default_rng(0)
    losses = [
        run(fg.tensor(rng.standard_normal((5, 4))), fg.tensor(rng.integers(0, 3, 5)))
        for _ in range(12)
    ]
    return [*losses, *model.parameters(), *(p.grad for p in model.parameters())]


def test_training_steps_replay() -> None:
    for eager, replayed in zip(train(False), train(True), strict=True):
        same_bits(replayed.detach(), eager.detach())


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
