"""The position of a loader, and the generators that determine its order.

Invariant: if the states from the begin of an epoch are restored, the epoch has the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._tensor.generator import (
    _DEFAULT,
    Generator,
    _source,
    check_state,
    put_state,
    state_of,
)
from ferrograd.errors import ArgumentError

States = list[dict[str, Any]]


class Position:
    """The epoch, its number of returned batches, and the generator states from before the epoch."""

    def __init__(self, epoch: int, batches: int = 0, before: States | None = None) -> None:
        self.epoch = epoch
        self.batches = batches
        self.before = before

    def following(self, before: States) -> Position:
        """The begin of the next epoch; one that was broken off has ended."""
        return Position(self.epoch + (self.before is not None), 0, before)

    def end(self) -> None:
        """The epoch ran through."""
        self.epoch, self.batches, self.before = self.epoch + 1, 0, None

    def saved(self) -> dict[str, Any]:
        """Its entries in a state."""
        return {"epoch": self.epoch, "batches": self.batches, "before": self.before}

    @staticmethod
    def loaded(op: str, state: Any) -> Position:
        """The position in a state."""
        wanted = {"epoch", "batches", "before", "length", "generators"}
        if not isinstance(state, dict) or set(state) != wanted:
            has = sorted(map(repr, state)) if isinstance(state, dict) else type(state).__name__
            raise ArgumentError(f"{op}: the state has {has}; pass what state_dict() gave")
        epoch, batches, before = state["epoch"], state["batches"], state["before"]
        if type(epoch) is not int or type(batches) is not int or min(epoch, batches) < 0:
            raise ArgumentError(f"{op}: epoch {epoch!r} and batches {batches!r} are no counts")
        if batches and before is None:
            raise ArgumentError(f"{op}: {batches} batches without the states before them")
        return Position(epoch, batches, before)


class Sources:
    """The default generator, and those of a loader and its samplers, each once."""

    def __init__(self, loader: Any) -> None:
        self._found: list[Any] = [_DEFAULT]
        pending = [loader, loader.batch_sampler, loader.sampler]
        seen = set()
        while pending:
            each = pending.pop(0)
            if each is None or id(each) in seen:
                continue
            seen.add(id(each))
            own = getattr(each, "generator", None)
            if isinstance(own, Generator | np.random.Generator):
                self._add(own)
            if each is not loader and hasattr(each, "load_state_dict"):
                self._add(each)
            pending += [getattr(each, "sampler", None), getattr(each, "batch_sampler", None)]

    def _add(self, source: Any) -> None:
        if not any(known is source for known in self._found):
            self._found.append(source)

    def states(self) -> States:
        """All states, the default generator's first."""
        return [_state(source) for source in self._found]

    def own_states(self) -> States:
        """The states of all but the default generator, which is not the loader's."""
        return self.states()[1:]

    def put(self, states: States | None) -> None:
        """Restores all states."""
        for source, state in zip(self._found, states or (), strict=False):
            _put(source, state)

    def put_own(self, states: States) -> None:
        """Restores the result of `own_states`."""
        for source, state in zip(self._found[1:], states, strict=True):
            _put(source, state)

    def check(self, op: str, own: States, before: States | None) -> None:
        """Raises for states of a loader with other generators."""
        count = len(self._found)
        if len(own) != count - 1 or (before is not None and len(before) != count):
            raise ArgumentError(
                f"{op}: the state has {len(own)} generators or samplers of its own, this loader"
                f" {count - 1}; make it as the saved one was"
            )
        for source, state in [
            *zip(self._found[1:], own, strict=True),
            *zip(self._found, before or (), strict=False),
        ]:
            if _draws(source):
                check_state(_source(source), state)


def _draws(source: Any) -> bool:
    return isinstance(source, Generator | np.random.Generator)


def _state(source: Any) -> dict[str, Any]:
    state: dict[str, Any] = state_of(_source(source)) if _draws(source) else source.state_dict()
    return state


def _put(source: Any, state: dict[str, Any]) -> None:
    if _draws(source):
        put_state(_source(source), state)
    else:
        source.load_state_dict(state)
