"""Modules and optimisers that a function reads while it is traced.

Invariant: a trace that fails leaves their containers unchanged.
"""

from __future__ import annotations

import _thread
from collections.abc import Mapping
from enum import Enum
from types import TracebackType
from typing import Any, cast

import numpy as np

from ferrograd._core import _watch_members

Container = dict[Any, Any] | list[Any]

#: The number of threads that trace. Checked before anything is noted, because it is cheap.
active_traces = 0

#: The dicts of a module that hold its members.
MEMBER_TABLES = ("_parameters", "_buffers", "_modules")

#: Types with few values, each with its own program. Numbers would need too many programs.
_SWITCH_TYPES = (bool, str, type(None))

_NUMBER_TYPES = (int, float, complex, np.number, Enum)

_lock = _thread.allocate_lock()
_local = _thread._local()


class GuardCollector:
    """A trace of this thread, during which `note` collects containers.

    With `may_keep`, changes may be state that only the first calls create; the next call shows it.
    """

    def __init__(self, may_keep: bool = False) -> None:
        self.may_keep = may_keep
        #: The containers noted.
        self.containers: list[Container] = []
        self._before: dict[int, Container] = {}
        #: Containers with numbers, the numbers before the trace, and the owner of each.
        self._owned: dict[int, tuple[Mapping[Any, Any], Mapping[Any, Any], type]] = {}

    def __enter__(self) -> GuardCollector:
        self._outer = getattr(_local, "watch", None)
        _local.watch = self
        _count_active_traces(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: Any, traceback: TracebackType | None
    ) -> None:
        _count_active_traces(-1)
        _local.watch = self._outer
        if kind is not None:
            self.restore()

    def restore(self) -> None:
        """Restores the contents of containers."""
        for container in self.containers:
            _restore_container(container, self._before[id(container)])
        for now, before, owner in self._owned.values():
            if not isinstance(now, dict):
                for key, old in before.items():
                    if now.get(key) is not old:
                        setattr(owner, key, old)

    def flag_guards(self) -> list[tuple[dict[Any, Any], Any, Any]]:
        """The changed flag_guards: container, key, and old value."""
        return [
            (now, key, old)
            for now in self.containers
            if isinstance(now, dict)
            for key, old in cast("dict[Any, Any]", self._before[id(now)]).items()
            if isinstance(old, _SWITCH_TYPES) and key in now and now[key] is not old
            if isinstance(now[key], _SWITCH_TYPES)
        ]

    def changed_members(self) -> bool:
        """Whether the function has changed members, so that the next call finds others."""
        return self.may_keep and (
            any(
                now.keys() != self._before[id(now)].keys()  # type: ignore[union-attr]
                for now in self.containers
                if isinstance(now, dict)
            )
            or self.changed_number() is not None
        )

    def changed_number(self) -> str | None:
        """The error text if the function changed a number of a module or an optimiser.

        A program would not repeat the change.
        """
        for now, before, owner in self._owned.values():
            for key, old in before.items():
                new = now.get(key)
                if _is_number(old) and _is_number(new) and new is not old and new != old:
                    return (
                        f"{key!r} of {owner.__name__} goes from {old} to {new}, which a program"
                        " would not repeat; count in a tensor"
                    )
        return None

    def add_owned(self, owner: type, container: dict[Any, Any]) -> None:
        """Notes a dict of a module, an optimiser or a schedule, with its numbers.

        Numbers of the class are noted, too, because an instance may count in the class.
        """
        self.add(container)
        before = cast("dict[Any, Any]", self._before[id(container)])
        self._owned[id(container)] = container, before, owner
        for kind in owner.__mro__:
            if id(kind) not in self._owned:
                numbers = {key: value for key, value in vars(kind).items() if _is_number(value)}
                self._owned[id(kind)] = vars(kind), numbers, kind

    def forget_dead(self) -> None:
        """Drops containers of modules and optimisers that only existed during the trace."""
        from sys import getrefcount

        count = -1
        while count != len(self.containers):
            count = len(self.containers)
            for place in reversed(range(count)):
                key = id(self.containers[place])
                # References: the list, `_owned` if it is owned, and this call.
                if getrefcount(self.containers[place]) <= 2 + (key in self._owned):
                    self._owned.pop(key, None)
                    del self._before[key], self.containers[place]

    def restore_switches(self) -> None:
        """Restores the old values of flag_guards."""
        for container, key, before in self.flag_guards():
            container[key] = before

    def add(self, container: Container) -> None:
        """Notes a container once."""
        if id(container) not in self._before:
            self._before[id(container)] = container.copy()
            self.containers.append(container)


class StateGuard:
    """The numbers and flag_guards of modules and optimisers that a program expects."""

    def __init__(self, watch: GuardCollector) -> None:
        self._members = [
            (
                now,
                {key: old for key, old in before.items() if _is_guarded_value(old)},
                owner.__name__,
            )
            for now, before, owner in watch._owned.values()
        ]

    def describe_change(self) -> str:
        """The first one that has changed, with advice if it is a learning rate."""
        for now, before, owner in self._members:
            for key, old in before.items():
                new = now.get(key)
                if new is not old and new != old and _is_guarded_value(new):
                    rate = "; use lr=fg.tensor(...)" if key == "lr" else ""
                    return f"{key!r} of {owner} is {new!r} and was {old!r}{rate}"
        return ""


def note(*containers: Container) -> None:
    """Notes containers on whose objects the traced function of this thread depends."""
    watch: GuardCollector | None = getattr(_local, "watch", None)
    if watch is not None:
        for container in containers:
            watch.add(container)


def note_owned(owner: object, *containers: dict[Any, Any]) -> None:
    """`note` for a module, an optimiser or a schedule: the function must not count in it."""
    watch: GuardCollector | None = getattr(_local, "watch", None)
    if watch is not None:
        for container in (owner.__dict__, *containers):
            watch.add_owned(type(owner), container)


def note_module(module: Any) -> None:
    """`note_owned` for a module, with its members and its hooks."""
    note_owned(module)
    note(*(module.__dict__[table] for table in MEMBER_TABLES))
    hooks = module.__dict__.get("_hooks")
    if hooks is not None:
        note(*hooks.call_hook_tables())


def note_bound_module(function: Any) -> None:
    """`note_module` for the module to which a method is bound."""
    owner = getattr(function, "__self__", None)
    if "_modules" in getattr(owner, "__dict__", ()):
        note_module(owner)


def _is_number(value: Any) -> bool:
    """Whether a value may be a counter: numbers, members of an Enum, and tuples of them."""
    if isinstance(value, tuple):
        return all(map(_is_number, value))
    return isinstance(value, _NUMBER_TYPES) and not isinstance(value, bool)


def _is_guarded_value(value: Any) -> bool:
    return isinstance(value, int | float | str)


def _count_active_traces(change: int) -> None:
    global active_traces
    with _lock:
        active_traces += change
        _watch_members(change)


def _restore_container(container: Container, before: Any) -> None:
    if isinstance(container, list):
        container[:] = before
        return
    for key in [key for key in container if key not in before]:
        del container[key]
    for key, value in before.items():
        # A member that was None may have been removed: a missing member is not None.
        if key not in container or container[key] is not value:
            container[key] = value
