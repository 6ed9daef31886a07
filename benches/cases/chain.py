"""Chains of one-element operations: forward, backward and release, per operation."""

from typing import Any

from harness import Case

from .common import import_library, make_tensor

LENGTH = 1_000
DEPTH = 100_000


def set_up_chain(library: str) -> dict[str, Any] | None:
    if library in ("jax", "autograd"):
        return {"run": make_traced_chain(library)}
    x, w = make_tensor(library, [1.0], grad=True), make_tensor(library, [1.0000001], grad=True)

    def run(length: int) -> None:
        y = x
        for _ in range(length):
            y = y * w
        y.backward()

    return {"run": run}


def make_traced_chain(library: str) -> Any:
    """The same chain for libraries that differentiate functions (traced at each call)."""
    import numpy as np

    gradient_of = import_library(library).grad

    def run(length: int) -> None:
        def f(w):
            y = w
            for _ in range(length):
                y = y * w
            return y

        gradient_of(f)(np.float64(1.0000001))

    return run


def set_up_forward(library: str) -> dict[str, Any] | None:
    x, w = make_tensor(library, [1.0], grad=True), make_tensor(library, [1.0000001], grad=True)

    def run(length: int) -> None:
        y = x
        for _ in range(length):
            y = y * w

    return {"run": run}


CASES = [
    Case(
        "chain of 1 000: forward + backward, per operation",
        f"run({LENGTH})",
        set_up_chain,
        per=LENGTH,
        goal=12,
        peers=("torch", "autograd", "mygrad"),
    ),
    Case("chain of 1 000: forward and release", f"run({LENGTH})", set_up_forward, per=LENGTH),
    Case("chain of 100 000: forward + backward", f"run({DEPTH})", set_up_chain, per=DEPTH, goal=12),
]
