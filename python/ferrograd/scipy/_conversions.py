"""Values that a function closes over.

Invariant: SciPy gets arrays, and nothing is recorded for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._dispatch.detach import detach_tensors
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import NotDifferentiableError
from ferrograd.hips.tracer import isbox


def check_closure(name: str, value: Any) -> None:
    """Raises if a result requires grad although no argument does."""
    if is_grad_enabled() and isbox(value):
        raise NotDifferentiableError(
            f"{name}: func depends on a value that requires grad and is not among its arguments;"
            " pass it in args=(...,)"
        )


def to_array_function(func: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function of tensors so that it takes and returns arrays."""

    def call_with_arrays(*args: Any) -> Any:
        with no_grad():
            found = func(*args)
            if not isinstance(found, numpy.ndarray | numpy.number | float):
                found = np.asarray(found)
        return found.detach().numpy() if isinstance(found, Tensor) else found

    return call_with_arrays


def as_floats(value: Any) -> Any:
    """Converts to an array or a tensor of floats; arrays and tensors of floats are not copied."""
    value = np.asarray(value)
    return value if value.dtype.kind in "fc" else value.astype(float)


def detach(value: Any) -> Any:
    """The value without its history, for comparisons; a tensor stays a tensor."""
    return value.detach() if isinstance(value, Tensor) else value


def to_float_array(value: Any) -> Any:
    """The value without its history, as a float array."""
    return numpy.asarray(detach_tensors(value), dtype=float)
