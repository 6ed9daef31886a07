"""Functions that leave reference cycles, which keep alive what a call computed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy as fnp

X = np.array([0.3, 0.7, 1.1])


def recursive(p: Any) -> Any:
    def power(n: int) -> Any:
        return p[0] if n == 0 else fnp.sin(power(n - 1)) * p[1]

    return power(5)


def remembering(p: Any) -> Any:
    known: dict[int, Any] = {}

    def power(n: int) -> Any:
        if n not in known:
            known[n] = p[0] if n == 0 else fnp.sin(power(n - 1)) * p[1]
        return known[n]

    return power(5)


class Model:
    def __init__(self, p: Any) -> None:
        self.p, self.f = p, self.step

    def step(self) -> Any:
        return (self.p**2).sum()


class Node:
    def __init__(self, value: Any, parent: Any = None) -> None:
        self.value, self.parent, self.children = value, parent, []
        if parent is not None:
            parent.children.append(self)


def tree(p: Any) -> Any:
    root = Node(p[0])
    leaf = Node(p[1] * root.value, root)
    return leaf.value * root.children[0].parent.value


FUNCTIONS = {"a recursion": recursive, "a memory": remembering, "a tree": tree}
FUNCTIONS["a bound method"] = lambda p: Model(p).f()
WAYS: dict[str, Callable[[Any], Any]] = {
    "compiled": lambda f: fg.compile(fg.value_and_grad(f)),
    "a compiled function": lambda f: fg.value_and_grad(fg.compile(f)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_leaves_a_cycle(name: str, way: str) -> None:
    f = FUNCTIONS[name]
    run = WAYS[way](f)
    for k in range(8):
        for found, expected in zip(run(X + k), fg.value_and_grad(f)(X + k), strict=True):
            np.testing.assert_array_equal(found, expected)
    compiled = fg.compile(f)
    for k in range(8):
        compiled(X + k)
    assert len(compiled.programs) == 1


def test_what_is_kept_is_refused() -> None:
    kept = []

    @fg.compile
    def f(p: Any) -> Any:
        kept.append(p * 2)
        return p.sum()

    def called() -> None:
        for k in range(8):
            f(X + k)

    with pytest.raises(fg.errors.CompileError, match="kept after each call"):
        called()
