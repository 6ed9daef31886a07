"""The position of a loader, and the generators that determine its order.

Invariant: if the states from the begin of an epoch are restored, the epoch has the same order.
"""

from __future__ import annotations

from typing import Any

from ferrograd._tensor.generator import (
    _DEFAULT_GENERATOR,
    _get_numpy_generator,
    check_generator_state,
    get_source_state,
    is_generator,
    set_source_state,
)
from ferrograd.errors import ArgumentError

States = list[dict[str, Any]]


class LoaderPosition:
    """The epoch, its number of returned batches, and the generator states from before the epoch."""

    def __init__(self, epoch: int, batches: int = 0, before: States | None = None) -> None:
        self.epoch = epoch
        self.batches = batches
        self.before = before

    def start_next_epoch(self, before: States) -> LoaderPosition:
        """The start of the next epoch; an interrupted epoch counts as finished."""
        return LoaderPosition(self.epoch + (self.before is not None), 0, before)

    def end(self) -> None:
        """Marks the epoch as finished."""
        self.epoch, self.batches, self.before = self.epoch + 1, 0, None

    def to_state(self) -> dict[str, Any]:
        """Its entries in a state dict."""
        return {"epoch": self.epoch, "batches": self.batches, "before": self.before}

    @staticmethod
    def from_state(op: str, state: Any) -> LoaderPosition:
        """The position that a state dict describes."""
        wanted = {"epoch", "batches", "before", "length", "generators"}
        if not isinstance(state, dict) or set(state) != wanted:
            has = sorted(map(repr, state)) if isinstance(state, dict) else type(state).__name__
            raise ArgumentError(f"{op}: the state has {has}; pass what state_dict() gave")
        epoch, batches, before = state["epoch"], state["batches"], state["before"]
        if type(epoch) is not int or type(batches) is not int or min(epoch, batches) < 0:
            raise ArgumentError(f"{op}: epoch {epoch!r} and batches {batches!r} are no counts")
        if batches and before is None:
            raise ArgumentError(f"{op}: {batches} batches without the states before them")
        return LoaderPosition(epoch, batches, before)


class GeneratorStates:
    """The default generator, and those of a loader and its samplers, each once."""

    def __init__(self, loader: Any) -> None:
        self._sources: list[Any] = [_DEFAULT_GENERATOR]
        pending = [loader, loader.batch_sampler, loader.sampler]
        seen = set()
        while pending:
            each = pending.pop(0)
            if each is None or id(each) in seen:
                continue
            seen.add(id(each))
            own = getattr(each, "generator", None)
            if is_generator(own):
                self._add_source(own)
            if each is not loader and hasattr(each, "load_state_dict"):
                self._add_source(each)
            pending += [getattr(each, "sampler", None), getattr(each, "batch_sampler", None)]

    def _add_source(self, source: Any) -> None:
        if not any(known is source for known in self._sources):
            self._sources.append(source)

    def get_states(self) -> States:
        """All states, the default generator's first."""
        return [get_source_state(source) for source in self._sources]

    def get_own_states(self) -> States:
        """The states of all but the default generator, which is not the loader's."""
        return self.get_states()[1:]

    def set_states(self, states: States | None) -> None:
        """Restores all states."""
        for source, state in zip(self._sources, states or (), strict=False):
            set_source_state(source, state)

    def set_own_states(self, states: States) -> None:
        """Restores the result of `get_own_states`."""
        for source, state in zip(self._sources[1:], states, strict=True):
            set_source_state(source, state)

    def check_own_states(self, op: str, own: States, before: States | None) -> None:
        """Raises for states of a loader with other generators."""
        count = len(self._sources)
        if len(own) != count - 1 or (before is not None and len(before) != count):
            raise ArgumentError(
                f"{op}: the state has {len(own)} generators or samplers of its own, this loader"
                f" {count - 1}; make it as the saved one was"
            )
        for source, state in [
            *zip(self._sources[1:], own, strict=True),
            *zip(self._sources, before or (), strict=False),
        ]:
            if is_generator(source):
                check_generator_state(_get_numpy_generator(source), state)
