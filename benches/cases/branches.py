"""Backward through graphs of many shapes: what running their branches side by side brings.

Each graph is built once and timed with one thread and with two; `lanes` compares the schedules.
"""

from typing import Any

import numpy as np

from harness import Case

from .common import tensor

BACKWARD = "loss.backward(retain_graph=True)"


def normal(library: str, rng: Any, *shape: int, dtype: str = "float32", grad: bool = True) -> Any:
    """Normal numbers whose products keep their size."""
    return tensor(library, rng.normal(size=shape) / shape[0] ** 0.5, grad=grad, dtype=dtype)


def matmuls(branches: int, depth: int, n: int) -> Any:
    """Each branch: `depth` times a product of n × n and tanh."""

    def setup(library: str) -> dict[str, Any]:
        rng = np.random.default_rng(0)
        x = normal(library, rng, n, n)
        loss = 0.0
        for _ in range(branches):
            y = x
            for _ in range(depth):
                y = (y @ normal(library, rng, n, n)).tanh()
            loss = loss + y.sum()
        return {"loss": loss}

    return setup


def elementwise(size: int) -> Any:
    """64 branches of a handful of element-wise operations on `size` elements."""

    def setup(library: str) -> dict[str, Any]:
        rng = np.random.default_rng(0)
        x = tensor(library, rng.normal(size=size), grad=True)
        loss = 0.0
        for _ in range(64):
            w = tensor(library, rng.normal(size=size), grad=True)
            loss = loss + ((x * w).tanh() * w).sum()
        return {"loss": loss}

    return setup


def chain(library: str) -> dict[str, Any]:
    """2 000 operations on 100 elements, one after the other."""
    rng = np.random.default_rng(0)
    x, w = normal(library, rng, 100), tensor(library, np.ones(100), grad=True, dtype="float32")
    y = x
    for _ in range(1_000):
        y = (y * w).tanh()
    return {"loss": y.sum()}


def residual(library: str) -> dict[str, Any]:
    """12 blocks of a network 256 wide, batch 128: y + relu(y a) b."""
    rng = np.random.default_rng(0)
    y = normal(library, rng, 128, 256)
    for _ in range(12):
        y = y + (y @ normal(library, rng, 256, 256)).relu() @ normal(library, rng, 256, 256)
    return {"loss": y.sum()}


def wide(library: str) -> dict[str, Any]:
    """Four layers 1 024 wide, batch 256."""
    rng = np.random.default_rng(0)
    y = normal(library, rng, 256, 1024, grad=False)
    for _ in range(4):
        y = (y @ normal(library, rng, 1024, 1024)).tanh()
    return {"loss": y.sum()}


def lattice(n: int, products: int) -> Any:
    """Random sums of products of earlier results, n × n each: many dependencies."""

    def setup(library: str) -> dict[str, Any]:
        rng = np.random.default_rng(0)
        nodes = [normal(library, rng, n, n) for _ in range(8)]
        for _ in range(products):
            i, j = rng.integers(max(0, len(nodes) - 40), len(nodes), 2)
            nodes.append((nodes[i] @ nodes[j]).tanh())
        loss = nodes[-1].sum()
        for node in nodes[-40:-1]:
            loss = loss + node.sum()
        return {"loss": loss}

    return setup


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
