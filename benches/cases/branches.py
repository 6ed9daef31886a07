"""Backward through 64 independent branches: what running branches side by side brings."""

from typing import Any

import numpy as np

from harness import Case

from .common import tensor

BRANCHES = 64


def matmuls(library: str) -> dict[str, Any]:
    """Each branch: two times a 192x192 product and tanh."""
    rng = np.random.default_rng(0)
    x = tensor(library, rng.normal(size=(192, 192)) / 14, grad=True, dtype="float32")
    loss = 0.0
    for _ in range(BRANCHES):
        y = x
        for _ in range(2):
            weight = rng.normal(size=(192, 192)) / 14
            y = (y @ tensor(library, weight, grad=True, dtype="float32")).tanh()
        loss = loss + y.sum()
    return {"loss": loss}


def elementwise(size: int) -> Any:
    """Each branch: a handful of element-wise operations on `size` elements."""

    def setup(library: str) -> dict[str, Any]:
        rng = np.random.default_rng(0)
        x = tensor(library, rng.normal(size=size), grad=True)
        loss = 0.0
        for _ in range(BRANCHES):
            w = tensor(library, rng.normal(size=size), grad=True)
            loss = loss + ((x * w).tanh() * w).sum()
        return {"loss": loss}

    return setup


BACKWARD = "loss.backward(retain_graph=True)"

CASES = [
    Case(f"64 branches, {what}: backward", BACKWARD, setup, threads=threads, unit="ms")
    for what, setup in [
        ("2 × (192² matmul, tanh)", matmuls),
        ("1 000 elements", elementwise(1_000)),
        ("100 000 elements", elementwise(100_000)),
    ]
    for threads in (1, 2)
]
