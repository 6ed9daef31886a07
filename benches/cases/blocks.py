"""Kernels that work on blocks: products, softmax, normalisation, convolution, factorisations.

Forward cases run without recording; "backward" cases time forward and backward together.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from harness import Case

from .common import import_library, make_tensor

SIZES = (64, 128, 256, 512, 1024, 2048)
LAYOUTS = {"a @ b": "a @ b", "aᵀ @ b": "a.T @ b", "a @ bᵀ": "a @ b.T"}
GOALS = {1: 0.97, 2: 0.8}


def get_functional(library: str) -> Any:
    """The module with the functions of networks."""
    return import_library(library).nn.functional


def make_setup(shapes: dict[str, tuple[int, ...]], dtype: str, grad: bool = False) -> Any:
    """A setup that names random tensors, the library and its functions."""

    def setup(library: str) -> dict[str, Any]:
        rng = np.random.default_rng(0)
        names = {
            name: make_tensor(library, rng.normal(size=shape), grad=grad, dtype=dtype)
            for name, shape in shapes.items()
        }
        axis = {"axis": -1} if library == "ferrograd" else {"dim": -1}
        return {**names, "lib": import_library(library), "F": get_functional(library), "axis": axis}

    return setup


def make_product_cases() -> list[Case]:
    """Square products in three layouts, both widths."""
    return [
        Case(
            f"{text}, {n}³, {dtype}",
            statement,
            make_setup({"a": (n, n), "b": (n, n)}, dtype),
            threads=threads,
            unit="µs",
            goal=GOALS[threads],
        )
        for threads, dtype, n, (text, statement) in product(
            GOALS, ("float32", "float64"), SIZES, LAYOUTS.items()
        )
    ]


def make_batch_cases() -> list[Case]:
    """Batched products: many small ones, and one matrix for the whole batch."""
    shapes = {
        "64 × 32³": ((64, 32, 32), (64, 32, 32)),
        "16 × 128³": ((16, 128, 128), (16, 128, 128)),
        "(64, 32, 128) @ (128, 128)": ((64, 32, 128), (128, 128)),
    }
    return [
        Case(
            f"batch {name}, float32",
            "a @ b",
            make_setup({"a": a, "b": b}, "float32"),
            threads=threads,
            unit="µs",
            goal=GOALS[threads],
        )
        for threads, (name, (a, b)) in product(GOALS, shapes.items())
    ]


def add_backward(statement: str) -> str:
    """Forward and backward with a fixed incoming gradient."""
    return f"({statement}).backward(g)"


def make_forward_backward_cases(
    name: str, statement: str, shapes: dict[str, tuple[int, ...]], out: tuple[int, ...], goal: float
) -> list[Case]:
    """Forward alone, and forward with backward."""

    def setup(library: str) -> dict[str, Any]:
        g = np.random.default_rng(1).normal(size=out)
        names = make_setup(shapes, "float32", grad=True)(library)
        return {**names, "g": make_tensor(library, g, dtype="float32")}

    return [
        Case(f"{name}: forward", statement, make_setup(shapes, "float32"), unit="µs", goal=goal),
        Case(f"{name}: forward + backward", add_backward(statement), setup, unit="µs", goal=goal),
    ]


def make_row_cases() -> list[Case]:
    """What is fused along rows, 512 × 1 000 in float32 (layer norms: 512 × 768)."""
    x, y = (512, 1000), (512, 768)
    affine = {"x": y, "w": y[1:], "b": y[1:]}
    return [
        *make_forward_backward_cases("softmax", "lib.softmax(x, **axis)", {"x": x}, x, 0.8),
        *make_forward_backward_cases("log_softmax", "lib.log_softmax(x, **axis)", {"x": x}, x, 0.8),
        *make_forward_backward_cases("layer_norm", "F.layer_norm(x, (768,), w, b)", affine, y, 0.8),
        *make_forward_backward_cases(
            "rms_norm", "F.rms_norm(x, (768,), w)", {"x": y, "w": y[1:]}, y, 0.8
        ),
        *make_forward_backward_cases("gelu", "F.gelu(x)", {"x": x}, x, 0.5),
        Case(
            "cross_entropy: forward + backward", "run()", set_up_cross_entropy, unit="µs", goal=0.8
        ),
    ]


def set_up_cross_entropy(library: str) -> dict[str, Any]:
    """The mean loss of 512 rows of 1 000 classes and its gradient."""
    rng = np.random.default_rng(0)
    x = make_tensor(library, rng.normal(size=(512, 1000)), grad=True, dtype="float32")
    labels = make_tensor(library, rng.integers(0, 1000, 512), dtype="int64")
    loss = get_functional(library).cross_entropy
    return {"run": lambda: loss(x, labels).backward()}


CONVOLUTIONS = {
    "32×3×32×32 → 16, 3×3": ((32, 3, 32, 32), (16, 3, 3, 3)),
    "32×16×32×32 → 32, 3×3": ((32, 16, 32, 32), (32, 16, 3, 3)),
    "8×64×28×28 → 64, 3×3": ((8, 64, 28, 28), (64, 64, 3, 3)),
}


def make_convolution_cases() -> list[Case]:
    """Forward and backward of a convolution by image and kernel."""

    def setup(image: tuple[int, ...], kernel: tuple[int, ...]) -> Callable[[str], dict[str, Any]]:
        def names(library: str) -> dict[str, Any]:
            rng = np.random.default_rng(0)
            x = make_tensor(library, rng.normal(size=image), grad=True, dtype="float32")
            w = make_tensor(library, rng.normal(size=kernel), grad=True, dtype="float32")
            conv = get_functional(library).conv2d
            g = rng.normal(size=(image[0], kernel[0], *image[2:]))
            g = make_tensor(library, g, dtype="float32")
            return {"run": lambda: conv(x, w, padding=1).backward(g)}

        return names

    return [
        Case(
            f"conv2d {name}: forward + backward",
            "run()",
            setup(*shapes),
            threads=threads,
            unit="µs",
            goal=0.7,
        )
        for threads, (name, shapes) in product((1, 2), CONVOLUTIONS.items())
    ]


def set_up_factorisation(library: str) -> dict[str, Any]:
    """A positive definite matrix of 300 rows and a right side."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(300, 300))
    spd = a @ a.T + 300 * np.eye(300)
    return {
        "a": make_tensor(library, a),
        "spd": make_tensor(library, spd),
        "b": make_tensor(library, rng.normal(size=(300, 10))),
        "lib": import_library(library),
    }


FACTORISATIONS = {
    "solve, 10 right sides": "lib.linalg.solve(a, b)",
    "inv": "lib.linalg.inv(a)",
    "cholesky": "lib.linalg.cholesky(spd)",
    "det": "lib.linalg.det(a)",
    "qr": "lib.linalg.qr(a)",
    "eigh": "lib.linalg.eigh(spd)",
    "svd": "lib.linalg.svd(a)",
}

CASES = [
    *make_product_cases(),
    *make_batch_cases(),
    *make_row_cases(),
    *make_convolution_cases(),
    *(
        Case(f"{name}, n = 300, float64", statement, set_up_factorisation, unit="µs")
        for name, statement in FACTORISATIONS.items()
    ),
]
