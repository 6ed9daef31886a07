"""`Ruled`: an optimiser whose step is one rule for every element of its parameters.

Owns: the state that rules read and write, and the counts that parameters share.
Never knows a rule: `_rules.py` has them.
Invariant: parameters of a group that have made the same steps share one count, so that what follows
from it is computed once; a count is a float64 tensor, changed in place.
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor, full_like, tensor, view_as_complex, view_as_real
from ferrograd.optim._numbers import as_tensor
from ferrograd.optim._optimizer import Group, Optimizer, Ready
from ferrograd.optim._rules import RULES, Number
from ferrograd.optim._states import State, shared

#: A parameter, its gradient and its state.
Member = tuple[Tensor, Tensor, State]
#: The names of tensors of the size of a parameter, and what they are at first.
Slots = tuple[tuple[str, Number], ...]


class Ruled(Optimizer):
    """Base of the optimisers with a rule of `_rules.py`."""

    #: What is counted for each parameter, and where the counts begin.
    counters: tuple[tuple[str, float], ...] = (("step", 0.0),)

    def _rule(self, group: Group) -> str:
        """The name of the rule."""
        return type(self).__name__.lower()

    def _slots(self, group: Group) -> Slots:
        """The state of the size of a parameter, and what it is at first."""
        raise NotImplementedError

    def _numbers(self, group: Group, counts: State, fresh: bool) -> tuple[Number, ...]:
        """What the rule takes beside tensors, for parameters with these counts, which it moves."""
        raise NotImplementedError

    def _step_group(self, group: Group, ready: Ready) -> None:
        slots = self._slots(group)
        batches: dict[Any, tuple[bool, list[Member]]] = {}
        for fresh, member in self._members(group, ready, slots):
            key = fresh, *(id(member[2][name]) for name, _ in self.counters)
            batches.setdefault(key, (fresh, []))[1].append(member)
        names = [name for name, _ in slots]
        for fresh, members in batches.values():
            numbers = self._numbers(group, members[0][2], fresh)
            self._apply(group, members, names, numbers)

    def _apply(
        self, group: Group, members: list[Member], names: list[str], numbers: tuple[Number, ...]
    ) -> None:
        """Applies the rule. A complex parameter is a pair of real ones."""
        rule = RULES[self._rule(group)]
        cast: dict[Any, tuple[Number, ...]] = {}
        decay = 0.0 if self._decoupled(group) else group.get("weight_decay", 0.0)
        for p, grad, state in members:
            own = [p.detach(), *(state[name] for name in names)]
            if group.get("maximize", False):
                grad = -grad
            if decay != 0:
                grad = grad + decay * own[0]
            paired = p.dtype.kind == "c"
            if paired:
                grad = view_as_real(grad)
            real = [view_as_real(x) for x in own] if paired else own
            dtype = real[0].dtype
            if dtype not in cast:
                cast[dtype] = tuple(
                    as_tensor(n, dtype) if isinstance(n, Tensor) else n for n in numbers
                )
            rule(real[0], grad.detach(), *real[1:], *cast[dtype])
            if paired:
                for x, pair in zip(own, real, strict=True):
                    x.copy_(view_as_complex(pair))

    def _decoupled(self, group: Group) -> bool:
        """Whether weight decay acts on the parameter and not on the gradient."""
        return False

    def _members(self, group: Group, ready: Ready, slots: Slots) -> list[tuple[bool, Member]]:
        """The parameters with their state, which is made where there is none."""
        start: State | None = None
        found = []
        for p, grad in ready:
            state = self.state.get(p)
            if not state and (slots or self.counters):
                if start is None:
                    start = {n: tensor(x, dtype="float64") for n, x in self.counters}
                state = self.state[p] = {**start}
            state = {} if state is None else state
            missing = [(name, value) for name, value in slots if name not in state]
            for name, value in missing:
                state[name] = filled_like(p, value)
            found.append((bool(missing), (p, grad, state)))
        if self.counters:
            self._part(group, [member[2] for _, member in found])
        return found

    def _part(self, group: Group, moving: list[State]) -> None:
        """Gives the parameters that move counts of their own, where others that rest share them."""
        if len(moving) == len(group["params"]):
            return
        name = self.counters[0][0]
        here = {id(state) for state in moving}
        others = [self.state[p] for p in group["params"] if p in self.state]
        resting = {id(state[name]) for state in others if id(state) not in here}
        made: dict[int, State] = {}
        for state in moving:
            known = id(state[name])
            if known in resting:
                if known not in made:
                    made[known] = {n: state[n].clone() for n, _ in self.counters}
                state.update(made[known])

    def _share(self, group: Group, loaded: dict[Tensor, State]) -> None:
        states = [loaded[p] for p in group["params"] if p in loaded]
        shared(states, tuple(name for name, _ in self.counters))


def filled_like(p: Tensor, value: Number) -> Tensor:
    """State like a parameter; both parts of complex numbers have the value."""
    value = float(value)
    if p.dtype.kind != "c":
        return full_like(p.detach(), value)
    like = view_as_real(p.detach())
    return view_as_complex(full_like(like, value))
