"""What counts as a module among the members of one.

Owns: the way from a member to its module, and dotted names. Never registers anything.
Invariant: a compiled module is a member like the module, with the same names of parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ferrograd._core import _Replayed

if TYPE_CHECKING:
    from ferrograd.nn._module import Module


def module_of(member: Any) -> Module:
    """The module of a member: itself, or what it is compiled of."""
    while isinstance(member, _Replayed):
        member = member.__wrapped__  # type: ignore[attr-defined]
    return member  # type: ignore[no-any-return]


def join(prefix: str, name: str) -> str:
    """A dotted name."""
    return f"{prefix}.{name}" if prefix else name
