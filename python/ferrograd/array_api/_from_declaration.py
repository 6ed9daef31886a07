"""Makes functions of the array API standard from operations of the core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ferrograd import _core
from ferrograd._core import Tensor


class Unary(Protocol):
    """A function of one array."""

    def __call__(self, x: Any, /) -> Tensor: ...


class Binary(Protocol):
    """A function of two arrays, or of an array and a number."""

    def __call__(self, x1: Any, x2: Any, /) -> Tensor: ...


def set_function_name(call: Any, name: str, ours: Any) -> Any:
    """The function under the standard's name, with the operation's description."""
    call.__name__ = call.__qualname__ = name
    call.__module__ = "ferrograd.array_api"
    call.__doc__ = ours.__doc__
    return call


def make_unary(name: str) -> Unary:
    """The core's operation as a function of the standard of one array."""
    ours = getattr(_core, name)

    def call(x: Any, /) -> Tensor:
        made: Tensor = ours(x)
        return made

    made: Unary = set_function_name(call, name, ours)
    return made


def make_numpy_unary(function: Callable[..., Any], name: str) -> Unary:
    """NumPy's function of one array as a function of the standard."""

    def call(x: Any, /) -> Tensor:
        made: Tensor = function(_core.asarray(x))
        return made

    made: Unary = set_function_name(call, name, function)
    made.__doc__ = (function.__doc__ or "").strip().splitlines()[0]
    return made


def make_binary(name: str) -> Binary:
    """The core's operation as a function of the standard of two arrays."""
    ours = getattr(_core, name)

    def call(x1: Any, x2: Any, /) -> Tensor:
        made: Tensor = ours(x1, x2)
        return made

    made: Binary = set_function_name(call, name, ours)
    return made
