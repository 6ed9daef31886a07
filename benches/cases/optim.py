"""Steps of optimisers over lists of float32 parameters, with gradients that stay."""

from itertools import pairwise
from typing import Any

import numpy as np

from harness import Case

from .common import import_library, make_tensor

PARAMETER_SHAPES: dict[str, list[tuple[int, ...]]] = {
    "16x16": [(16, 16)],
    "MLP 784-256-256-10": [s for a, b in pairwise((784, 256, 256, 10)) for s in ((a, b), (b,))],
    "100 of 64x64": [(64, 64)] * 100,
    "4M": [(1 << 22,)],
}
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {"lr": 1e-3}),
    "SGD, momentum": ("SGD", {"lr": 1e-3, "momentum": 0.9}),
    "Adam": ("Adam", {"lr": 1e-3}),
    "AdamW": ("AdamW", {"lr": 1e-3}),
}


def make_setup(rule: str, shapes: list[tuple[int, ...]]) -> Any:
    def setup(library: str) -> dict[str, Any]:
        rng = np.random.default_rng(0)
        parameters = []
        for shape in shapes:
            p = make_tensor(library, rng.normal(size=shape), grad=True, dtype="float32")
            p.grad = make_tensor(library, rng.normal(size=shape), dtype="float32")
            parameters.append(p)
        name, options = RULES[rule]
        return {"run": getattr(import_library(library).optim, name)(parameters, **options).step}

    return setup


CASES = [
    Case(
        f"{rule}, {name}",
        "run()",
        make_setup(rule, shapes),
        threads=threads,
        unit="ms" if name == "4M" else "µs",
    )
    for name, shapes in PARAMETER_SHAPES.items()
    for rule in RULES
    for threads in ((1, 2) if name != "16x16" else (1,))
]
