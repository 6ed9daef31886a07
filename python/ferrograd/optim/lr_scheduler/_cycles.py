"""Cyclic schedules: warm restarts, triangles, one cycle.

Invariant: rates depend only on the epoch. The momentum of a group is its `momentum` option, or the
first of its `betas`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ferrograd.errors import ArgumentError
from ferrograd.optim._check_options import check_choice
from ferrograd.optim._optimizer import Optimizer
from ferrograd.optim.lr_scheduler._factors import check_range, cosine
from ferrograd.optim.lr_scheduler._schedule import (
    LRScheduler,
    Rates,
    check_optimizer,
    expand_to_groups,
    set_option,
)


def _check_integer(op: str, name: str, value: Any, least: int = 1) -> None:
    if not isinstance(value, int) or value < least:
        raise ArgumentError(f"{op}: {name} is {value!r}; give a whole number from {least} on")


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines from the initial rate to `eta_min`, of `T_0` epochs, each `T_mult` as long.

    `step(epoch)` takes fractions of epochs.
    Source: Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2017.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        _check_integer("CosineAnnealingWarmRestarts", "T_0", T_0)
        _check_integer("CosineAnnealingWarmRestarts", "T_mult", T_mult)
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates of cosine annealing at the current position in the period."""
        return [cosine(self.eta_min, base, self.T_cur / self.T_i) for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Moves to the next epoch, or to a given one, which may be fractional."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            self._find_period(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_lr(self.get_lr())

    def _find_period(self, epoch: float) -> None:
        """Finds the period that an epoch is in."""
        if epoch < 0:
            raise ArgumentError(
                f"CosineAnnealingWarmRestarts.step: epoch is {epoch}; give 0 or more"
            )
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            periods = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            begin = self.T_0 * (self.T_mult**periods - 1) / (self.T_mult - 1)
            self.T_cur, self.T_i = epoch - begin, self.T_0 * self.T_mult**periods


class _CyclicScheduler(LRScheduler):
    """Base of the schedules that change momentum against the rate."""

    def _init_momentum(
        self, optimizer: Optimizer, enabled: bool, low: Any, high: Any, fresh: bool
    ) -> None:
        """Stores the limits of the momentum and starts at the maximum."""
        op = type(self).__name__
        self.cycle_momentum = enabled
        if not enabled:
            return
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ArgumentError(
                f"{op}: the optimiser has no momentum and no betas; pass cycle_momentum=False"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        self.base_momentums = expand_to_groups(op, "base_momentum", optimizer, low)
        self.max_momentums = expand_to_groups(op, "max_momentum", optimizer, high)
        if not fresh:
            return
        ends = zip(self.base_momentums, self.max_momentums, strict=True)
        for group, (base, most) in zip(optimizer.param_groups, ends, strict=True):
            group["base_momentum"], group["max_momentum"] = base, most
            self._set_momentum(group, most)

    def _set_momentum(self, group: dict[str, Any], momentum: Any) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_CyclicScheduler):
    """Triangles between `base_lr` and `max_lr`, with momentum in the opposite direction.

    A cycle rises for `step_size_up` steps and falls for `step_size_down`. `mode` controls the
    height: `"triangular"` keeps it, `"triangular2"` halves it in each cycle, `"exp_range"`
    multiplies it by `gamma` in each step. `scale_fn` is a custom rule, a function of the cycle or
    of the step, as selected by `scale_mode`.
    Source: Smith, Cyclical Learning Rates for Training Neural Networks, 2017.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer("CyclicLR", optimizer)
        if scale_fn is None:
            check_choice("CyclicLR", "mode", mode, ("triangular", "triangular2", "exp_range"))
        base_lrs = expand_to_groups("CyclicLR", "base_lr", optimizer, base_lr)
        self.max_lrs = expand_to_groups("CyclicLR", "max_lr", optimizer, max_lr)
        fresh = last_epoch == -1
        self._init_momentum(optimizer, cycle_momentum, base_momentum, max_momentum, fresh)
        if fresh:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_option(group, "lr", rate)
        down = step_size_up if step_size_down is None else step_size_down
        if not step_size_up > 0 or down < 0:
            raise ArgumentError(
                f"CyclicLR: step_size_up is {step_size_up} and step_size_down {down}; give more"
                " than 0, and at least 0"
            )
        self.total_size = float(step_size_up) + float(down)
        self.step_ratio = float(step_size_up) / self.total_size
        self.mode, self.gamma = mode, gamma
        self._scale_fn = scale_fn
        if scale_fn is None:
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode = scale_mode
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The factor of the height of a triangle, at a cycle or a step."""
        if self._scale_fn is not None:
            return self._scale_fn(x)
        if self.mode == "triangular":
            return 1.0
        return float(0.5 ** (x - 1) if self.mode == "triangular2" else self.gamma**x)

    def get_lr(self) -> Rates:
        """The rates of the step; the momentum is written at once."""
        done = self.last_epoch / self.total_size
        cycle = math.floor(1 + done)
        x = 1.0 + done - cycle
        rises = x <= self.step_ratio
        height = x / self.step_ratio if rises else (x - 1.0) / (self.step_ratio - 1.0)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            ends = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (base, most) in zip(self.optimizer.param_groups, ends, strict=True):
                self._set_momentum(group, most - (most - base) * height)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [base + (most - base) * height for base, most in pairs]


class OneCycleLR(_CyclicScheduler):
    """One rise from `max_lr / div_factor` to `max_lr` and a fall far below, over `total_steps`.

    The rise takes the fraction `pct_start` of the steps; the fall ends at the initial rate divided
    by `final_div_factor`. With `three_phase` it first falls to the initial rate in as many steps as
    it rose. Momentum moves from `max_momentum` to `base_momentum` and back. Instead of
    `total_steps`, pass `epochs` and `steps_per_epoch`.
    Source: Smith and Topin, Super-Convergence, 2018.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer("OneCycleLR", optimizer)
        self.total_steps = _compute_total_steps(total_steps, epochs, steps_per_epoch)
        check_range("OneCycleLR", "pct_start", pct_start, 0.0, 1.0)
        check_choice("OneCycleLR", "anneal_strategy", anneal_strategy, ("cos", "linear"))
        self.anneal_strategy = anneal_strategy
        #: The end of each phase, and the rates and momenta at both ends.
        self._phases: list[tuple[float, str, str, str, str]] = []
        top, rise = float(pct_start * self.total_steps), ("max_momentum", "base_momentum")
        self._phases.append((top - 1.0, "initial_lr", "max_lr", *rise))
        if three_phase:
            self._phases.append((2.0 * top - 2.0, "max_lr", "initial_lr", *rise[::-1]))
            last = ("initial_lr", "min_lr", "max_momentum", "max_momentum")
        else:
            last = ("max_lr", "min_lr", *rise[::-1])
        self._phases.append((self.total_steps - 1.0, *last))
        fresh = last_epoch == -1
        if fresh:
            rates = expand_to_groups("OneCycleLR", "max_lr", optimizer, max_lr)
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["initial_lr"], group["max_lr"] = rate / div_factor, rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self._init_momentum(optimizer, cycle_momentum, base_momentum, max_momentum, fresh)
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start: Any, end: Any, share: float) -> Any:
        if self.anneal_strategy == "cos":
            return cosine(end, start, share)
        return start + (end - start) * share

    def get_lr(self) -> Rates:
        """The rates of the step; the momentum is written at once."""
        step, begin = self.last_epoch, 0.0
        if step > self.total_steps:
            raise ArgumentError(
                f"OneCycleLR.step: this is step {step} of {self.total_steps}; make a schedule of "
                "more total_steps"
            )
        for phase in self._phases:
            end = phase[0]
            if step <= end or phase is self._phases[-1]:
                break
            begin = end
        share = (step - begin) / (end - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase[1]], group[phase[2]], share))
            if self.cycle_momentum:
                self._set_momentum(group, self._anneal(group[phase[3]], group[phase[4]], share))
        return rates


def _compute_total_steps(total: int | None, epochs: int | None, per_epoch: int | None) -> int:
    """The number of steps of one cycle."""
    if total is not None:
        _check_integer("OneCycleLR", "total_steps", total)
        return total
    if epochs is None or per_epoch is None:
        raise ArgumentError(
            "OneCycleLR: there are no steps; give total_steps, or epochs and steps_per_epoch"
        )
    _check_integer("OneCycleLR", "epochs", epochs)
    _check_integer("OneCycleLR", "steps_per_epoch", per_epoch)
    return epochs * per_epoch
