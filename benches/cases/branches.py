"""Backward through graphs of many shapes: what running their branches side by side brings.

Each graph is built once and timed with one thread and with two; `lanes` compares the schedules.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from harness import Case

from .common import tensor

BACKWARD = "loss.backward(retain_graph=True)"


class Leaves:
    """Makes the leaves of a graph, and holds them as a program holds its parameters.

    A gradient is added to those that somebody holds, here as in PyTorch; nobody could see another.
    """

    def __init__(self, library: str) -> None:
        self.library = library
        self.made: list[Any] = []
        self.rng = np.random.default_rng(0)

    def of(self, values: Any, dtype: str = "float32") -> Any:
        """A leaf of these values."""
        self.made.append(tensor(self.library, values, grad=True, dtype=dtype))
        return self.made[-1]

    def normal(self, *shape: int) -> Any:
        """Normal numbers whose products keep their size."""
        return self.of(self.rng.normal(size=shape) / shape[0] ** 0.5)


def graph(build: Callable[[Leaves], Any]) -> Callable[[str], dict[str, Any]]:
    """The names of a case: the loss that `build` computes, and the leaves."""

    def setup(library: str) -> dict[str, Any]:
        leaves = Leaves(library)
        return {"loss": build(leaves), "leaves": leaves.made}

    return setup


def matmuls(branches: int, depth: int, n: int) -> Any:
    """Each branch: `depth` times a product of n × n and tanh."""

    def build(leaves: Leaves) -> Any:
        x, loss = leaves.normal(n, n), 0.0
        for _ in range(branches):
            y = x
            for _ in range(depth):
                y = (y @ leaves.normal(n, n)).tanh()
            loss = loss + y.sum()
        return loss

    return graph(build)


def elementwise(size: int) -> Any:
    """64 branches of a handful of element-wise operations on `size` elements."""

    def build(leaves: Leaves) -> Any:
        x, loss = leaves.of(leaves.rng.normal(size=size), "float64"), 0.0
        for _ in range(64):
            w = leaves.of(leaves.rng.normal(size=size), "float64")
            loss = loss + ((x * w).tanh() * w).sum()
        return loss

    return graph(build)


@graph
def chain(leaves: Leaves) -> Any:
    """2 000 operations on 100 elements, one after the other."""
    y, w = leaves.normal(100), leaves.of(np.ones(100))
    for _ in range(1_000):
        y = (y * w).tanh()
    return y.sum()


@graph
def residual(leaves: Leaves) -> Any:
    """12 blocks of a network 256 wide, batch 128: y + relu(y a) b."""
    y = leaves.normal(128, 256)
    for _ in range(12):
        y = y + (y @ leaves.normal(256, 256)).relu() @ leaves.normal(256, 256)
    return y.sum()


@graph
def wide(leaves: Leaves) -> Any:
    """Four layers 1 024 wide, batch 256."""
    y = leaves.normal(256, 1024).detach()
    for _ in range(4):
        y = (y @ leaves.normal(1024, 1024)).tanh()
    return y.sum()


def lattice(n: int, products: int) -> Any:
    """Random sums of products of earlier results, n × n each: many dependencies."""

    def build(leaves: Leaves) -> Any:
        nodes = [leaves.normal(n, n) for _ in range(8)]
        for _ in range(products):
            i, j = leaves.rng.integers(max(0, len(nodes) - 40), len(nodes), 2)
            nodes.append((nodes[i] @ nodes[j]).tanh())
        loss = nodes[-1].sum()
        for node in nodes[-40:-1]:
            loss = loss + node.sum()
        return loss

    return graph(build)


CASES = [
    Case(f"backward: {what}", BACKWARD, setup, threads=threads, unit="ms")
    for what, setup in [
        ("64 branches of 2 × (192² matmul, tanh)", matmuls(64, 2, 192)),
        ("32 branches of 3 × (64² matmul, tanh)", matmuls(32, 3, 64)),
        ("64 branches, 1 000 elements", elementwise(1_000)),
        ("64 branches, 100 000 elements", elementwise(100_000)),
        ("chain of 2 000 operations", chain),
        ("residual network 256 wide", residual),
        ("MLP 1 024 wide", wide),
        ("random lattice of 500 × (40² matmul, tanh)", lattice(40, 500)),
    ]
    for threads in (1, 2)
]

# Graphs near the thresholds of the parallel walk, by the size of their pieces.
PIECES = {
    "64 branches of a 24² matmul, tanh": matmuls(64, 1, 24),
    "64 branches of a 40² matmul, tanh": matmuls(64, 1, 40),
    "32 branches of 3 × (32² matmul, tanh)": matmuls(32, 3, 32),
    "64 branches, 3 000 elements": elementwise(3_000),
    "64 branches, 10 000 elements": elementwise(10_000),
    "random lattice of 500 × (24² matmul, tanh)": lattice(24, 500),
    "random lattice of 300 × (64² matmul, tanh)": lattice(64, 300),
    "random lattice of 200 × (96² matmul, tanh)": lattice(96, 200),
}
