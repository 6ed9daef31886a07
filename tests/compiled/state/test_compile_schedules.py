"""Schedules that are stepped inside a compiled step: rates and epochs are those of an eager one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

KINDS: dict[str, Any] = {
    "step": lambda s, o: s.StepLR(o, 4, 0.5),
    "multistep": lambda s, o: s.MultiStepLR(o, [2, 5], 0.5),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 12),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5),
    "linear": lambda s, o: s.LinearLR(o, 0.1, 1.0, 6),
    "lambda": lambda s, o: s.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
    "cycle": lambda s, o: s.OneCycleLR(o, 0.2, total_steps=15),
    "sequence": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 3), s.StepLR(o, 2, 0.5)], [3]
    ),
    "chain": lambda s, o: s.ChainedScheduler([s.StepLR(o, 4, 0.5), s.ExponentialLR(o, 0.9)]),
    "plateau": lambda s, o: s.ReduceLROnPlateau(o, patience=3),
}


def trained(kind: str, history: bool, compiled: bool) -> list[float]:
    w = fg.tensor([1.0, 2.0], requires_grad=True)
    optimizer = fg.optim.SGD([w], lr=0.1)
    schedule = KINDS[kind](fg.optim.lr_scheduler, optimizer)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = ((w * x) ** 2).sum()
        loss.backward()
        optimizer.step()
        schedule.step(*((1.0,) if kind == "plateau" else ()))
        return loss if history else loss.detach()

    run = fg.compile(step) if compiled else step
    losses = [run(fg.tensor(0.5 + i / 9)).item() for i in range(12)]
    rate = optimizer.param_groups[0]["lr"]
    return [*losses, *w.tolist(), float(rate), getattr(schedule, "last_epoch", 0)]


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_compiled_step_follows_its_schedule(kind: str, history: bool) -> None:
    expected = trained(kind, history, compiled=False)
    np.testing.assert_array_equal(trained(kind, history, compiled=True), expected)
