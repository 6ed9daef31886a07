"""Averages of weights: `AveragedModel`, its schedule `SWALR`, and statistics for it.

Invariant: an average is changed in place, so that a compiled model uses it. Source: Izmailov et
al., Averaging Weights Leads to Wider Optima and Better Generalization, 2018.
"""

from __future__ import annotations

import copy as _copy
from collections.abc import Callable as _Callable, Iterable as _Iterable
from typing import Any as _Any

from ferrograd._core import (
    Tensor as _Tensor,
    _is_recording_program,
    tensor as _tensor,
    where as _where,
)
from ferrograd._tensor.modes import no_grad as _no_grad
from ferrograd.errors import ArgumentError as _ArgumentError
from ferrograd.nn._module import Module as _Module
from ferrograd.optim._check_options import check_choice as _one_of
from ferrograd.optim._optimizer import Optimizer as _Optimizer
from ferrograd.optim.lr_scheduler._factors import cosine as _cosine
from ferrograd.optim.lr_scheduler._schedule import (
    LRScheduler as _LRScheduler,
    Rates as _Rates,
    expand_to_groups as _for_groups,
)

_MultiAvgFn = _Callable[[list[_Tensor], list[_Tensor], _Tensor], None]
_AvgFn = _Callable[[_Tensor, _Tensor, _Tensor], _Tensor]


def _check_decay(decay: float) -> float:
    if not 0.0 <= decay <= 1.0:
        raise _ArgumentError(f"get_ema_avg_fn: decay is {decay}; give a number from 0 to 1")
    return decay


def get_ema_avg_fn(decay: float = 0.999) -> _AvgFn:
    """`average = decay average + (1 - decay) parameter`, for `avg_fn`."""
    _check_decay(decay)

    def average(averaged: _Tensor, current: _Tensor, count: _Tensor) -> _Tensor:
        return decay * averaged + (1.0 - decay) * current

    return average


def get_swa_avg_fn() -> _AvgFn:
    """`average += (parameter - average) / (count + 1)`, for `avg_fn`."""

    def average(averaged: _Tensor, current: _Tensor, count: _Tensor) -> _Tensor:
        return averaged + (current - averaged) / (count + 1.0).astype(averaged.dtype)

    return average


def _apply_to_each(average: _AvgFn) -> _MultiAvgFn:
    def multi_avg_fn(averaged: list[_Tensor], current: list[_Tensor], count: _Tensor) -> None:
        for mean, p in zip(averaged, current, strict=True):
            mean.copy_(average(mean, p, count))

    return multi_avg_fn


def get_ema_multi_avg_fn(decay: float = 0.999) -> _MultiAvgFn:
    """`average += (1 - decay) (parameter - average)`, for `multi_avg_fn`."""
    weight = 1.0 - _check_decay(decay)

    def multi_avg_fn(averaged: list[_Tensor], current: list[_Tensor], count: _Tensor) -> None:
        for mean, p in zip(averaged, current, strict=True):
            if mean.dtype.kind in "fc":
                mean.lerp_(p, weight)
            else:
                mean.copy_(mean * decay + p * weight)

    return multi_avg_fn


def get_swa_multi_avg_fn() -> _MultiAvgFn:
    """`average += (parameter - average) / (count + 1)`, for `multi_avg_fn`."""
    return _apply_to_each(get_swa_avg_fn())


