"""Every element-wise operation with a NumPy, SciPy or PyTorch namesake, 4M elements, one thread.

The operations come from the registry, so a new one is measured without a line here; `RANGES` gives
operands where the default would leave the domain. Each library allocates its result.
"""

import importlib.util
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ferrograd import _core
from harness import Case

from .common import import_library, make_tensor

N = 1 << 22
FLOATS = ("float64", "float32")
FAMILIES = ("arithmetic", "elementwise", "extremes", "activation", "comparison", "bitwise")
DEFAULT_RANGE = (-3.0, 3.0)
RANGES: dict[str, tuple[tuple[float, float], ...]] = {
    "sqrt": ((0, 100),),
    "rsqrt": ((0.01, 100),),
    "exp": ((-10, 10),),
    "log": ((0.01, 100),),
    "log2": ((0.01, 100),),
    "log10": ((0.01, 100),),
    "log1p": ((-0.9, 10),),
    "sin": ((-10, 10),),
    "cos": ((-10, 10),),
    "tan": ((-10, 10),),
    "arcsin": ((-0.99, 0.99),),
    "arccos": ((-0.99, 0.99),),
    "arccosh": ((1, 50),),
    "arctanh": ((-0.99, 0.99),),
    "arcsinh": ((-50, 50),),
    "erfinv": ((-0.99, 0.99),),
    "lgamma": ((0.1, 20),),
    "digamma": ((0.1, 20),),
    "logit": ((0.01, 0.99),),
    "rint": ((-100, 100),),
    "floor": ((-100, 100),),
    "ceil": ((-100, 100),),
    "trunc": ((-100, 100),),
    "power": ((0.1, 10), (-3, 3)),
    "floor_divide": ((-100, 100), (0.5, 3)),
    "remainder": ((-100, 100), (0.5, 3)),
    "fmod": ((-100, 100), (0.5, 3)),
    "xlogy": ((0, 3), (0.1, 3)),
    "left_shift": ((0, 100), (0, 10)),
    "right_shift": ((0, 100), (0, 10)),
}
INTEGER_OPERATIONS = (
    "add",
    "multiply",
    "maximum",
    "floor_divide",
    "remainder",
    "abs",
    "equal",
    "less",
)
# Where PyTorch has another name; its functions of networks are found in nn.functional.
TORCH_NAMES = {
    "arctan2": "atan2",
    "rint": "round",
    "equal": "eq",
    "power": "pow",
    "cbrt": "",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
}
# Not one loop over equal operands: composed of several, or with a parameter of another kind.
EXCLUDED = {"isclose", "allclose", "array_equal", "round", "polygamma", "prelu"}
# Numbers behind the operands.
SCALAR_ARGUMENTS = {"threshold": [0.5, 0.0]}
# The floors against PyTorch; the aim is 1.
MEMORY_BOUND_GOALS = dict.fromkeys(("add", "subtract", "multiply", "maximum", "minimum"), 0.95)
FUNCTION_GOALS = dict.fromkeys(("exp", "log", "tanh", "sigmoid", "gelu", "erf", "sin", "cos"), 0.65)
DTYPE_GOALS = {("gelu", "float32"): 0.5, ("erf", "float64"): 0.5}


def find_attribute(library: str, path: str) -> Any:
    """A function by its dotted path, or None."""
    found: Any = import_library(library)
    *folders, last = path.split(".")
    for folder in folders:
        found = getattr(found, folder, None)
    return getattr(found, last, None)


def find_function(library: str, row: dict[str, Any]) -> Callable[..., Any] | None:
    """The namesake of an operation in a library, or None."""
    if library == "ferrograd":
        own = getattr(import_library("ferrograd"), row["name"], None)
        return own or getattr(importlib.import_module("ferrograd.nn").functional, row["name"])
    if library == "torch":
        name = TORCH_NAMES.get(row["name"], row["name"])
        return find_attribute("torch", name) or find_attribute("torch", f"nn.functional.{name}")
    for name in row["numpy"]:
        if name.startswith("scipy."):
            _, part, function = name.split(".")
            if importlib.util.find_spec("scipy") is None:
                return None
            return getattr(importlib.import_module(f"scipy.{part}"), function)
        return find_attribute("numpy", name)
    return None


@lru_cache(maxsize=2)
def make_operands(name: str, count: int, dtype: str) -> list[np.ndarray]:
    """The operands, the same for every library."""
    rng = np.random.default_rng(7)
    ranges = RANGES.get(name, ())
    drawn = []
    for k in range(count):
        low, high = ranges[min(k, len(ranges) - 1)] if ranges else DEFAULT_RANGE
        if dtype == "int64":
            values = rng.integers(int(low) if ranges else -100, int(high) + 1 if ranges else 101, N)
            drawn.append(np.where(values == 0, 1, values) if k else values)
        else:
            drawn.append(rng.uniform(low, high, N).astype(dtype))
    return drawn


def set_up(row: dict[str, Any], count: int, dtype: str, library: str) -> dict[str, Any] | None:
    """The function and its operands; None without a namesake."""
    f = find_function(library, row)
    if f is None:
        return None
    operands = make_operands(row["name"], count, dtype)
    if library != "numpy":
        operands = [make_tensor(library, x, dtype=dtype) for x in operands]
    return {"f": f, "operands": [*operands, *SCALAR_ARGUMENTS.get(row["name"], [])]}


def count_operands(row: dict[str, Any]) -> int:
    """How many tensors an operation takes."""
    return sum(p["kind"] in ("Tensor", "Operand") and not p["optional"] for p in row["params"])


def get_dtypes(row: dict[str, Any]) -> tuple[str, ...]:
    if row["family"] == "bitwise":
        return ("int64",)
    return (*FLOATS, "int64") if row["name"] in INTEGER_OPERATIONS else FLOATS


def make_cases() -> Iterator[Case]:
    """Two or three cases for every operation."""
    for row in _core._registry():
        name = row["name"]
        if row["family"] not in FAMILIES or name in EXCLUDED:
            continue
        for dtype in get_dtypes(row):
            goal = DTYPE_GOALS.get(
                (name, dtype), {**MEMORY_BOUND_GOALS, **FUNCTION_GOALS}.get(name)
            )
            yield Case(
                f"{name} {dtype}",
                "f(*operands)",
                partial(set_up, row, count_operands(row), dtype),
                unit="ms",
                goal=None if dtype == "int64" else goal,
                peers=("numpy", "torch"),
            )


CASES = list(make_cases())
