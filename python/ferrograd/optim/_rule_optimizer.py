"""`RuleOptimizer`: an optimiser whose step is one rule for every element of its parameters.

Invariant: parameters of a group with the same number of steps share one count, so that values
derived from it are computed once. A count is a float64 tensor that is changed in place.
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor, _update, tensor, view_as_complex, view_as_real
from ferrograd._tensor.creation import full_like
from ferrograd.errors import ArgumentError
from ferrograd.optim._optimizer import Group, Optimizer, ParamsWithGrads
from ferrograd.optim._option_tensors import Number
from ferrograd.optim._state_dict import State, load_param_value, share_step_counts

#: The names of state tensors with the shape of a parameter, and their initial values.
Slots = tuple[tuple[str, Number], ...]
#: Parameters, their gradients, the states of each one after another, and the counts they share.
TensorLists = tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]


class RuleOptimizer(Optimizer):
    """Base of the optimisers with a rule of the core."""

    #: The counts of each parameter, in the order of the rule, with their initial values.
    counters: tuple[tuple[str, float], ...] = (("step", 0.0),)

    def _get_rule(self, group: Group) -> str:
        """The name of the rule."""
        return type(self).__name__.lower()

    def _get_state_slots(self, group: Group) -> Slots:
        """The state tensors of a parameter, in the order of the rule, initialised."""
        raise NotImplementedError

    def _get_hyperparameters(self, group: Group, fresh: bool) -> tuple[Number, ...]:
        """The options in the order of the rule, for parameters with new or existing state."""
        raise NotImplementedError

    def _step_group(self, group: Group, ready: ParamsWithGrads) -> None:
        slots = self._get_state_slots(group)
        batches: dict[tuple[int, ...], TensorLists] = {}
        for (p, grad), (fresh, state) in zip(
            ready, self._get_states(group, ready, slots), strict=True
        ):
            counts = [state[name] for name, _ in self.counters]
            key = fresh, *map(id, counts)
            params, grads, states, _ = batches.setdefault(key, ([], [], [], counts))
            params.append(p)
            grads.append(grad)
            states.extend([state[name] for name, _ in slots])
        rule = self._get_rule(group)
        decay = 0.0 if self._is_decoupled(group) else group.get("weight_decay", 0.0)
        for (new, *_), lists in batches.items():
            try:
                numbers = self._get_hyperparameters(group, bool(new))
                _update(rule, lists, numbers, bool(group.get("maximize")), decay)
            except TypeError:
                # The check raises for an option that is no longer a number.
                self._check_group(group)
                raise

    def _is_decoupled(self, group: Group) -> bool:
        """Whether weight decay acts on the parameter and not on the gradient."""
        return False

    def _get_states(
        self, group: Group, ready: ParamsWithGrads, slots: Slots
    ) -> list[tuple[bool, State]]:
        """The state of each parameter, and whether a part of it is new."""
        start: State | None = None
        found = []
        for p, _ in ready:
            state = self.state.get(p)
            if not state and (slots or self.counters):
                if start is None:
                    start = {n: tensor(x, dtype="float64") for n, x in self.counters}
                state = self.state[p] = {**start}
            state = {} if state is None else state
            missing = [(name, value) for name, value in slots if name not in state]
            for name, value in missing:
                state[name] = full_state_like(p, value)
            found.append((bool(missing), state))
        if self.counters:
            self._split_shared_counts(group, [state for _, state in found])
        return found

    def _split_shared_counts(self, group: Group, moving: list[State]) -> None:
        """Gives updated parameters their own step count if they share it with skipped ones."""
        if len(moving) == len(group["params"]):
            return
        name = self.counters[0][0]
        here = {id(state) for state in moving}
        others = [self.state[p] for p in group["params"] if self.state.get(p)]
        resting = {id(state[name]) for state in others if id(state) not in here}
        made: dict[int, State] = {}
        for state in moving:
            known = id(state[name])
            if known in resting:
                if known not in made:
                    made[known] = {n: state[n].clone() for n, _ in self.counters}
                state.update(made[known])

    def _load_value(self, op: str, key: str, value: Any, p: Tensor) -> Any:
        return load_param_value(op, key, value, p)

    def _check_loaded_state(self, op: str, number: Any, entry: State) -> None:
        for name, _ in self.counters if entry else ():
            try:
                float(entry[name])
            except (KeyError, TypeError, ValueError):
                raise ArgumentError(
                    f"{op}: {name} of parameter {number} is {entry.get(name)!r}; give a number, as"
                    f" the state of {type(self).__name__} has it"
                ) from None

    def _share_loaded_state(self, group: Group, loaded: dict[Tensor, State]) -> None:
        states = [loaded[p] for p in group["params"] if p in loaded]
        share_step_counts(states, tuple(name for name, _ in self.counters))


def full_state_like(p: Tensor, value: Number) -> Tensor:
    """State with the shape of a parameter; both parts of complex numbers have the value."""
    value = float(value)
    if p.dtype.kind != "c":
        return full_like(p.detach(), value)
    like = view_as_real(p.detach())
    return view_as_complex(full_like(like, value))
