"""Compiled derivatives of derivatives have the bits of eager ones, to the fourth order.

What is recorded must not depend on whether somebody captures: a node more in the graph of one
derivative takes the sums of the next in another order.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy as fnp

Function = Callable[[Any], Any]

FUNCTIONS: dict[str, Function] = {
    "x": lambda x: x,
    "tanh": fnp.tanh,
    "sin": fnp.sin,
    "exp": fnp.exp,
    "sigmoid": lambda x: 1.0 / (1.0 + fnp.exp(-x)),
    "log1p": lambda x: fnp.log1p(x * x),
    "sqrt": lambda x: fnp.sqrt(1.0 + x),
    "power": lambda x: x**3,
    "quotient": lambda x: x / (2.0 + fnp.cos(x)),
    "where": lambda x: fg.where(x > 0.5, x * x, fnp.sinh(x)),
    "constant": lambda x: 1.5,
}
POINTS = np.linspace(0.1, 0.9, 9)


def product(seed: int) -> Function:
    """A random product of two or three functions, or the sum of such a product and another."""
    rng = np.random.default_rng(seed)
    names = list(FUNCTIONS)
    parts = [FUNCTIONS[names[k]] for k in rng.integers(0, len(names), 4)]
    repeated = bool(rng.integers(0, 2))

    def f(x: Any) -> Any:
        value = parts[0](x) * parts[1](x) * (parts[0](x) if repeated else parts[2](x))
        return value + x * parts[3](value)

    return f


def nested(f: Function, transforms: Iterable[Any]) -> Function:
    for transform in transforms:
        f = transform(f)
    return f


def along(f: Function) -> Function:
    """The derivative along a direction that depends on the point."""
    return lambda x: fg.jvp(f, (x,), (x * 0.0 + 1.0,))[1]


def summed(transform: Any) -> Any:
    return lambda f: transform(lambda x: fg.sum(f(x)))


def differ(f: Function, points: Iterable[Any]) -> list[Any]:
    compiled = fg.compile(f)
    found = [(x, np.asarray(f(x)), np.asarray(compiled(x))) for x in points for _ in range(2)]
    return [x for x, a, b in found if a.tobytes() != b.tobytes()]


def of_kind(kind: str) -> list[Any]:
    if kind == "float":
        return [float(x) for x in POINTS]
    if kind == "0-d":
        return [np.array(x) for x in POINTS]
    return [POINTS[:1], POINTS[3:4], POINTS[::-1].copy(), POINTS]


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("kind", ["float", "0-d"])
@pytest.mark.parametrize("seed", range(6))
def test_gradients_of_gradients(seed: int, kind: str, order: int) -> None:
    f = nested(product(seed), [fg.grad] * order)
    assert differ(f, of_kind(kind)) == []


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_gradients_of_sums_of_gradients(seed: int, order: int) -> None:
    f = nested(product(seed), [summed(fg.grad)] * order)
    assert differ(f, of_kind("1-d")) == []
    assert differ(f, of_kind("float")) == []


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["float", "0-d"])
@pytest.mark.parametrize(
    "transforms",
    [(fg.grad, along, fg.grad), (along, fg.grad, fg.grad), (fg.grad, fg.grad, along), (along,) * 3],
    ids=["grad of jvp of grad", "grad of grad of jvp", "jvp of grad of grad", "jvps"],
)
def test_forward_and_reverse(seed: int, kind: str, transforms: Any) -> None:
    assert differ(nested(product(seed), transforms), of_kind(kind)) == []


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("outer", [fg.hessian, fg.jacobian, fg.grad])
def test_hessians_of_gradients(seed: int, outer: Any) -> None:
    inner = summed(fg.grad)(product(seed))
    if outer is fg.grad:
        f = fg.grad(lambda x: fg.sum(fg.hessian(lambda x: fg.sum(product(seed)(x)))(x) ** 2))
    elif outer is fg.hessian:
        f = fg.hessian(lambda x: fg.sum(inner(x) ** 2))
    else:
        f = outer(lambda x: inner(x) * x)
    assert differ(f, [POINTS[:3], POINTS[3:6]]) == []


def test_the_examples_that_differed() -> None:
    for f, order in [
        (lambda x: fnp.tanh(x) * fnp.tanh(x), 3),
        (lambda x: x * fnp.sin(x), 4),
        (lambda x: x / (1.0 + fnp.exp(-x)), 3),
    ]:
        assert differ(nested(f, [fg.grad] * order), map(float, np.linspace(0.1, 0.9, 40))) == []


def test_gradients_that_share_memory_are_copied_alike() -> None:
    def f(x: Any, y: Any) -> Any:
        gx, gy = fg.grad(lambda x, y: fnp.tanh(x + y) ** 2, (0, 1))(x, y)
        hx = fg.grad(lambda x: fg.grad(lambda x: gx * fnp.sin(x) * x)(x) * gy)(x)
        return hx * gx + gy

    g = nested(lambda x: f(x, x * x), [fg.grad] * 2)
    assert differ(g, of_kind("float")) == []


def test_the_recorded_graph_is_that_of_a_plain_call() -> None:
    """A gradient that is recorded is a copy in neither."""
    names: list[str] = []

    def f(x: Any) -> Any:
        (slope,) = fg.autograd.grad([fnp.tanh(x) * x], [x], create_graph=True)
        names.append(slope.grad_fn.name())
        return slope.detach()

    x = fg.tensor([0.5], requires_grad=True)
    f(x)
    fg.compile(lambda t: f(fg.tensor([0.5], requires_grad=True)) + t)(np.ones(1))
    assert names[0] == names[1] == "AddBackward"
