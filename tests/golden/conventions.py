"""Writes `conventions.json`: derivatives that PyTorch and JAX give at special points.

Run it with a Python that has both: `python tests/golden/conventions.py`. Owns: the names of the
element-wise functions there, and the points. Never imports ferrograd.
"""

import json
import math
from pathlib import Path
from typing import Any

INF, NAN = math.inf, math.nan
POINTS = (0.0, INF, -INF, NAN, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 6.0)
PAIRS = (
    *((0.0, 0.0), (1.0, 1.0), (NAN, 1.0), (1.0, NAN), (INF, INF), (INF, 1.0), (1.0, INF)),
    *((0.0, 1.0), (1.0, 0.0)),
)
FILE = Path(__file__).with_suffix(".json")

#: Where a name is not the operation's own: PyTorch's, then JAX's; "" for none.
NAMES = {
    "arcsin": ("asin", "arcsin"),
    "arccos": ("acos", "arccos"),
    "arctan": ("atan", "arctan"),
    "arcsinh": ("asinh", "arcsinh"),
    "arccosh": ("acosh", "arccosh"),
    "arctanh": ("atanh", "arctanh"),
    "arctan2": ("atan2", "arctan2"),
    "power": ("pow", "power"),
    "rint": ("round", "rint"),
    "erf": ("erf", "jax.scipy.special.erf"),
    "erfc": ("erfc", "jax.scipy.special.erfc"),
    "erfinv": ("erfinv", "jax.scipy.special.erfinv"),
    "lgamma": ("lgamma", "jax.scipy.special.gammaln"),
    "digamma": ("digamma", "jax.scipy.special.digamma"),
    "logit": ("logit", "jax.scipy.special.logit"),
    "xlogy": ("xlogy", "jax.scipy.special.xlogy"),
    "logsigmoid": ("nn.functional.logsigmoid", "jax.nn.log_sigmoid"),
    "gelu": ("nn.functional.gelu", ""),
    "softsign": ("nn.functional.softsign", "jax.nn.soft_sign"),
    "hardtanh": ("nn.functional.hardtanh", "jax.nn.hard_tanh"),
    "hardsigmoid": ("nn.functional.hardsigmoid", "jax.nn.hard_sigmoid"),
    "hardswish": ("nn.functional.hardswish", "jax.nn.hard_swish"),
    "rsqrt": ("rsqrt", "jax.lax.rsqrt"),
    "leaky_relu": ("nn.functional.leaky_relu", "jax.nn.leaky_relu"),
    "logaddexp2": ("logaddexp2", "logaddexp2"),
}


def found(home: Any, path: str) -> Any:
    for part in path.split("."):
        home = getattr(home, part, None)
    return home


def of_torch(name: str) -> Any:
    import torch

    path = NAMES.get(name, (name, name))[0]
    return found(torch, path) or found(torch.nn.functional, path)


def of_jax(name: str) -> Any:
    import jax

    path = NAMES.get(name, (name, name))[1]
    if not path:
        return None
    if path.startswith("jax."):
        return found(jax, path[4:])
    return found(jax.numpy, path) or found(jax.nn, path)


def torch_slopes(f: Any, at: tuple[float, ...]) -> list[float] | None:
    import torch

    xs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in at]
    f(*xs).backward()
    return [0.0 if x.grad is None else x.grad.item() for x in xs]


def jax_slopes(f: Any, at: tuple[float, ...]) -> list[float]:
    import jax

    return [float(g) for g in jax.grad(f, tuple(range(len(at))))(*at)]


def recorded(operations: dict[str, int]) -> dict[str, Any]:
    """The derivatives by library, operation and point."""
    import jax

    jax.config.update("jax_enable_x64", True)
    table: dict[str, Any] = {"PyTorch": {}, "JAX": {}}
    for library, lookup, slopes in (
        ("PyTorch", of_torch, torch_slopes),
        ("JAX", of_jax, jax_slopes),
    ):
        for name, operands in operations.items():
            f = lookup(name)
            if f is None:
                continue
            row = {}
            for at in PAIRS if operands == 2 else [(x,) for x in POINTS]:
                try:
                    row[repr(at)] = slopes(f, at)
                except (RuntimeError, TypeError, ValueError) as refused:
                    print(library, name, at, refused)
                    break
            else:
                table[library][name] = row
    return table


def write(known: dict[str, Any]) -> None:
    """The file, with a line for each operation."""
    parts = []
    for library in ("PyTorch", "JAX"):
        rows = (f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in known[library].items())
        parts.append(f' "{library}": {{\n' + ",\n".join(rows) + "\n }")
    parts.append(f' "operations": {json.dumps(known["operations"])}')
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    known = json.loads(FILE.read_text())
    write({**known, **recorded(known["operations"])})
