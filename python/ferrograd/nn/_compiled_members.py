"""The members of a module that count as modules.

Invariant: a compiled module is a member like the module, with the same names of parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ferrograd._core import _CompiledCall
from ferrograd.errors import ArgumentError

if TYPE_CHECKING:
    from ferrograd.nn._module import Module


def unwrap_module(member: Any) -> Module:
    """The module of a member: the member itself, or the module that it compiles."""
    while isinstance(member, _CompiledCall):
        member = member.__wrapped__  # type: ignore[attr-defined]
    return member  # type: ignore[no-any-return]


def join_names(prefix: str, name: str) -> str:
    """A dotted name."""
    return f"{prefix}.{name}" if prefix else name


class UninitializedParameters(dict[str, Any]):
    """The parameters of a layer with unknown sizes: listing them raises."""

    def __init__(self, op: str) -> None:
        super().__init__()
        self._op = op

    def _raise_uninitialized(self, *_: Any) -> NoReturn:
        raise ArgumentError(
            f"{self._op}: the layer has no parameters before its first call; call the network with"
            " a batch before it is given to an optimiser, saved or loaded"
        )

    items = values = _raise_uninitialized

    def __reduce__(self) -> Any:
        return UninitializedParameters, (self._op,)
