"""`ReduceLROnPlateau`: the rate falls when a metric stops improving.

Invariant: it depends on the metrics, not on epochs.
"""

from __future__ import annotations

import math
from typing import Any, SupportsFloat

from ferrograd.errors import ArgumentError
from ferrograd.optim._check_options import check_choice
from ferrograd.optim._optimizer import Optimizer
from ferrograd.optim.lr_scheduler._schedule import (
    LRScheduler,
    check_optimizer,
    expand_to_groups,
    get_option,
    set_option,
)


class ReduceLROnPlateau(LRScheduler):
    """`lr *= factor` after more than `patience` epochs without an improvement of the metric.

    A metric improves that is below (`mode="max"`: above) the best one by `threshold`: as a share
    of it, or absolutely with `threshold_mode="abs"`. For `cooldown` epochs after that nothing is
    counted. The rate stays at least `min_lr`, and changes by more than `eps` or not at all.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.SGD([w], lr=1.0)
    >>> schedule = fg.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0.0,
        eps: float = 1e-8,
    ) -> None:
        check_optimizer("ReduceLROnPlateau", optimizer)
        if not factor < 1.0:
            raise ArgumentError(f"ReduceLROnPlateau: factor is {factor}; give a number below 1")
        check_choice("ReduceLROnPlateau", "mode", mode, ("min", "max"))
        check_choice("ReduceLROnPlateau", "threshold_mode", threshold_mode, ("rel", "abs"))
        expand_to_groups("ReduceLROnPlateau", "min_lr", optimizer, min_lr)
        self.optimizer = optimizer
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.min_lr, self.eps = cooldown, min_lr, eps
        self.last_epoch = 0
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0
        self._last_lr = get_option(optimizer, "lr")

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Passes the metric of an epoch, and reduces the rates if it has stopped improving."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = get_option(self.optimizer, "lr")

    def _reduce_lr(self) -> None:
        least = expand_to_groups("ReduceLROnPlateau.step", "min_lr", self.optimizer, self.min_lr)
        for group, low in zip(self.optimizer.param_groups, least, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, low)
            if old - new > self.eps:
                set_option(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs are not counted yet."""
        return self.cooldown_counter > 0

    def _is_better(self, current: float) -> bool:
        sign = 1.0 if self.mode == "max" else -1.0
        relative = self.threshold_mode == "rel"
        if relative:
            return sign * current > sign * (self.best * (1.0 + sign * self.threshold))
        return sign * current > sign * (self.best + sign * self.threshold)
