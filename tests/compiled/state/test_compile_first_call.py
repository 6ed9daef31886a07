"""The first call of a compiled function changes what it changes once, wherever it is made."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy as fnp

X = np.ones(3)

TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda f: f(X),
    "tensor": lambda f: f(fg.tensor(X)),
    "leaf": lambda f: f(fg.tensor(X, requires_grad=True)),
    "no_grad": lambda f: fg.no_grad()(f)(X),
    "grad": lambda f: fg.grad(f)(X),
    "value_and_grad": lambda f: fg.value_and_grad(f)(X),
    "vjp": lambda f: fg.vjp(f, X),
    "jvp": lambda f: fg.jvp(f, (X,), (X,)),
    "jacobian": lambda f: fg.jacobian(f)(X),
    "within a function": lambda f: fg.grad(lambda x: f(x * 2.0) * 1.0)(X),
    "constants in a transform": lambda f: fg.grad(lambda x: f(X) + x.sum())(X),
}


def unrecorded(s: Any) -> None:
    with fg.no_grad():
        s += 1.0


WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda s: s.add_(1.0),
    "setitem": lambda s: s.__setitem__(..., s + 1.0),
    "no_grad": unrecorded,
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_writes_of_a_first_call_happen_once(transform: str, write: str) -> None:
    count = fg.zeros(())

    def f(x: Any) -> Any:
        WRITES[write](count)
        return (x * x).sum()

    compiled = fg.compile(f)
    for calls in range(1, 4):
        TRANSFORMS[transform](compiled)
        assert count.item() == calls


def test_batches_are_counted_once() -> None:
    norm = fg.nn.BatchNorm1d(3)
    compiled = fg.compile(norm)
    x = np.random.default_rng(0).random((5, 3))
    for calls in range(1, 4):
        fg.grad(lambda x: (compiled(x) ** 2).sum())(x)
        assert norm.num_batches_tracked.item() == calls


def test_values_of_a_first_call_are_computed_once() -> None:
    def f(x: Any) -> Any:
        m = fnp.zeros(())

        def inner(z: Any) -> Any:
            m.__iadd__(z.sum())
            return z.sum()

        fg.compile(inner)(x)
        return m * 1

    value, slope = fg.value_and_grad(f)(X)
    assert value == 3
    assert slope.tolist() == [1, 1, 1]