class AveragedModel(_Module):
    """A copy of a model whose parameters are averages of the model's.

    The first `update_parameters(model)` copies the parameters. Later calls use `avg_fn(mean,
    parameter, n_averaged)`, which returns the next mean, or `multi_avg_fn(means, parameters,
    n_averaged)`, which changes means in place. The default is the mean of all. Buffers are copied,
    or with `use_buffers` averaged, too. A call of the object calls the copy. Errors:
    `ArgumentError` for two functions, and for `device`, which is not supported.

    >>> import ferrograd as fg
    >>> model = fg.nn.Linear(1, 1, bias=False)
    >>> mean = fg.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = model.weight.data.fill_(value)
    ...     mean.update_parameters(model)
    >>> mean.module.weight.tolist()
    [[2.0]]
    """

    n_averaged: _Tensor

    def __init__(
        self,
        model: _Module,
        device: None = None,
        avg_fn: _AvgFn | None = None,
        multi_avg_fn: _MultiAvgFn | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if device is not None:
            raise _ArgumentError(
                f"AveragedModel: device is {device!r}; tensors live in main memory, leave it out"
            )
        if avg_fn is not None and multi_avg_fn is not None:
            raise _ArgumentError("AveragedModel: avg_fn and multi_avg_fn are both given; give one")
        self.module = _copy.deepcopy(model)
        self.register_buffer("n_averaged", _tensor(0, dtype="int64"))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: _Any, **kwargs: _Any) -> _Any:
        """The averaged model's."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: _Module) -> None:
        """Updates the averages with the parameters of a model."""
        with _no_grad():
            own: list[_Tensor] = [*self.module.parameters()]
            others: list[_Tensor] = [*model.parameters()]
            own_buffers, buffers = list(self.module.buffers()), list(model.buffers())
            if self.use_buffers:
                own, others = own + own_buffers, others + buffers
            means, current = [p.detach() for p in own], [p.detach() for p in others]
            average = self.multi_avg_fn or _apply_to_each(self.avg_fn or get_swa_avg_fn())
            if _is_recording_program():
                # Every call of the program decides whether it is the first.
                average(means, current, self.n_averaged)
                first = self.n_averaged == 0
                _copy_values(
                    means, [_where(first, p, m) for m, p in zip(means, current, strict=True)]
                )
            elif self.n_averaged.item() == 0:
                _copy_values(means, current)
            else:
                average(means, current, self.n_averaged)
            if not self.use_buffers:
                _copy_values(own_buffers, buffers)
            self.n_averaged += 1


def _copy_values(into: list[_Tensor], given: list[_Tensor]) -> None:
    for x, y in zip(into, given, strict=True):
        x.detach().copy_(y.detach())


def update_bn(loader: _Iterable[_Any], model: _Module, device: None = None) -> None:
    """Computes the running statistics of batch normalisation again, over the batches of `loader`.

    A batch is a tensor, or a tuple or list that begins with one. Modules with `reset_running_stats`
    and `momentum` count as batch normalisation.
    """
    if device is not None:
        raise _ArgumentError(f"update_bn: device is {device!r}; tensors live in main memory")
    layers = [m for m in model.modules() if hasattr(m, "reset_running_stats")]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]
    was_training = model.training
    model.train()
    try:
        with _no_grad():
            for layer in layers:
                layer.reset_running_stats()
                layer.momentum = None
            for batch in loader:
                model(batch[0] if isinstance(batch, list | tuple) else batch)
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        model.train(was_training)


class SWALR(_LRScheduler):
    """The rate changes from its current value to `swa_lr` in `anneal_epochs`, and stays there."""

    def __init__(
        self,
        optimizer: _Optimizer,
        swa_lr: _Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        _one_of("SWALR", "anneal_strategy", anneal_strategy, ("cos", "linear"))
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise _ArgumentError(f"SWALR: anneal_epochs is {anneal_epochs!r}; give 0 or more")
        rates = _for_groups("SWALR", "swa_lr", optimizer, swa_lr)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _anneal_fraction(self, step: int) -> float:
        """The fraction of the annealing that is done after some steps."""
        share = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return 1.0 - _cosine(0.0, 1.0, share) if self.anneal_strategy == "cos" else share

    def get_lr(self) -> _Rates:
        """The rates between where they began and `swa_lr`."""
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._anneal_fraction(step - 1), self._anneal_fraction(step)
        rates = []
        for group, rate in zip(self.optimizer.param_groups, self._get_current_lr(), strict=True):
            end = group["swa_lr"]
            begin = end if before == 1.0 else (rate - before * end) / (1.0 - before)
            rates.append(end * now + begin * (1.0 - now))
        return rates
