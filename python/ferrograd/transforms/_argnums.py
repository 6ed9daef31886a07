"""The differentiated arguments of a transform.

Invariant: an argument is found by position, by name, or as a default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import index
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ferrograd._core import Tensor
from ferrograd._tensor.pytree import sequence_items
from ferrograd.errors import ArgumentError, ArgumentTypeError

P = ParamSpec("P")
R = TypeVar("R")

Argnums = int | str | tuple[int | str, ...] | list[int | str]


class TransformSpec:
    """A transform of a function: its name, the function, and the differentiated arguments."""

    __slots__ = ("function", "holomorphic", "items", "op", "position", "single")

    def __init__(
        self,
        op: str,
        function: Any,
        argnums: Argnums | None,
        argnum: Argnums | None,
        holomorphic: bool = False,
    ) -> None:
        self.op = op
        self.holomorphic = holomorphic
        self.function = function
        if not callable(function):
            raise _make_function_error(op, function)
        if argnum is not None:
            if argnums is not None and argnums != 0:
                raise ArgumentTypeError(f"{op}: argnum and argnums are both given; keep argnums")
            argnums = argnum
        self.items, self.single = _check_argnums(op, 0 if argnums is None else argnums)
        first = self.items[0]
        #: The position of the only differentiated argument; -1 if it is not passed by position.
        self.position = first if self.single and isinstance(first, int) else -1

    def find(self, args: list[Any], kwargs: dict[str, Any]) -> list[tuple[int | str, Any]]:
        """The position (an index or a name) and the value of each differentiated argument."""
        found = []
        for item in self.items:
            if isinstance(item, int) and -len(args) <= item < len(args):
                place: int | str = item % len(args)
            elif isinstance(item, str) and item in kwargs:
                place = item
            else:
                place = self._find_by_signature(item, args, kwargs)
            value = args[place] if isinstance(place, int) else kwargs[place]
            found.append((place, value))
        if len({place for place, _ in found}) != len(found):
            raise ArgumentError(
                f"{self.op}: argnums {self.items} name an argument twice; name each once"
            )
        return found

    def label(self, place: int | str) -> str:
        """The name of an argument in messages."""
        return f"argument {place}" if isinstance(place, int) else f"the argument {place!r}"

    def _find_by_signature(
        self, item: int | str, args: list[Any], kwargs: dict[str, Any]
    ) -> int | str:
        """Looks up a name among positions, and a position among names and defaults."""
        try:
            parameters = list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if isinstance(item, int):
            match = plain[item] if 0 <= item < len(plain) else None
        else:
            for k, parameter in enumerate(plain[: len(args)]):
                if parameter.name == item:
                    return k
            match = next((p for p in parameters if p.name == item), None)
        if match is None or match.kind in (match.VAR_POSITIONAL, match.VAR_KEYWORD):
            raise self._make_missing_error(item, args, kwargs, [p.name for p in parameters])
        if match.name not in kwargs:
            if match.default is match.empty or isinstance(item, int):
                raise self._make_missing_error(item, args, kwargs, [p.name for p in parameters])
            kwargs[match.name] = match.default
        return match.name

    def _make_missing_error(
        self, item: int | str, args: list[Any], kwargs: dict[str, Any], names: list[str]
    ) -> Exception:
        given = f"{len(args)} positional argument{'' if len(args) == 1 else 's'}"
        if kwargs:
            given += " and " + ", ".join(map(repr, kwargs))
        known = f"; its parameters are ({', '.join(names)})" if names else ""
        return ArgumentError(
            f"{self.op}: argnums names argument {item!r}, but"
            f" {get_function_name(self.function)} was called with {given}{known}; pass that"
            " argument or change argnums"
        )


def get_function_name(function: Any) -> str:
    """The name of a function in messages."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _check_argnums(op: str, argnums: Any) -> tuple[tuple[int | str, ...], bool]:
    single = not isinstance(argnums, tuple | list)
    items = (argnums,) if single else tuple(argnums)
    if not items:
        raise ArgumentError(f"{op}: argnums is empty; name at least one argument")
    for item in items:
        if isinstance(item, str):
            continue
        if isinstance(item, bool) or not _is_integer(item):
            raise _make_argnums_error(op, argnums, item)
    return tuple(i if isinstance(i, str) else i.__index__() for i in items), single


def _is_integer(item: Any) -> bool:
    """Whether a value is an integer: arrays have `__index__`, which most refuse."""
    try:
        index(item)
    except TypeError:
        return False
    return True


def _make_argnums_error(op: str, argnums: Any, item: Any) -> Exception:
    what, further = f"{argnums!r}", ""
    if isinstance(argnums, Tensor | np.ndarray):
        kind = "a tensor" if isinstance(argnums, Tensor) else "an array"
        what = f"{kind} of shape {tuple(argnums.shape)}"
    if isinstance(item, Tensor | np.ndarray | float):
        arguments = "x, v" if op == "hvp" else "x"
        further = f"; for the derivative at a point call fg.{op}(f)({arguments})"
    return ArgumentTypeError(
        f"{op}: argnums is {what}; give an integer, a name, or a tuple of them{further}"
    )


def _make_function_error(op: str, given: Any) -> Exception:
    tensors = isinstance(given, Tensor) or (
        isinstance(given, list | tuple)
        and any(isinstance(g, Tensor) for g in sequence_items(given))
    )
    if tensors:
        other = f"fg.{op} transforms a function"
        if op in ("grad", "value_and_grad", "elementwise_grad"):
            other += "; for gradients of tensors call fg.autograd.grad(outputs, inputs)"
        else:
            other += "; pass the function that computed the tensor"
        return ArgumentTypeError(f"{op}: the first argument is a tensor, but {other}")
    return ArgumentTypeError(
        f"{op}: the first argument is of type {type(given).__name__}; pass the function to"
        " differentiate"
    )


def set_wrapper_name(wrapper: Callable[..., Any], function: Any, prefix: str) -> Callable[..., Any]:
    """Sets the name of a transformed function, and the original function for its signature."""
    wrapper.__name__ = wrapper.__qualname__ = f"{prefix}_{get_function_name(function)}"
    wrapper.__doc__ = getattr(function, "__doc__", None)
    wrapper.__wrapped__ = function  # type: ignore[attr-defined]
    return wrapper
