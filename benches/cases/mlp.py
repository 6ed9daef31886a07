"""A training step of a network 784-256-256-10, batch 128, float32: by hand, and by `optim.SGD`."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from harness import Case

from .common import import_library, make_tensor

SIZES = (784, 256, 256, 10)
BATCH, RATE = 128, 0.01


def make_network(library: str) -> tuple[list[Any], Callable[[], Any]]:
    """The parameters, of which a step may put others in the list, and the loss."""
    rng = np.random.default_rng(0)
    images = make_tensor(library, rng.normal(size=(BATCH, SIZES[0])), dtype="float32")
    labels = make_tensor(library, rng.integers(0, SIZES[-1], BATCH), dtype="int64")
    parameters = []
    for rows, columns in pairwise(SIZES):
        weight = rng.normal(size=(rows, columns)) / rows**0.5
        parameters.append(make_tensor(library, weight, grad=True, dtype="float32"))
        parameters.append(make_tensor(library, np.zeros(columns), grad=True, dtype="float32"))
    lib = import_library(library)
    cross_entropy = lib.nn.functional.cross_entropy if library == "torch" else lib.cross_entropy

    def loss() -> Any:
        w1, b1, w2, b2, w3, b3 = parameters
        hidden = ((images @ w1 + b1).relu() @ w2 + b2).relu()
        return cross_entropy(hidden @ w3 + b3, labels)

    return parameters, loss


def set_up_functional_step(library: str) -> dict[str, Any]:
    """New parameters are made of the old ones."""
    lib = import_library(library)
    parameters, loss = make_network(library)
    gradients_of = lib.autograd.grad

    def run() -> None:
        gradients = gradients_of(loss(), parameters)
        with lib.no_grad():
            parameters[:] = [
                (p - g * RATE).requires_grad_() for p, g in zip(parameters, gradients, strict=True)
            ]

    return {"run": run}


def set_up_optimizer_step(library: str) -> dict[str, Any]:
    """`optim.SGD` changes the parameters where they lie."""
    parameters, loss = make_network(library)
    optimizer = import_library(library).optim.SGD(parameters, lr=RATE)

    def run() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return {"run": run}


STEPS = {
    "MLP training step": set_up_functional_step,
    "MLP training step, optim.SGD": set_up_optimizer_step,
}
CASES = [
    Case(name, "run()", setup, threads=threads, unit="ms")
    for name, setup in STEPS.items()
    for threads in (1, 2)
]
