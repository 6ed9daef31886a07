"""Chains of one-element operations: forward, backward and release, per operation."""

from typing import Any

from harness import Case

from .common import module, tensor

LENGTH = 1_000
DEPTH = 100_000


def chain(library: str) -> dict[str, Any] | None:
    if library in ("jax", "autograd"):
        return {"run": transformed(library)}
    x, w = tensor(library, [1.0], grad=True), tensor(library, [1.0000001], grad=True)

    def run(length: int) -> None:
        y = x
        for _ in range(length):
            y = y * w
        y.backward()

    return {"run": run}


def transformed(library: str) -> Any:
    """The same chain for libraries that differentiate functions (traced at each call)."""
    import numpy as np

    gradient_of = module(library).grad

    def run(length: int) -> None:
        def f(w):
            y = w
            for _ in range(length):
                y = y * w
            return y

        gradient_of(f)(np.float64(1.0000001))

    return run


def forward(library: str) -> dict[str, Any] | None:
    x, w = tensor(library, [1.0], grad=True), tensor(library, [1.0000001], grad=True)

    def run(length: int) -> None:
        y = x
        for _ in range(length):
            y = y * w

    return {"run": run}


CASES = [
    Case(
        "chain of 1 000: forward + backward, per operation",
        f"run({LENGTH})",
        chain,
        per=LENGTH,
        goal=12,
        peers=("torch", "autograd", "mygrad"),
    ),
    Case("chain of 1 000: forward and release", f"run({LENGTH})", forward, per=LENGTH),
    Case("chain of 100 000: forward + backward", f"run({DEPTH})", chain, per=DEPTH, goal=12),
]
