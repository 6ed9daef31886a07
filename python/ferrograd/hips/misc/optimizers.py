"""Gradient descent on nested values: `sgd`, `rmsprop`, `adam`.

Invariant: the arguments are not changed; the result has their structure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ferrograd.hips.misc.flatten import flatten

Gradient = Callable[[Any, int], Any]
Callback = Callable[[Any, int, Any], Any] | None


def _accept_nested_values(optimize: Callable[..., Any]) -> Callable[..., Any]:
    """Lets an optimiser of vectors take nested values."""

    @wraps(optimize)
    def optimize_nested(
        grad: Gradient, x0: Any, callback: Callback = None, *args: Any, **kwargs: Any
    ) -> Any:
        start, unflatten = flatten(x0)

        def flat_gradient(x: Any, step: int) -> Any:
            return flatten(grad(unflatten(x), step))[0]

        def nested_callback(x: Any, step: int, slope: Any) -> Any:
            return None if callback is None else callback(unflatten(x), step, unflatten(slope))

        return unflatten(optimize(flat_gradient, start, nested_callback, *args, **kwargs))

    return optimize_nested


@_accept_nested_values
def sgd(
    grad: Gradient,
    x: Any,
    callback: Callback = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Gradient descent with momentum `mass`. `grad(x, step)` returns the gradient."""
    velocity = np.zeros(len(x))
    for step in range(num_iters):
        slope = grad(x, step)
        if callback:
            callback(x, step, slope)
        velocity = mass * velocity - (1.0 - mass) * slope
        x = x + step_size * velocity
    return x


@_accept_nested_values
def rmsprop(
    grad: Gradient,
    x: Any,
    callback: Callback = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Steps divided by the root of a running mean of squared gradients."""
    square = np.ones(len(x))
    for step in range(num_iters):
        slope = grad(x, step)
        if callback:
            callback(x, step, slope)
        square = gamma * square + (1.0 - gamma) * slope**2
        x = x - step_size * slope / (np.sqrt(square) + eps)
    return x


@_accept_nested_values
def adam(
    grad: Gradient,
    x: Any,
    callback: Callback = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Adam: running means of gradient and square, without their bias at the beginning."""
    mean, square = np.zeros(len(x)), np.zeros(len(x))
    for step in range(num_iters):
        slope = grad(x, step)
        if callback:
            callback(x, step, slope)
        mean = b1 * mean + (1.0 - b1) * slope
        square = b2 * square + (1.0 - b2) * slope**2
        mean_hat = mean / (1.0 - b1 ** (step + 1))
        square_hat = square / (1.0 - b2 ** (step + 1))
        x = x - step_size * mean_hat / (np.sqrt(square_hat) + eps)
    return x
