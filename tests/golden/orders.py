"""Writes `orders.npz`: derivatives of special functions by orders and parameters, from mpmath.

Run it with an interpreter that has mpmath: `python tests/golden/orders.py`. For every function the
rows hold the arguments, and after them the derivative by each order or parameter.
"""

from itertools import product
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 40
ORDERS = (0.0, 0.3, 1.0, 2.5, 7.0, 20.3, 60.0, -0.4, -1.0, -2.7)
BESSEL = {"jv": mp.besselj, "yv": mp.bessely, "iv": mp.besseli, "kv": mp.besselk}
FIRST, SECOND, THIRD = (0.3, -2.0, 2.7, 8.5), (0.5, 1.4, -1.0), (2.2, 0.7, 10.0)
#: Functions with the number of parameters and the arguments.
CASES: dict[str, tuple[Any, int, Any]] = {
    **{
        name: (f, 1, product(ORDERS, (1e-6, 0.1, 1.0, 5.0, 40.0, 300.0)))
        for name, f in BESSEL.items()
    },
    "hyp2f1": (mp.hyp2f1, 3, product(FIRST, SECOND, THIRD, (-40.0, -0.9, 0.0, 0.3, 0.95))),
    "hyp1f1": (mp.hyp1f1, 2, product(FIRST, (0.7, 10.0), (-40.0, -5.0, -0.1, 0.3, 40.0))),
}


def slope(function: Any, args: tuple[float, ...], k: int) -> float:
    """A central difference with 40 digits."""
    step, ends = mp.mpf(10) ** -13, []
    for sign in (1, -1):
        given = [mp.mpf(a) for a in args]
        given[k] += sign * step
        ends.append(function(*given))
    return float((ends[0] - ends[1]) / (2 * step))


def main() -> None:
    """Writes the file beside this script."""
    found = {}
    for name, (function, count, arguments) in CASES.items():
        rows = [(*args, *(slope(function, args, k) for k in range(count))) for args in arguments]
        kept = [row for row in rows if all(1e-290 < abs(v) < 1e290 for v in row[-count:])]
        found[name] = np.array(kept)
    np.savez_compressed(Path(__file__).with_name("orders.npz"), **found)


if __name__ == "__main__":
    main()
