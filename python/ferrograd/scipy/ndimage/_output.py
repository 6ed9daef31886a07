"""`output=` of image functions with tensors.

Invariant: a filled tensor has the history of the result; an array has none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy

from ferrograd._core import Tensor, is_grad_enabled
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.numpy._tensor_arguments import holds_tensor

F = TypeVar("F", bound=Callable[..., Any])


def support_output(function: F) -> F:
    """Adds SciPy's parameter `output` to a function: a dtype, or memory for the result.

    A tensor is filled in place and gets the history of the result. Errors: `ShapeError` for another
    shape, `ArgumentError` for an array that would lose the history of the result.
    """
    code = function.__code__
    position = code.co_varnames.index("output")

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        named = "output" in kwargs
        output = kwargs["output"] if named else args[position] if position < len(args) else None
        if output is None or not holds_tensor([*args, *kwargs.values()]):
            return function(*args, **kwargs)
        if named:
            kwargs = {**kwargs, "output": None}
        else:
            args = (*args[:position], None, *args[position + 1 :])
        return _write_output(function.__name__, function(*args, **kwargs), output)

    return wrapped  # type: ignore[return-value]


def _write_output(name: str, found: Any, output: Any) -> Any:
    if isinstance(output, str | type | numpy.dtype):
        return found.astype(numpy.dtype(output))
    if tuple(output.shape) != tuple(found.shape):
        raise ShapeError(
            f"{name}: output has shape {tuple(output.shape)} and the result {tuple(found.shape)};"
            " give memory of the shape of the result"
        )
    if isinstance(output, Tensor):
        output[...] = found
        return output
    if isinstance(found, Tensor) and found.requires_grad and is_grad_enabled():
        raise ArgumentError(
            f"{name}: output is an array, which would lose the history of the result; give a"
            " tensor, or no output"
        )
    output[...] = found.detach().numpy() if isinstance(found, Tensor) else found
    return output
