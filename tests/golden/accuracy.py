"""Writes `accuracy.npz`: arguments of the transcendental operations and their values to 100 digits.

Run it with an interpreter that has mpmath: `python tests/golden/accuracy.py`. For every operation
and width it holds the arguments (`name/float64/x0`, `x1`), the exact value rounded to float64
(`high`), and for float64 what the rounding lost, in units of the last place (`low`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

COUNT = 40  # random arguments for each range
Range = tuple[float, float]
CIRCULAR = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
SAME = (*CIRCULAR, "exp", "expm1", "log1p", "sqrt", "erf", "erfc", "erfinv", "digamma", "hypot")

# Arguments by operation: for each operand the ranges, taken together.
UNARY: dict[str, list[Range]] = {
    "exp": [(-1, 1), (-87, 88), (-740, 709)],
    "exp2": [(-1, 1), (-126, 127), (-1070, 1023)],
    "expm1": [(-1e-5, 1e-5), (-1, 1), (-40, 88), (0, 700)],
    "log": [(0.5, 2), (0.99, 1.01), (0, 1e30), (0, 1e-300)],
    "log2": [(0.5, 2), (0.99, 1.01), (0, 1e30), (0, 1e-300)],
    "log10": [(0.5, 2), (0.99, 1.01), (0, 1e30), (0, 1e-300)],
    "log1p": [(-1e-5, 1e-5), (-0.9, 1), (-1, -0.99), (0, 1e30)],
    "sin": [(-0.8, 0.8), (3.1, 3.2), (-100, 100), (-6e4, 6e4), (1e5, 1e15)],
    "cos": [(-0.8, 0.8), (1.5, 1.6), (-100, 100), (-6e4, 6e4), (1e5, 1e15)],
    "tan": [(-0.8, 0.8), (1.5, 1.6), (-100, 100), (-6e4, 6e4), (1e5, 1e15)],
    "arcsin": [(-1e-4, 1e-4), (-0.5, 0.5), (-1, 1), (0.99, 1)],
    "arccos": [(-1e-4, 1e-4), (-0.5, 0.5), (-1, 1), (0.99, 1)],
    "arctan": [(-1e-4, 1e-4), (-0.5, 0.5), (-3, 3), (-1e5, 1e5)],
    "sinh": [(-1e-4, 1e-4), (-1, 1), (-10, 10), (-89, 89), (-710, 710)],
    "cosh": [(-1e-4, 1e-4), (-1, 1), (-10, 10), (-89, 89), (-710, 710)],
    "tanh": [(-1e-4, 1e-4), (-1, 1), (-10, 10), (-25, 25)],
    "arcsinh": [(-1e-4, 1e-4), (-1, 1), (-10, 10), (-1e30, 1e30), (0, 1e300)],
    "arccosh": [(1, 1.001), (1, 2), (1, 100), (1, 1e30), (1, 1e300)],
    "arctanh": [(-1e-4, 1e-4), (-0.5, 0.5), (-1, 1), (0.99, 1)],
    "cbrt": [(-2, 2), (-1e30, 1e30), (0, 1e-300)],
    "sqrt": [(0, 2), (0, 1e30), (0, 1e-300)],
    "rsqrt": [(0, 2), (0, 1e30), (0, 1e-300)],
    "sigmoid": [(-1, 1), (-40, 40), (-700, -80)],
    "erf": [(-1e-4, 1e-4), (-1, 1), (-3, 3), (-6, 6)],
    "erfc": [(-1, 1), (-5, 5), (0, 10), (0, 26)],
    "erfinv": [(-1e-4, 1e-4), (-0.5, 0.5), (-1, 1), (0.999, 1), (0.9999999, 1)],
    "gelu": [(-1, 1), (-5, 5), (-14, 0), (-37, 0)],
    "softplus": [(-1, 1), (-40, 40), (-700, -80)],
    "logsigmoid": [(-1, 1), (-40, 40), (-700, -80)],
    "silu": [(-1, 1), (-40, 40), (-700, -80)],
    "logit": [(0.45, 0.55), (0, 1), (0, 1e-300)],
    "lgamma": [(0.1, 3), (0, 20), (20, 1e5), (-5, 0)],
    "digamma": [(0.1, 3), (0, 20), (20, 1e5), (-5, 0)],
    "sinc": [(-0.1, 0.1), (-2, 2), (-100, 100)],
}
BINARY: dict[str, list[tuple[Range, Range]]] = {
    "power": [
        ((0.5, 2), (-20, 20)),
        ((0, 100), (-8, 8)),
        ((0.99, 1.01), (-7e4, 7e4)),
        ((0, 1e-30), (0, 1)),
    ],
    "arctan2": [((-3, 3), (-3, 3)), ((-1, 1), (-100, 100)), ((-100, 100), (-1, 1))],
    "hypot": [((-3, 3), (-3, 3)), ((0, 1e-20), (0, 1e-20)), ((0, 1e30), (0, 1e30))],
    "logaddexp": [((-3, 3), (-3, 3)), ((-100, 100), (-100, 100))],
    "logaddexp2": [((-3, 3), (-3, 3)), ((-100, 100), (-100, 100))],
    "xlogy": [((0, 3), (0, 3)), ((0, 3), (0.99, 1.01))],
}


def functions(mp: Any) -> dict[str, Callable[..., Any]]:
    """The reference of every operation."""
    one = mp.mpf(1)

    def softplus(x: Any) -> Any:
        return mp.log1p(mp.exp(x))

    def sinc(x: Any) -> Any:
        return mp.sincpi(x)

    return {
        **{name: getattr(mp, name) for name in SAME},
        **{f"arc{name}": getattr(mp, f"a{name}") for name in CIRCULAR},
        "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
        "exp2": lambda x: mp.mpf(2) ** x,
        "log": mp.log,
        "log2": lambda x: mp.log(x) / mp.log(2),
        "log10": lambda x: mp.log(x) / mp.log(10),
        "rsqrt": lambda x: one / mp.sqrt(x),
        "sigmoid": lambda x: one / (one + mp.exp(-x)),
        "gelu": lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2,
        "softplus": softplus,
        "logsigmoid": lambda x: -softplus(-x),
        "silu": lambda x: x / (one + mp.exp(-x)),
        "logit": lambda x: mp.log(x / (one - x)),
        "lgamma": lambda x: mp.log(abs(mp.gamma(x))) if x < 0 else mp.loggamma(x),
        "sinc": sinc,
        "power": lambda x, y: x**y,
        "arctan2": mp.atan2,
        "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
        "logaddexp2": lambda x, y: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** y) / mp.log(2),
        "xlogy": lambda x, y: x * mp.log(y),
    }


def arguments(name: str, dtype: str) -> list[np.ndarray]:
    """Random arguments of one operation, as the width has them, without zeros and infinities."""
    rng = np.random.default_rng(sum(map(ord, name)))
    rows = BINARY.get(name) or [(r,) for r in UNARY[name]]
    parts = [[rng.uniform(*r, COUNT) for r in row] for row in rows]
    with np.errstate(over="ignore"):
        drawn = [np.concatenate(p).astype(dtype) for p in zip(*parts, strict=True)]
    keep = np.all([np.isfinite(x) & (x != 0) for x in drawn], axis=0)
    inside = {"arccosh": 1, "arctanh": 1, "erfinv": 1, "logit": 1}.get(name)
    keep &= (drawn[0] != inside) if inside else True
    return [x[keep] for x in drawn]


def main() -> None:
    """Evaluates everything."""
    import mpmath as mp

    mp.mp.dps = 100
    known = functions(mp)
    held: dict[str, np.ndarray] = {}
    for name in [*UNARY, *BINARY]:
        for dtype in ("float64", "float32"):
            xs = arguments(name, dtype)
            exact = [known[name](*(mp.mpf(float(v)) for v in row)) for row in zip(*xs, strict=True)]
            limit = mp.mpf(float(np.finfo(dtype).max))
            fits = np.array([abs(e) < limit for e in exact])
            high = np.array([float(e) if abs(e) < limit else 0.0 for e in exact])
            parts = {f"x{k}": x for k, x in enumerate(xs)} | {"high": high}
            if dtype == "float64":
                units = [mp.mpf(float(u)) for u in np.spacing(np.abs(high))]
                lost = [
                    (e - mp.mpf(h)) / u for e, h, u in zip(exact, high.tolist(), units, strict=True)
                ]
                parts["low"] = np.array([float(v) for v in lost], dtype=np.float32)
            held |= {f"{name}/{dtype}/{k}": v[fits] for k, v in parts.items()}
    np.savez_compressed(Path(__file__).with_suffix(".npz"), **held)


if __name__ == "__main__":
    main()
