"""Operations under SciPy's names.

During a trace of a program that reads an array's memory, results are also tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._core import Tensor, _is_computed_anew
from ferrograd.numpy._tensor_arguments import holds_tensor


def _to_array(out: Any) -> Any:
    if not isinstance(out, Tensor) or _is_computed_anew(out):
        return out
    return out.numpy().copy()[()]


def wrap_operation(ours: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Wraps an operation so that it returns arrays if no argument is a tensor."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        out = ours(*args, **kwargs)
        if holds_tensor([*args, *kwargs.values()]):
            return out
        if isinstance(out, tuple):
            return tuple(map(_to_array, out))
        return _to_array(out)

    wrapped.__name__ = wrapped.__qualname__ = name
    wrapped.__doc__ = ours.__doc__
    return wrapped
