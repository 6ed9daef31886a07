"""Values that a function closes over.

Invariant: SciPy gets arrays, and nothing is recorded for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._dispatch.on_arrays import detached
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import NotDifferentiableError
from ferrograd.hips.tracer import isbox


def refuse_closure(name: str, value: Any) -> None:
    """Refuses a result that requires grad although the arguments do not."""
    if is_grad_enabled() and isbox(value):
        raise NotDifferentiableError(
            f"{name}: func depends on a value that requires grad and is not among its arguments;"
            " pass it in args=(...,)"
        )


def on_arrays(func: Callable[..., Any]) -> Callable[..., Any]:
    """The function with arrays for arguments and for a result."""

    def plain(*args: Any) -> Any:
        with no_grad():
            found = func(*args)
            if not isinstance(found, numpy.ndarray | numpy.number | float):
                found = np.asarray(found)
        return found.detach().numpy() if isinstance(found, Tensor) else found

    return plain


def floats(value: Any) -> Any:
    """An array or a tensor of floats from anything that NumPy accepts; neither is copied."""
    value = np.asarray(value)
    return value if value.dtype.kind in "fc" else value.astype(float)


def fixed(value: Any) -> Any:
    """The value without its history, for decisions; a tensor stays a tensor."""
    return value.detach() if isinstance(value, Tensor) else value


def plain(value: Any) -> Any:
    """The value without its history, as a float array."""
    return numpy.asarray(detached(value), dtype=float)
