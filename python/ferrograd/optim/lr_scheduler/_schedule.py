"""`LRScheduler`: the base of schedules of learning rates.

Invariant: a rate that is a tensor stays the same tensor and is written in place. A saved and loaded
schedule continues with the same rates.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import wraps
from typing import Any

from ferrograd._compile import guards
from ferrograd._core import Tensor
from ferrograd._inspect.warn import warn_user
from ferrograd.errors import ArgumentError, ArgumentTypeError
from ferrograd.optim._optimizer import Optimizer
from ferrograd.optim._state_dict import copy_tensors

#: Rates of the groups: numbers, or tensors without axes.
Rates = list[Any]


def copy_value(x: Any) -> Any:
    """A copy of a tensor, or the number."""
    return x.detach().clone() if isinstance(x, Tensor) else x


def get_option(optimizer: Optimizer, key: str) -> Rates:
    """An option of every group."""
    return [copy_value(group[key]) for group in optimizer.param_groups]


def set_option(group: dict[str, Any], key: str, value: Any) -> None:
    """Sets an option; a tensor is written in place."""
    if isinstance(group.get(key), Tensor):
        group[key].fill_(float(value))
    else:
        group[key] = value


def expand_to_groups(op: str, name: str, optimizer: Optimizer, given: Any) -> list[Any]:
    """One value for each group: the given sequence, or one value for all."""
    count = len(optimizer.param_groups)
    if not isinstance(given, list | tuple):
        return [copy_value(given) for _ in range(count)]
    if len(given) != count:
        raise ArgumentError(f"{op}: {name} has {len(given)} values for {count} groups")
    return [copy_value(x) for x in given]


def check_optimizer(op: str, optimizer: Any) -> None:
    """Raises for an object that is not an optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise ArgumentTypeError(
            f"{op}: the optimizer is a {type(optimizer).__name__}; pass an optimiser of fg.optim"
        )


class LRScheduler:
    """Base of the schedules: `get_lr` returns the rates of the epoch `last_epoch`, one per group.

    The constructor sets the rates of epoch 0. `step()`, called after the optimiser's, sets those of
    the next epoch. To write a schedule, define `get_lr`, which computes rates from `self.base_lrs`
    or from the current `lr` of the groups.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Lets a trace notice the counters in a `step` that the subclass defines."""
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("step")
        if isinstance(own, types.FunctionType):
            cls.step = _note_step(own)  # type: ignore[method-assign]

    #: Attributes that `state_dict` leaves out.
    _left_out: tuple[str, ...] = ("optimizer",)
    #: Whether the rates of the first epoch are being computed.
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(type(self).__name__, optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copy_value(group["lr"]))
            elif "initial_lr" not in group:
                raise ArgumentError(
                    f"{type(self).__name__}: group {i} has no 'initial_lr' to resume from; load "
                    "the optimiser's state first, or leave last_epoch at -1"
                )
        self.base_lrs: Rates = get_option(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._last_lr: Rates = []
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            del self._is_initial

    def get_lr(self) -> Rates:
        """The rates of the epoch `last_epoch`."""
        raise NotImplementedError

    def closed_form(self) -> Rates:
        """The rates of the epoch `last_epoch` from the initial ones; `get_lr` where not known."""
        return self.get_lr()

    def get_last_lr(self) -> Rates:
        """The rates that the last step wrote."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Moves to the next epoch, or to a given one, and sets its rates."""
        self._note_in_trace()
        if self._step_count == 1 and not self.optimizer._stepped:
            warn_user(
                f"{type(self).__name__}.step was called before the optimiser's first step, so the "
                "first rate is never used; call optimizer.step() first",
                UserWarning,
            )
        self._step_count += 1
        self._step_to(epoch)

    def _note_in_trace(self) -> None:
        """Tells a trace that epochs are counted in Python numbers."""
        if guards.active_traces:
            guards.note_owned(self)

    def _step_to(self, epoch: int | None) -> None:
        self._note_in_trace()
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            rates = self.closed_form()
        self._set_lr(rates)

    def _set_lr(self, rates: Rates) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = get_option(self.optimizer, "lr")

    def _get_current_lr(self) -> Rates:
        """The current rates."""
        return get_option(self.optimizer, "lr")

    def _scale_current_lr(self, factor: float) -> Rates:
        """The current rates, each multiplied by a factor."""
        return [rate * factor for rate in self._get_current_lr()]

    def state_dict(self) -> dict[str, Any]:
        """Copies of everything but the optimiser, and of functions that have state their state."""
        return {
            key: [_save_callable(v) for v in value]
            if isinstance(value, list)
            else _save_callable(value)
            for key, value in self.__dict__.items()
            if key not in self._left_out
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state; function objects are kept and load their own state."""
        for key, value in state_dict.items():
            own = self.__dict__.get(key)
            if isinstance(own, list) and any(_is_callable(v) for v in own):
                for function, state in zip(own, value, strict=True):
                    _load_callable(function, state)
            elif _is_callable(own):
                _load_callable(own, value)
            else:
                self.__dict__[key] = copy_tensors(value)


def _note_step(step: types.FunctionType) -> Callable[..., Any]:
    """Wraps the `step` of a subclass so that a trace depends on its schedule."""

    @wraps(step)
    def step_with_note(self: LRScheduler, *args: Any, **kwargs: Any) -> Any:
        self._note_in_trace()
        return step(self, *args, **kwargs)

    return step_with_note


def _is_callable(value: Any) -> bool:
    """Whether something is a function, a schedule, or another object that is called."""
    return callable(value) or isinstance(value, LRScheduler)


def _save_callable(value: Any) -> Any:
    if isinstance(value, LRScheduler):
        return value.state_dict()
    if not callable(value):
        return copy_tensors(value)
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType):
        return None
    return dict(getattr(value, "__dict__", {}))


def _load_callable(code: Any, state: Any) -> None:
    if isinstance(code, LRScheduler):
        code.load_state_dict(state)
    elif state:
        code.__dict__.update(state)
