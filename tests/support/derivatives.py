"""Derivatives of any order against central differences, along random directions.

Works in float64. Invariant: order n + 1 is order 1 of the gradient that `create_graph` recorded, as
a function of the inputs and of the vector it was taken with.
"""

from collections.abc import Callable, Sequence

import numpy as np

import ferrograd as fg

#: Step of the five-point formula, whose error is of its fourth power.
STEP = 1e-3
DIRECTIONS = 2

Function = Callable[..., Sequence[fg.Tensor]]


def _project(outputs: Sequence[fg.Tensor], weights: Sequence[np.ndarray]) -> float:
    return sum(float(np.sum(o.numpy() * w)) for o, w in zip(outputs, weights, strict=True))


def _slope(
    function: Function,
    values: list[np.ndarray],
    weights: list[np.ndarray],
    direction: list[np.ndarray],
) -> float:
    """The derivative of the projected outputs along a direction, by differences."""

    def at(step: float) -> float:
        moved = [fg.tensor(v + step * d) for v, d in zip(values, direction, strict=True)]
        with fg.no_grad():
            return _project([o.detach() for o in function(*moved)], weights)

    near, far = at(STEP) - at(-STEP), at(2 * STEP) - at(-2 * STEP)
    return (8 * near - far) / (12 * STEP)


def _gradients(
    outputs: Sequence[fg.Tensor],
    inputs: Sequence[fg.Tensor],
    weights: Sequence[fg.Tensor],
    *,
    create_graph: bool,
) -> list[fg.Tensor]:
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
    if not pairs:
        return [fg.zeros_like(x) for x in inputs]
    roots, given = zip(*pairs, strict=True)
    options = {"create_graph": create_graph, "materialize_grads": True}
    return list(fg.autograd.grad(roots, inputs, given, **options))


def _derivative(function: Function, count: int) -> Function:
    """The gradient of `function` as a function of its inputs and of the weights of its outputs."""

    def gradient(*values: fg.Tensor) -> Sequence[fg.Tensor]:
        with fg.enable_grad():
            own = [v if v.requires_grad else v.detach().requires_grad_() for v in values]
            inputs, weights = own[:count], own[count:]
            return _gradients(function(*inputs), inputs, weights, create_graph=True)

    return gradient


def check(
    function: Function, values: list[np.ndarray], order: int, seed: int = 0, rtol: float = 1e-6
) -> None:
    """Asserts that the derivatives up to `order` agree with the slopes of the order below."""
    rng = np.random.default_rng(seed)
    leaves = [fg.tensor(v, requires_grad=True) for v in values]
    outputs = function(*leaves)
    weights = [rng.standard_normal(o.shape) for o in outputs]
    found = _gradients(outputs, leaves, [fg.tensor(w) for w in weights], create_graph=False)
    gradients = [g.numpy().copy() for g in found]
    for g, v in zip(gradients, values, strict=True):
        assert g.shape == v.shape
    del outputs, found
    for _ in range(DIRECTIONS):
        direction = [rng.standard_normal(v.shape) for v in values]
        parts = [g * d for g, d in zip(gradients, direction, strict=True)]
        analytic = sum(float(np.sum(p)) for p in parts)
        numeric = _slope(function, values, weights, direction)
        scale = 1e-3 + sum(float(np.sum(np.abs(p))) for p in parts)
        assert abs(analytic - numeric) <= rtol * scale, (
            f"order {seed + 1}: analytic {analytic!r}, numeric {numeric!r}"
        )
    if order > 1:
        check(_derivative(function, len(values)), values + weights, order - 1, seed + 1, rtol)
