"""Functions in which the arrays that a program makes take tensors.

Owns: the mark of functions that the engine calls outside a transform: repetitions of checkpoints,
bodies of loops that run in Python. `_core._records_arrays` says whether a transform, a recording or
a marked function runs. Never makes an array.
"""

from collections.abc import Callable
from typing import Any

from ferrograd._core import _switch_recorded_arrays


def recording(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Calls a function in which arrays are made as while a transform runs."""
    before = _switch_recorded_arrays(True)
    try:
        return function(*args, **kwargs)
    finally:
        _switch_recorded_arrays(before)
