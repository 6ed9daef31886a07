"""Makes `complex.npz`: functions of complex numbers, exact to the last digit of a float64.

Owns: the choice of arguments. Run it by hand: `python tests/golden/complex.py`; it needs mpmath.
Invariant: the seed is fixed, so that the file is the same each time.
"""

from pathlib import Path

import mpmath
import numpy as np

# So many that nothing cancels for the smallest arguments.
mpmath.mp.dps = 600

FUNCTIONS = {
    "exp": mpmath.exp,
    "exp2": lambda z: mpmath.power(2, z),
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log2": lambda z: mpmath.log(z) / mpmath.log(2),
    "log10": lambda z: mpmath.log(z) / mpmath.log(10),
    "log1p": lambda z: mpmath.log(1 + z),
    "sqrt": mpmath.sqrt,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
    "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
    "sinc": lambda z: mpmath.sin(mpmath.pi * z) / (mpmath.pi * z),
    "reciprocal": lambda z: 1 / z,
}


def arguments(name: str, random: np.random.Generator) -> np.ndarray:
    """Points of all sizes, near the unit circle, near the axes and near 1."""
    size = 10.0 ** random.uniform(-8, 1.2, 120)
    turn = random.uniform(-np.pi, np.pi, 120)
    points = [size * np.exp(1j * turn), np.exp(1j * turn[:40]) * (1 + 1e-9 * size[:40])]
    points.append(random.normal(size=40) + 1j * 10.0 ** random.uniform(-12, -3, 40))
    points.append(10.0 ** random.uniform(-12, -3, 40) + 1j * random.normal(size=40))
    points.append(1 + 10.0 ** random.uniform(-9, -2, 40) * np.exp(1j * turn[:40]))
    if name in ("log", "sqrt", "reciprocal", "arctan", "arctanh", "arcsinh", "arccosh"):
        points.append(10.0 ** random.uniform(-250, 250, 40) * np.exp(1j * turn[:40]))
    return np.concatenate(points)


def main() -> None:
    random = np.random.default_rng(14)
    made = {}
    for name, function in FUNCTIONS.items():
        z = arguments(name, random)
        exact = [function(mpmath.mpc(v.real, v.imag)) for v in z]
        made[f"{name}/z"] = z
        made[f"{name}/value"] = np.array([complex(float(w.real), float(w.imag)) for w in exact])
    np.savez_compressed(Path(__file__).with_suffix(".npz"), **made)


if __name__ == "__main__":
    main()
