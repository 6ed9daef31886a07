"""Whether new arrays of a program must be able to hold tensors.

`_core._records_arrays` is true while a transform, a trace or a marked function runs.
"""

import threading
from collections.abc import Callable
from typing import Any

from ferrograd._core import _switch_recorded_arrays


class _RepetitionCount(threading.local):
    """The number of running functions of this thread whose arguments replace other tensors."""

    calls = 0


_marks = _RepetitionCount()


def call_with_recorded_arrays(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Calls a function in which arrays are made as while a transform runs."""
    before = _switch_recorded_arrays(True)
    try:
        return call_as_repetition(function, *args, **kwargs)
    finally:
        _switch_recorded_arrays(before)


def call_as_repetition(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Calls a function with leaves in place of tensors that have a history."""
    _marks.calls += 1
    try:
        return function(*args, **kwargs)
    finally:
        _marks.calls -= 1


def is_repetition() -> bool:
    """Whether a leaf may replace a tensor with a history."""
    return _marks.calls > 0
