"""Reductions, running folds, orders and choices over 4M elements beside NumPy and PyTorch."""

import importlib
from functools import partial
from typing import Any

import numpy as np

from harness import Case

from .common import import_library, make_tensor

N = 1 << 22
LINE = 1 << 18  # of what sorts: NumPy's comparison sorts of 4M elements take half a second
SHAPE = (2048, 2048)
FLOATS = ("float64", "float32")

# Our statement; NumPy's and PyTorch's where they differ. `x` is flat, `m` a matrix, `s` a short
# line, `i` indices, `c` a condition.
STATEMENTS: list[tuple[str, str | None, str | None, float | None]] = [
    ("lib.sum(x)", None, None, 0.95),
    ("lib.prod(x)", None, None, None),
    ("lib.mean(x)", None, None, None),
    ("lib.max(x)", None, None, 0.95),
    ("lib.min(x)", None, None, None),
    ("lib.var(x)", None, None, None),
    ("lib.argmax(x)", None, None, None),
    ("lib.any(x)", None, None, None),
    ("lib.all(x)", None, None, None),
    ("lib.count_nonzero(x)", None, None, None),
    ("lib.nansum(x)", None, None, None),
    ("lib.norm(x)", "lib.linalg.norm(x)", None, None),
    ("lib.logsumexp(x, 0)", "special.logsumexp(x, 0)", None, None),
    ("lib.sum(m, axis=0)", None, None, None),
    ("lib.sum(m, axis=1)", None, None, None),
    ("lib.max(m, axis=0)", None, "lib.amax(m, 0)", None),
    ("lib.max(m, axis=1)", None, "lib.amax(m, 1)", None),
    ("lib.argmax(m, axis=0)", None, None, None),
    ("lib.argmax(m, axis=1)", None, None, None),
    ("lib.cumsum(x, 0)", None, None, None),
    ("lib.cumsum(m, 0)", None, None, None),
    ("lib.cumsum(m, 1)", None, None, None),
    ("lib.cumprod(m, 1)", None, None, None),
    ("lib.sort(s, 0)", None, None, None),
    (
        "lib.argsort(s, 0)",
        "lib.argsort(s, 0, kind='stable')",
        "lib.argsort(s, stable=True, dim=0)",
        None,
    ),
    ("lib.sort(m, 1)", None, None, None),
    ("lib.topk(s, 100)", "lib.partition(s, -100)[-100:]", None, None),
    ("lib.median(s)", None, None, None),
    ("lib.unique(s)", None, None, None),
    ("lib.searchsorted(t, s)", None, None, None),
    ("lib.where(c, x, y)", None, None, None),
    ("lib.clip(x, -1.0, 1.0)", None, None, None),
    ("x * 2.0", None, None, None),
    ("x ** 2", None, None, None),
    ("x ** 3", None, None, None),
    ("x[c]", None, None, None),
    ("x[i]", None, None, None),
    ("x[::2] + y[::2]", None, None, None),
    ("m + m.T", None, None, None),
    ("m + r", None, None, None),
    ("lib.take(x, i)", None, None, None),
    ("lib.concatenate([x, y])", None, None, None),
]


def make_names(dtype: str, library: str) -> dict[str, Any]:
    """What the statements use."""
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal(N).astype(dtype) for _ in range(2))
    arrays = {
        "x": x,
        "y": y,
        "m": x.reshape(SHAPE),
        "r": y[: SHAPE[1]],
        "s": x[:LINE],
        "t": np.sort(y[:LINE]),
    }
    rest = {"i": rng.integers(0, N, N // 4), "c": x > 0}
    if library == "numpy":
        special = importlib.import_module("scipy.special")
        return {"lib": np, "special": special, **arrays, **rest}
    made = {name: make_tensor(library, a, dtype=dtype) for name, a in arrays.items()}
    made |= {name: make_tensor(library, a, dtype=str(a.dtype)) for name, a in rest.items()}
    return {"lib": import_library(library), **made}


def set_up(code: dict[str, str], dtype: str, library: str) -> dict[str, Any]:
    """The statement as a function, because the libraries spell it differently."""
    scope = make_names(dtype, library)
    scope["run"] = eval(f"lambda: {code[library]}", scope)
    return scope


def make_case(
    ours: str, numpy: str | None, torch: str | None, goal: float | None, dtype: str
) -> Case:
    """One statement in one dtype."""
    code = {"ferrograd": ours, "numpy": numpy or ours, "torch": torch or ours}
    label = f"{ours.replace('lib.', '')} {dtype}"
    return Case(
        label, "run()", partial(set_up, code, dtype), unit="ms", goal=goal, peers=("numpy", "torch")
    )


CASES = [make_case(*row, dtype) for row in STATEMENTS for dtype in FLOATS]
