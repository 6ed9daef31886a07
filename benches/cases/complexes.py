"""Complex numbers beside NumPy and PyTorch: element by element, with a gradient, and products.

Every library allocates its result. PyTorch's `conj` only sets a bit, so `conj_physical` is timed.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from harness import Case

from .common import import_library

DTYPES = ("complex64", "complex128")
SIZES = {"1k": 1000, "1M": 1 << 20}
#: Operations with the number of their operands.
OPERATIONS = {
    "add": 2,
    "multiply": 2,
    "divide": 2,
    "abs": 1,
    "exp": 1,
    "log": 1,
    "sqrt": 1,
    "conj": 1,
    "sum": 1,
    "mean": 1,
    "prod": 1,
}
#: Where PyTorch's namesake does something else.
TORCH_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "conj": lambda x: import_library("torch").conj_physical(x),
}
#: Batches of square products: how many, and their size.
BATCH_SHAPES = ((256, 8), (64, 32), (16, 128))


def make_values(shape: tuple[int, ...], dtype: str, seed: int, library: str) -> Any:
    """Numbers around the unit circle, the same for every library."""
    rng = np.random.default_rng(seed)
    drawn = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return drawn if library == "numpy" else import_library(library).tensor(drawn)


def set_up_operation(name: str, n: int, dtype: str, library: str) -> dict[str, Any]:
    """`f` and its operands."""
    f = TORCH_FUNCTIONS.get(name) if library == "torch" else None
    operands = [make_values((n,), dtype, seed, library) for seed in range(OPERATIONS[name])]
    if name == "prod":  # no overflow
        operands = [operands[0] / abs(operands[0])]
    return {"f": f or getattr(import_library(library), name), "operands": operands}


def set_up_chain(n: int, dtype: str, library: str) -> dict[str, Any] | None:
    """`step` records six operations of complex numbers and a real loss, and goes back."""
    if library == "numpy":
        return None
    home = import_library(library)
    a, x = make_values((n,), dtype, 1, library), make_values((n,), dtype, 2, library)
    x.requires_grad_(True)

    def step() -> Any:
        x.grad = None
        y = home.exp(a * x * 0.1) / (a + 3.0)
        (home.abs(y - x) ** 2).sum().backward()
        return x.grad

    return {"f": step, "operands": ()}


def set_up_product(shape: tuple[int, ...], dtype: str, library: str) -> dict[str, Any]:
    """`f` multiplies two stacks of square matrices."""
    operands = [make_values(shape, dtype, seed, library) for seed in (1, 2)]
    return {"f": import_library(library).matmul, "operands": operands}


def make_cases() -> Iterator[Case]:
    """Every operation at both sizes, the large one with two threads too; then products."""
    rows: list[tuple[str, Any, tuple[int, ...]]] = []
    for dtype in DTYPES:
        for size, n in SIZES.items():
            threads = (1,) if n < 10_000 else (1, 2)
            for name in OPERATIONS:
                rows.append(
                    (f"{name} {dtype} {size}", partial(set_up_operation, name, n, dtype), threads)
                )
            rows.append(
                (f"chain {dtype} {size}, backward", partial(set_up_chain, n, dtype), threads)
            )
        for n in (16, 32, 64, 128, 256, 512):
            threads = (1,) if n < 128 else (1, 2)
            rows.append((f"product {dtype} {n}²", partial(set_up_product, (n, n), dtype), threads))
        for count, n in BATCH_SHAPES:
            name = f"{count} products {dtype} {n}²"
            rows.append((name, partial(set_up_product, (count, n, n), dtype), (1, 2)))
    for name, setup, threads in rows:
        for count in threads:
            yield Case(
                f"complex: {name}",
                "f(*operands)",
                setup,
                unit="µs",
                threads=count,
                goal=1.0,
                peers=("numpy", "torch"),
            )


CASES = list(make_cases())
