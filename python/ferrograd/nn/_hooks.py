"""Forward hooks of modules.

Owns: the lists of hooks, the handle that removes one, and the call with hooks. Never computes.
Invariant: hooks run in the order of registration; a module without hooks calls `forward` directly.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, ParamSpec, Protocol, Self, TypeVar

from ferrograd.errors import ArgumentTypeError, ContractError

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Forwards(Protocol[P, R_co]):
    """What has a forward: calling it takes and gives the same."""

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """The forward."""


Hook = Callable[..., Any]
_NUMBERS = count()


class Hooks:
    """The hooks of one module, by their numbers; each with whether it takes keywords."""

    def __init__(self) -> None:
        self.before: dict[int, tuple[Hook, bool]] = {}
        self.after: dict[int, tuple[Hook, bool]] = {}
        #: Hooks that also run when the forward raises.
        self.always: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self.before or self.after)


class RemovableHandle:
    """Removes a hook; as a context manager, at the end of the block."""

    def __init__(self, hooks: Hooks, table: dict[int, Any], number: int) -> None:
        self._hooks, self._table, self.number = hooks, table, number

    def remove(self) -> None:
        """Removes the hook; a second time does nothing."""
        self._table.pop(self.number, None)
        self._hooks.always.discard(self.number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register(
    hooks: Hooks,
    table: dict[int, tuple[Hook, bool]],
    hook: Hook,
    prepend: bool,
    with_kwargs: bool,
) -> RemovableHandle:
    """Enters a hook last, or first."""
    if not callable(hook):
        raise ArgumentTypeError(
            f"register_forward_hook: the hook is a {type(hook).__name__}; pass a function"
        )
    number = next(_NUMBERS)
    others = dict(table) if prepend else {}
    if prepend:
        table.clear()
    table[number] = hook, with_kwargs
    table.update(others)
    return RemovableHandle(hooks, table, number)


def call(module: Any, hooks: Hooks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The forward between its hooks; what they return replaces arguments or the result."""
    ran: set[int] = set()
    out = None
    try:
        for hook, keywords in list(hooks.before.values()):
            args, kwargs = _arguments(module, hook, keywords, args, kwargs)
        out = module.forward(*args, **kwargs)
        for number, (hook, keywords) in list(hooks.after.items()):
            ran.add(number)
            out = _result(module, hook, keywords, args, kwargs, out)
    except Exception:
        for number, (hook, keywords) in list(hooks.after.items()):
            if number in hooks.always and number not in ran:
                _result(module, hook, keywords, args, kwargs, out)
        raise
    return out


def _arguments(
    module: Any, hook: Hook, keywords: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    found = hook(module, args, kwargs) if keywords else hook(module, args)
    if found is None:
        return args, kwargs
    if not keywords:
        return (found if isinstance(found, tuple) else (found,)), kwargs
    if not isinstance(found, tuple) or len(found) != 2:
        raise ContractError(
            f"{type(module).__name__}: a forward pre-hook with keywords returned a"
            f" {type(found).__name__}; return None or (args, kwargs)"
        )
    return found


def _result(
    module: Any,
    hook: Hook,
    keywords: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    out: Any,
) -> Any:
    found = hook(module, args, kwargs, out) if keywords else hook(module, args, out)
    return out if found is None else found
