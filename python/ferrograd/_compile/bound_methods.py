"""Compiled methods: every object has its own programs, so `self` is not an argument.

Invariant: an object that is compared by its contents, or is flattened as a tree, stays an argument,
because its members belong to the signature.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from weakref import ref

from ferrograd._compile import guards
from ferrograd._core import Tensor
from ferrograd.errors import CompileError


class Method(functools.partial[Any]):
    """A compiled method of an object; it keeps the object alive, like a bound method."""

    owner: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.func, name)

    @property
    def __self__(self) -> Any:
        """The object."""
        return self.owner

    def __eq__(self, other: object) -> bool:
        alike = isinstance(other, Method) and self.func is other.func
        return alike and self.owner is other.owner  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((id(self.owner), id(self.func)))

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy of the object has its own method, as with bound methods."""
        return getattr, (self.owner, self.func.__name__)


class WeakBoundFunction:
    """The function of a method for one object; it does not keep the object alive."""

    def __init__(self, function: Callable[..., Any], owner: Any) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function, self._owner = function, ref(owner)

    @property
    def __signature__(self) -> Any:
        """The signature of the function without its first parameter, the object."""
        from inspect import signature

        whole = signature(self._function)
        return whole.replace(parameters=list(whole.parameters.values())[1:])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        owner = self._owner()
        if owner is None:
            raise CompileError(
                f"compile: the object of the method {self.__name__} is gone;"  # type: ignore[attr-defined]
                " keep it for second derivatives"
            )
        if guards.active_traces:
            _note_owner_module(owner)
        return self._function(owner, *args, **kwargs)


class MethodTable:
    """A compiled function as a method: one `Method` for each object."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[ref[Any], Any]] = {}

    def get_method(self, owner: Any, compiled: Any) -> Any:
        """The compiled method of an object."""
        key, found = id(owner), self._found
        known = found.get(key)
        if known is None or known[0]() is not owner:
            if not _is_compared_by_identity(type(owner)):
                return functools.partial(compiled, owner)
            own = compiled._bound_to_object(WeakBoundFunction(compiled.__wrapped__, owner))
            known = found[key] = ref(owner, lambda _: found.pop(key, None)), own
        method = Method(known[1])
        method.owner, method.__doc__ = owner, known[1].__doc__
        return method

    def all(self) -> list[Any]:
        """The compiled functions of all live objects."""
        return [compiled for _, compiled in list(self._found.values())]


def _note_owner_module(owner: Any) -> None:
    """Notes the module to which a method is bound: the trace depends on its members."""
    if "_modules" in getattr(owner, "__dict__", ()):
        guards.note_module(owner)


def _is_compared_by_identity(kind: type) -> bool:
    """Whether objects of a class are compared by identity."""
    same: list[tuple[Any, Any]] = [(kind.__hash__, object.__hash__), (kind.__eq__, object.__eq__)]
    return (
        all(own is plain for own, plain in same)
        and bool(kind.__weakrefoffset__)
        and not hasattr(kind, "__dataclass_fields__")
        and not issubclass(kind, Tensor)
    )
