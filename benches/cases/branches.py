"""Backward through graphs of many shapes: what running their branches side by side brings.

Each graph is built once and timed with one thread and with two; `lanes` compares the schedules.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from harness import Case

from .common import make_tensor

BACKWARD = "loss.backward(retain_graph=True)"


class Leaves:
    """Makes the leaves of a graph, and holds them as a program holds its parameters.

    A gradient is added to those that somebody holds, here as in PyTorch; nobody could see another.
    """

    def __init__(self, library: str) -> None:
        self.library = library
        self.leaves: list[Any] = []
        self.rng = np.random.default_rng(0)

    def make_leaf(self, values: Any, dtype: str = "float32") -> Any:
        """A leaf of these values."""
        self.leaves.append(make_tensor(self.library, values, grad=True, dtype=dtype))
        return self.leaves[-1]

    def make_normal_leaf(self, *shape: int) -> Any:
        """Normal numbers whose products keep their size."""
        return self.make_leaf(self.rng.normal(size=shape) / shape[0] ** 0.5)


def make_graph_setup(build: Callable[[Leaves], Any]) -> Callable[[str], dict[str, Any]]:
    """The names of a case: the loss that `build` computes, and the leaves."""

    def setup(library: str) -> dict[str, Any]:
        leaves = Leaves(library)
        return {"loss": build(leaves), "leaves": leaves.leaves}

    return setup


def make_matmul_graph(branches: int, depth: int, n: int) -> Any:
    """Each branch: `depth` times a product of n × n and tanh."""

    def build(leaves: Leaves) -> Any:
        x, loss = leaves.make_normal_leaf(n, n), 0.0
        for _ in range(branches):
            y = x
            for _ in range(depth):
                y = (y @ leaves.make_normal_leaf(n, n)).tanh()
            loss = loss + y.sum()
        return loss

    return make_graph_setup(build)


def make_elementwise_graph(size: int) -> Any:
    """64 branches of a handful of element-wise operations on `size` elements."""

    def build(leaves: Leaves) -> Any:
        x, loss = leaves.make_leaf(leaves.rng.normal(size=size), "float64"), 0.0
        for _ in range(64):
            w = leaves.make_leaf(leaves.rng.normal(size=size), "float64")
            loss = loss + ((x * w).tanh() * w).sum()
        return loss

    return make_graph_setup(build)


@make_graph_setup
def set_up_chain(leaves: Leaves) -> Any:
    """2 000 operations on 100 elements, one after the other."""
    y, w = leaves.make_normal_leaf(100), leaves.make_leaf(np.ones(100))
    for _ in range(1_000):
        y = (y * w).tanh()
    return y.sum()


@make_graph_setup
def set_up_residual_network(leaves: Leaves) -> Any:
    """12 blocks of a network 256 wide, batch 128: y + relu(y a) b."""
    y = leaves.make_normal_leaf(128, 256)
    for _ in range(12):
        y = y + (y @ leaves.make_normal_leaf(256, 256)).relu() @ leaves.make_normal_leaf(256, 256)
    return y.sum()


@make_graph_setup
def set_up_wide_mlp(leaves: Leaves) -> Any:
    """Four layers 1 024 wide, batch 256."""
    y = leaves.make_normal_leaf(256, 1024).detach()
    for _ in range(4):
        y = (y @ leaves.make_normal_leaf(1024, 1024)).tanh()
    return y.sum()


def make_lattice_graph(n: int, products: int) -> Any:
    """Random sums of products of earlier results, n × n each: many dependencies."""

    def build(leaves: Leaves) -> Any:
        nodes = [leaves.make_normal_leaf(n, n) for _ in range(8)]
        for _ in range(products):
            i, j = leaves.rng.integers(max(0, len(nodes) - 40), len(nodes), 2)
            nodes.append((nodes[i] @ nodes[j]).tanh())
        loss = nodes[-1].sum()
        for node in nodes[-40:-1]:
            loss = loss + node.sum()
        return loss

    return make_graph_setup(build)


CASES = [
    Case(f"backward: {what}", BACKWARD, setup, threads=threads, unit="ms")
    for what, setup in [
        ("64 branches of 2 × (192² matmul, tanh)", make_matmul_graph(64, 2, 192)),
        ("32 branches of 3 × (64² matmul, tanh)", make_matmul_graph(32, 3, 64)),
        ("64 branches, 1 000 elements", make_elementwise_graph(1_000)),
        ("64 branches, 100 000 elements", make_elementwise_graph(100_000)),
        ("chain of 2 000 operations", set_up_chain),
        ("residual network 256 wide", set_up_residual_network),
        ("MLP 1 024 wide", set_up_wide_mlp),
        ("random lattice of 500 × (40² matmul, tanh)", make_lattice_graph(40, 500)),
    ]
    for threads in (1, 2)
]

# Graphs near the thresholds of the parallel walk, by the size of their pieces.
SMALL_GRAPHS = {
    "64 branches of a 24² matmul, tanh": make_matmul_graph(64, 1, 24),
    "64 branches of a 40² matmul, tanh": make_matmul_graph(64, 1, 40),
    "32 branches of 3 × (32² matmul, tanh)": make_matmul_graph(32, 3, 32),
    "64 branches, 3 000 elements": make_elementwise_graph(3_000),
    "64 branches, 10 000 elements": make_elementwise_graph(10_000),
    "random lattice of 500 × (24² matmul, tanh)": make_lattice_graph(24, 500),
    "random lattice of 300 × (64² matmul, tanh)": make_lattice_graph(64, 300),
    "random lattice of 200 × (96² matmul, tanh)": make_lattice_graph(96, 200),
}
