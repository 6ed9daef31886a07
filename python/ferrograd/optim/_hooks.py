"""Hooks of optimisers: functions called around a step and around the reading of state.

Invariant: hooks of one kind run in the order of registration, those that were prepended first.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Self

from ferrograd.errors import ArgumentTypeError

Hook = Callable[..., Any]
_hook_ids = count()


class HookHandle:
    """Removes a hook; as a context manager, at the end of the block."""

    def __init__(self, table: dict[int, Hook], number: int) -> None:
        self._table, self.number = table, number

    def remove(self) -> None:
        """Removes the hook; a second time does nothing."""
        self._table.pop(self.number, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Hooks:
    """The hooks of one optimiser, by kind."""

    def __init__(self) -> None:
        self.step_pre: dict[int, Hook] = {}
        self.step_post: dict[int, Hook] = {}
        self.state_dict_pre: dict[int, Hook] = {}
        self.state_dict_post: dict[int, Hook] = {}
        self.load_state_dict_pre: dict[int, Hook] = {}
        self.load_state_dict_post: dict[int, Hook] = {}

    def add(self, kind: str, hook: Hook, prepend: bool = False) -> HookHandle:
        """Enters a hook last, or first."""
        if not callable(hook):
            raise ArgumentTypeError(
                f"register_{kind}_hook: the hook is a {type(hook).__name__}; pass a function"
            )
        table: dict[int, Hook] = getattr(self, kind)
        number = next(_hook_ids)
        others = dict(table) if prepend else {}
        if prepend:
            table.clear()
        table[number] = hook
        table.update(others)
        return HookHandle(table, number)
