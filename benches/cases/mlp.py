"""One training step of a network 784-256-256-10, batch 128, float32."""

from itertools import pairwise
from typing import Any

import numpy as np

from harness import Case

from .common import module, tensor

SIZES = (784, 256, 256, 10)
BATCH, RATE = 128, 0.01


def step(library: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    images = tensor(library, rng.normal(size=(BATCH, SIZES[0])), dtype="float32")
    labels = tensor(library, rng.integers(0, SIZES[-1], BATCH), dtype="int64")
    parameters = []
    for rows, columns in pairwise(SIZES):
        weight = rng.normal(size=(rows, columns)) / rows**0.5
        parameters.append(tensor(library, weight, grad=True, dtype="float32"))
        parameters.append(tensor(library, np.zeros(columns), grad=True, dtype="float32"))
    lib = module(library)
    cross_entropy = lib.nn.functional.cross_entropy if library == "torch" else lib.cross_entropy
    gradients_of = lib.autograd.grad

    def run() -> None:
        w1, b1, w2, b2, w3, b3 = parameters
        hidden = ((images @ w1 + b1).relu() @ w2 + b2).relu()
        loss = cross_entropy(hidden @ w3 + b3, labels)
        gradients = gradients_of(loss, parameters)
        with lib.no_grad():
            parameters[:] = [
                (p - g * RATE).requires_grad_() for p, g in zip(parameters, gradients, strict=True)
            ]

    return {"run": run}


CASES = [Case("MLP training step", "run()", step, threads=threads, unit="ms") for threads in (1, 2)]
