"""Schedules of schedules: one after the other, or all at once.

Invariant: every schedule belongs to the same optimiser.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ferrograd.errors import ArgumentError, ArgumentTypeError
from ferrograd.optim._optimizer import Optimizer
from ferrograd.optim.lr_scheduler._plateau import ReduceLROnPlateau
from ferrograd.optim.lr_scheduler._schedule import LRScheduler, get_option, set_option


def _check_schedulers(op: str, optimizer: Optimizer | None, schedulers: Sequence[Any]) -> Optimizer:
    """The optimiser of the schedules."""
    if not schedulers:
        raise ArgumentError(f"{op}: there are no schedules; give at least one")
    for i, schedule in enumerate(schedulers):
        if not isinstance(schedule, LRScheduler):
            raise ArgumentTypeError(f"{op}: schedule {i} is a {type(schedule).__name__}")
        if isinstance(schedule, ReduceLROnPlateau):
            raise ArgumentError(
                f"{op}: schedule {i} is a ReduceLROnPlateau, whose step needs a metric; step it "
                "by itself"
            )
        optimizer = optimizer or schedule.optimizer
        if schedule.optimizer is not optimizer:
            raise ArgumentError(f"{op}: schedule {i} belongs to another optimiser; use one for all")
    assert optimizer is not None
    return optimizer


class SequentialLR(LRScheduler):
    """One schedule after another: `milestones` are the epochs at which the next one begins."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = _check_schedulers("SequentialLR", optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError(
                f"SequentialLR: {len(milestones)} milestones for {len(schedulers)} schedules; give "
                "one less than schedules"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        # Each schedule wrote the rates of its epoch 0 when it was made.
        _pop_arguments(schedulers)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Steps the schedule of the next epoch, which begins at 0 at its milestone."""
        if epoch is not None:
            raise ArgumentError("SequentialLR.step: it takes no epoch; step through the epochs")
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            schedule._step_to(0)
        else:
            schedule.step()
        self._last_lr = schedule.get_last_lr()


def _pop_arguments(schedulers: Sequence[Any]) -> None:
    for schedule in schedulers:
        if isinstance(schedule, SequentialLR | ChainedScheduler):
            _pop_arguments(schedule._schedulers)
        else:
            schedule.last_epoch -= 1


class ChainedScheduler(LRScheduler):
    """Applies all schedules at every step, each to the rate of the one before."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        self.optimizer = _check_schedulers("ChainedScheduler", optimizer, schedulers)
        self._schedulers = list(schedulers)
        self._last_lr = get_option(self.optimizer, "lr")

    def step(self, epoch: int | None = None) -> None:
        """Steps every schedule."""
        if epoch is not None:
            raise ArgumentError("ChainedScheduler.step: it takes no epoch; step through the epochs")
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = get_option(self.optimizer, "lr")
