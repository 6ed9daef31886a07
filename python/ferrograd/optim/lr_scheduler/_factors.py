"""Schedules that are a formula of the epoch: factors, steps, lines, curves.

Invariant: each follows from the rate of the epoch before, as PyTorch's do, so that schedules on one
optimiser multiply; `step(epoch)` takes the closed form.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ferrograd._tensor.finite_sequences import convert_to_list
from ferrograd.errors import ArgumentError, ArgumentTypeError
from ferrograd.optim._optimizer import Optimizer
from ferrograd.optim.lr_scheduler._schedule import LRScheduler, Rates

Factor = Callable[[int], float]


def _list_lambdas(op: str, optimizer: Optimizer, given: Any) -> list[Factor]:
    count = len(optimizer.param_groups)
    functions = list(given) if isinstance(given, list | tuple) else [given] * count
    if len(functions) != count:
        raise ArgumentError(f"{op}: {len(functions)} functions were given for {count} groups")
    for function in functions:
        if not callable(function):
            raise ArgumentTypeError(
                f"{op}: lr_lambda is a {type(function).__name__}; pass a function of the epoch"
            )
    return functions


def check_range(op: str, name: str, value: float, least: float, most: float) -> None:
    """Raises for a number outside a range."""
    if not least <= value <= most:
        raise ArgumentError(f"{op}: {name} is {value}; give a number from {least:g} to {most:g}")


def _check_positive(op: str, name: str, value: Any) -> Any:
    """A number of epochs above 0."""
    if not value > 0:
        raise ArgumentError(f"{op}: {name} is {value!r}; give a number above 0")
    return value


class LambdaLR(LRScheduler):
    """The initial rate times `lr_lambda(epoch)`; a list has a function for each group.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.SGD([w], lr=0.5)
    >>> schedule = fg.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _list_lambdas("LambdaLR", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The initial rates times the functions of the epoch."""
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in pairs]


class MultiplicativeLR(LRScheduler):
    """The rate of the epoch before times `lr_lambda(epoch)`, from epoch 1 on."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _list_lambdas("MultiplicativeLR", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates times the functions of the epoch."""
        if self._is_initial:
            return self._get_current_lr()
        pairs = zip(self._get_current_lr(), self.lr_lambdas, strict=True)
        return [rate * function(self.last_epoch) for rate, function in pairs]


class StepLR(LRScheduler):
    """The rate times `gamma` at every `step_size`-th epoch."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = _check_positive("StepLR", "step_size", step_size), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates, multiplied at the epochs that `step_size` divides."""
        due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self._scale_current_lr(self.gamma) if due else self._get_current_lr()

    def closed_form(self) -> Rates:
        """`base gamma^⌊epoch / step_size⌋`."""
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each of the epochs `milestones`."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones: Counter[int] = Counter(
            convert_to_list("MultiStepLR", "milestones", milestones)
        )
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates, multiplied as often as the epoch is among the milestones."""
        often = self.milestones[self.last_epoch]
        return self._scale_current_lr(self.gamma**often) if often else self._get_current_lr()

    def closed_form(self) -> Rates:
        """`base gamma^(milestones so far)`."""
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state."""
        super().load_state_dict(state_dict)
        self.milestones = Counter(self.milestones)


class ConstantLR(LRScheduler):
    """The rate times `factor` until epoch `total_iters`."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        check_range("ConstantLR", "factor", factor, 0.0, 1.0)
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates, multiplied at epoch 0 and divided at `total_iters`."""
        if self.last_epoch == 0:
            return self._scale_current_lr(self.factor)
        return (
            self._scale_current_lr(1.0 / self.factor)
            if self.last_epoch == self.total_iters
            else self._get_current_lr()
        )

    def closed_form(self) -> Rates:
        """`base factor`, and base from `total_iters` on."""
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that changes from `start_factor` to `end_factor` in `total_iters`."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        check_range("LinearLR", "start_factor", start_factor, 0.0, 1.0)
        if start_factor == 0.0:
            raise ArgumentError("LinearLR: start_factor is 0; give a number above 0")
        check_range("LinearLR", "end_factor", end_factor, 0.0, 1.0)
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates times the quotient of this epoch's factor and the last one's."""
        if self.last_epoch == 0:
            return self._scale_current_lr(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._get_current_lr()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._scale_current_lr(1.0 + rise / before)

    def closed_form(self) -> Rates:
        """`base (start + (end - start) epoch / total_iters)`, and `base end` afterwards."""
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * share
        return [base * factor for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times `gamma` at every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates times `gamma`."""
        return self._get_current_lr() if self._is_initial else self._scale_current_lr(self.gamma)

    def closed_form(self) -> Rates:
        """`base gamma^epoch`."""
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate falls to 0 at `total_iters` as `(1 - epoch / total_iters)^power`."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates times the quotient of this epoch's factor and the last one's."""
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._get_current_lr()
        now = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._scale_current_lr((now / before) ** self.power)

    def closed_form(self) -> Rates:
        """`base (1 - epoch / total_iters)^power`, and 0 afterwards."""
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (1.0 - share) ** self.power for base in self.base_lrs]


def cosine(low: Any, high: Any, share: float) -> Any:
    """Half a period of a cosine from `high` at 0 to `low` at 1."""
    return low + (high - low) * (1.0 + math.cos(math.pi * share)) / 2.0


class CosineAnnealingLR(LRScheduler):
    """The rate falls to `eta_min` at epoch `T_max` along half a cosine, and rises again.

    Source: Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2017,
    without the restarts.
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = _check_positive("CosineAnnealingLR", "T_max", T_max), eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates above `eta_min`, times the quotient of this epoch's cosine and the last's."""
        if self._is_initial:
            return self._get_current_lr()
        if self._step_count == 1 and self.last_epoch > 0:
            return self.closed_form()
        turn = math.pi / self.T_max
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1.0 - math.cos(turn)) / 2.0
            pairs = zip(self._get_current_lr(), self.base_lrs, strict=True)
            return [rate + (base - self.eta_min) * rise for rate, base in pairs]
        now = 1.0 + math.cos(turn * self.last_epoch)
        before = 1.0 + math.cos(turn * (self.last_epoch - 1))
        low = self.eta_min
        return [now / before * (rate - low) + low for rate in self._get_current_lr()]

    def closed_form(self) -> Rates:
        """`eta_min + (base - eta_min) (1 + cos(π epoch / T_max)) / 2`."""
        share = self.last_epoch / self.T_max
        return [cosine(self.eta_min, base, share) for base in self.base_lrs]
