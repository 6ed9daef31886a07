"""`Optimizer`: parameter groups, state, and the step around a rule.

Owns: what every optimiser has. Never computes an update: subclasses do.
Invariant: a step runs with recording off and changes parameters in place; a parameter without a
gradient is left alone, and a step that fails in its checks has changed nothing. State is made once
and changed in place, so that a compiled step finds it where it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ferrograd._compile import watching
from ferrograd._core import Tensor, tensor
from ferrograd._tensor.modes import enable_grad, no_grad
from ferrograd.errors import ArgumentError, ArgumentTypeError

Group = dict[str, Any]
#: What is kept of one parameter.
State = dict[str, Any]
#: Parameters with their gradients.
Ready = list[tuple[Tensor, Tensor]]


class Optimizer:
    """Base of the optimisers: subclass it with `defaults` and `_update(parameter, grad, …)`."""

    def __init__(self, params: Iterable[Any], defaults: Group) -> None:
        self.defaults = defaults
        self.param_groups: list[Group] = []
        self.state: dict[Tensor, State] = {}
        if isinstance(params, Tensor):
            raise ArgumentTypeError(
                f"{type(self).__name__}: params is one tensor; pass a sequence of parameters"
            )
        given = _listed(type(self).__name__, params)
        if not given:
            raise ArgumentError(f"{type(self).__name__}: there are no parameters; pass some")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, group: Group) -> None:
        """Adds parameters with options of their own; the others are the defaults."""
        op = type(self).__name__
        params = group["params"]
        params = [params] if isinstance(params, Tensor) else _listed(op, params)
        known = {id(p) for own in self.param_groups for p in own["params"]}
        for i, p in enumerate(params):
            if not isinstance(p, Tensor) or not p.is_leaf:
                what = "a result with history" if isinstance(p, Tensor) else f"{type(p).__name__}"
                raise ArgumentTypeError(f"{op}: parameter {i} is {what}; pass leaf tensors")
            if id(p) in known:
                raise ArgumentError(f"{op}: parameter {i} is there twice; list each once")
            known.add(id(p))
        unknown = set(group) - {"params", *self.defaults}
        if unknown:
            raise ArgumentError(f"{op}: {sorted(unknown)} are no options; use {[*self.defaults]}")
        full = {**self.defaults, **group, "params": params}
        self._check(full)
        self.param_groups.append(full)

    def _check(self, group: Group) -> None:
        """Raises for options that make no sense."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets every parameter's gradient, or fills it with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                p.zero_grad(set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes every parameter that has a gradient; returns what `closure` gave.

        `closure`, if there is one, is called first, with recording on: it computes the loss and its
        gradients.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if watching.recordings:
            lists = (group["params"] for group in self.param_groups)
            watching.note(self.__dict__, self.param_groups, *self.param_groups, *lists)
            watching.note(self.state, *self.state.values())
        with no_grad():
            for group in self.param_groups:
                found = ((p, p.grad) for p in group["params"])
                ready = [(p, grad) for p, grad in found if grad is not None]
                if ready:
                    self._step_group(group, ready)
        return loss

    def _step_group(self, group: Group, ready: Ready) -> None:
        """Changes the parameters of a group that have gradients."""
        for p, grad in ready:
            state = self.state.setdefault(p, {})
            p.data = self._update(p.detach(), grad.detach(), state, group)

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> Tensor:
        """The parameter's next value."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Copies of options and state; parameters are numbered in the order of the groups."""
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers[id(p)] = len(numbers)
            own = _copies({key: value for key, value in group.items() if key != "params"})
            groups.append({**own, "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(p)]: _copies(entry) for p, entry in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over copies of options and state; the groups must have the same sizes.

        An option that is a tensor, such as `lr`, keeps its place and gets the value.
        """
        op = f"{type(self).__name__}.load_state_dict"
        groups = state_dict["param_groups"]
        sizes = [len(group["params"]) for group in self.param_groups]
        given = [len(group["params"]) for group in groups]
        if sizes != given:
            raise ArgumentError(f"{op}: groups of {given} parameters do not fit groups of {sizes}")
        params = [p for group in self.param_groups for p in group["params"]]
        numbers = [number for group in groups for number in group["params"]]
        by_number = dict(zip(numbers, params, strict=True))
        loaded = {}
        for number, entry in state_dict["state"].items():
            p = by_number[int(number)]
            loaded[p] = {key: _copied(op, key, value, p) for key, value in entry.items()}
        for group in self.param_groups:
            self._share(group, loaded)
        for group, new in zip(self.param_groups, groups, strict=True):
            for key, value in new.items():
                if isinstance(group.get(key), Tensor):
                    group[key].data = value
                elif key != "params":
                    group[key] = value.clone() if isinstance(value, Tensor) else value
        self.state = loaded

    def _share(self, group: Group, loaded: dict[Tensor, State]) -> None:
        """Gives loaded state of a group the form that steps expect."""

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            options = ", ".join(f"{k}={v}" for k, v in group.items() if k != "params")
            lines.append(f"  group {i}: {len(group['params'])} parameters, {options}")
        return "\n".join([*lines, ")"])


def _listed(op: str, params: Any) -> list[Any]:
    """The parameters in a list; a model is not unpacked, that is the caller's choice."""
    if isinstance(params, Iterable) and not hasattr(params, "parameters"):
        return list(params)
    advice = "pass a sequence of parameters, such as model.parameters()"
    raise ArgumentTypeError(f"{op}: params is of type {type(params).__name__}; {advice}")


def _copies(entries: dict[str, Any]) -> dict[str, Any]:
    own = entries.items()
    return {key: v.detach().clone() if isinstance(v, Tensor) else v for key, v in own}


def _copied(op: str, key: str, value: Any, p: Tensor) -> Any:
    if not hasattr(value, "shape") or isinstance(value, np.generic):
        return value
    if tuple(value.shape) == () != tuple(p.shape):
        return tensor(value)
    if p.dtype.kind == "c" and tuple(value.shape) == (*p.shape, 2):
        return tensor(value, dtype=p.real.dtype)
    if tuple(value.shape) != tuple(p.shape):
        raise ArgumentError(
            f"{op}: {key} has shape {tuple(value.shape)} but its parameter {tuple(p.shape)}"
        )
    return tensor(value, dtype=p.dtype)


def at_least(op: str, name: str, value: float, least: float = 0.0) -> None:
    """Raises for a number, or a tensor of one, below the least one, NaN included."""
    if isinstance(value, Tensor) and value.ndim:
        raise ArgumentError(f"{op}: {name} has shape {tuple(value.shape)}; give a number")
    try:
        enough = value >= least
    except TypeError:
        raise ArgumentTypeError(
            f"{op}: {name} is {value!r}; give a number of at least {least:g}"
        ) from None
    if not enough:
        raise ArgumentError(f"{op}: {name} is {value}; give at least {least:g}")


def betas(op: str, given: tuple[float, float]) -> None:
    """Raises for decay rates outside [0, 1)."""
    if len(given) != 2 or not all(0.0 <= beta < 1.0 for beta in given):
        raise ArgumentError(f"{op}: betas are {given}; give two numbers from 0 to below 1")
