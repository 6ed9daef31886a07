"""Whether the arrays that a program makes must be able to take tensors.

Owns: the rule, and the mark of functions that the engine calls outside a transform: repetitions of
checkpoints, bodies of loops that run in Python. Never makes an array.
"""

import threading
from collections.abc import Callable
from typing import Any

from ferrograd._core import _is_in_transform, _is_recording_program, is_grad_enabled


class _Marks(threading.local):
    """How many marked functions this thread is in, and how many whose arrays record."""

    calls = 0
    depth = 0


_marks = _Marks()


def records() -> bool:
    """Whether a transform, a recording or a marked function runs here.

    Under `no_grad()` nothing that is written has a derivative, but a recorded program must see the
    write.
    """
    if _is_recording_program():
        return True
    return (_is_in_transform() or _marks.depth > 0) and is_grad_enabled()


def recording(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function in which arrays are made as while a transform runs."""
    _marks.depth += 1
    try:
        return repeating(function, *args, **kwargs)
    finally:
        _marks.depth -= 1


def repeating(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function whose arguments are leaves in place of tensors that have a history."""
    _marks.calls += 1
    try:
        return function(*args, **kwargs)
    finally:
        _marks.calls -= 1


def repeats() -> bool:
    """Whether a leaf may stand for a tensor of the program that has a history."""
    return _marks.calls > 0
