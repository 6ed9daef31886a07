"""Helpers for rules of functions that broadcast: `unbroadcast_f` and others.

They consist of differentiable operations, so rules that use them can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd.numpy as np
from ferrograd._tensor.creation import parse_shape


def unbroadcast(x: Any, target_meta: Any) -> Any:
    """The sum of `x` over the axes along which an array was broadcast to it.

    The array is described by its shape or by `ferrograd.numpy.metadata`.
    """
    described = bool(target_meta) and isinstance(target_meta[0], tuple)
    shape = tuple(target_meta[0] if described else target_meta)
    extra = np.ndim(x) - len(shape)
    if extra > 0:
        x = np.sum(x, axis=tuple(range(extra)))
    stretched = tuple(
        k for k, (size, found) in enumerate(zip(shape, np.shape(x), strict=True)) if size != found
    )
    return np.sum(x, axis=stretched, keepdims=True) if stretched else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The pullback `f` followed by the sum to the shape of the argument `target`.

    >>> import numpy as np
    >>> from ferrograd.extend import defvjp, primitive
    >>> from ferrograd.numpy.numpy_vjps import unbroadcast_f
    >>> times = primitive(np.multiply)
    >>> defvjp(times, lambda ans, x, y: unbroadcast_f(x, lambda g: g * y), None)
    """
    shape = np.shape(target)
    return lambda g: unbroadcast(f(g), shape)


def repeat_to_match_shape(
    g: Any, shape: Any, dtype: Any, axis: Any, keepdims: bool
) -> tuple[Any, int]:
    """A gradient of a reduction, repeated over the reduced axes, and the number of repetitions."""
    shape = parse_shape("repeat_to_match_shape", (shape,))
    if not shape:
        return g, 1
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis)
    axes = [int(k) % len(shape) for k in axes]
    kept = tuple(1 if k in axes else size for k, size in enumerate(shape))
    count = 1
    for k in axes:
        count *= shape[k]
    return np.reshape(g, kept) + np.zeros(shape, dtype), count
