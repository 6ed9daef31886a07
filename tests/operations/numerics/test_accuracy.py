"""How many units in the last place every transcendental operation is off, at every SIMD level.

The exact values are in `golden/accuracy.npz`, made by the script beside it.
"""

import json
import os
import subprocess
import sys
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import ferrograd as fg

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = ("float64", "float32")
# Units in the last place, in float64 and float32: the worst over dense arguments, rounded up.
BOUNDS = {
    **dict.fromkeys(("sqrt", "exp", "log", "sin", "cos"), (1.0, 1.0)),
    **dict.fromkeys(("exp2", "log10", "log1p", "tanh", "cbrt", "hypot", "power"), (1.5, 1.5)),
    **dict.fromkeys(("sigmoid", "erf", "log2", "rsqrt", "cosh", "xlogy"), (2.0, 2.0)),
    **dict.fromkeys(("arcsin", "arccos", "arctan", "arctan2", "logaddexp"), (2.0, 2.0)),
    **dict.fromkeys(("expm1", "sinh", "tan", "arcsinh", "arccosh", "arctanh"), (2.5, 2.5)),
    **dict.fromkeys(("softplus", "logsigmoid", "silu", "logit", "logaddexp2"), (2.5, 2.5)),
    "lgamma": (4.0, 1.0),
    "digamma": (4.0, 1.0),
    "sinc": (3.0, 3.0),
    "erfc": (4.0, 4.0),
    "erfinv": (6.0, 3.0),
    "gelu": (4.5, 12.0),  # 12 where the distribution function is subnormal
}
# Relative precision is lost near the zeros of these: an error below so much is not counted.
ABSOLUTE = {"lgamma": 2e-15, "digamma": 2e-15, "sinc": 2e-16}


@lru_cache
def golden() -> dict[str, np.ndarray]:
    with np.load(ROOT / "golden" / "accuracy.npz") as file:
        return dict(file)


def operation(name: str) -> object:
    return getattr(fg, name, None) or getattr(fg.nn.functional, name)


def ulps(name: str, dtype: str) -> float:
    """The largest distance from the exact values, in units of the last place of the width."""
    held = golden()
    key = f"{name}/{dtype}"
    x = [held[f"{key}/x{k}"] for k in range(2) if f"{key}/x{k}" in held]
    high, low = held[f"{key}/high"], held.get(f"{key}/low", 0.0)
    y = operation(name)(*map(fg.tensor, x)).numpy().astype(np.float64)
    unit = np.spacing(np.abs(high.astype(dtype))).astype(np.float64)
    with np.errstate(invalid="ignore"):
        off = np.abs((y - high) / unit - low * (np.spacing(np.abs(high)) / unit))
    eps = float(np.finfo(dtype).eps / np.finfo(np.float64).eps)
    off[np.abs(y - high) <= eps * ABSOLUTE.get(name, 0.0)] = 0.0
    assert np.isfinite(y).all(), (name, dtype)
    return float(off.max())


def measured() -> dict[str, list[float]]:
    return {name: [ulps(name, dtype) for dtype in WIDTHS] for name in BOUNDS}


def test_every_operation_has_exact_values() -> None:
    assert {key.split("/")[0] for key in golden()} == set(BOUNDS)


def test_the_documentation_states_the_bounds() -> None:
    text = (ROOT.parent / "docs" / "accuracy.md").read_text()
    for name, (wide, narrow) in BOUNDS.items():
        assert f"| `{name}` | {wide:g} | {narrow:g} |" in text, name


@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
def test_errors_stay_within_the_bounds(level: str) -> None:
    env = {**os.environ, "FERROGRAD_ISA": level}
    done = subprocess.run([sys.executable, __file__], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    beyond = {
        (name, dtype): off
        for name, row in found.items()
        for dtype, off, bound in zip(WIDTHS, row, BOUNDS[name], strict=True)
        if not off <= bound
    }
    assert not beyond


def numpy_function(name: str) -> np.ufunc | None:
    for row in fg._core._registry():
        if row["name"] == name and row["numpy"]:
            found = row["numpy"][0].rsplit(".", 1)[-1]
            return getattr(scipy.special if "." in row["numpy"][0] else np, found)
    return None


def edges(dtype: str) -> np.ndarray:
    """Zeros, infinities, NaN, subnormals, the largest, and where domains end."""
    info = np.finfo(dtype)
    positive = [0.0, info.smallest_subnormal, info.tiny, 0.5, 1 - info.epsneg, 1.0, 1 + info.eps]
    positive += [2.0, 3.0, 1e5, 2.0**60, info.max, np.inf]
    return np.array([*positive, *(-v for v in positive), np.nan], dtype=dtype)


MORE = ("floor_divide", "remainder", "fmod", "copysign")
# Where we differ on purpose: SciPy has no digit beside a pole or a zero, or beyond 1e-300, drops a
# sign of zero, and takes -inf for the logarithm of |gamma| at -inf where C has infinity.
DIFFERENT = {
    "digamma": (-1 + 2.0**-53,),
    "erfinv": (-0.0,),
    "lgamma": (-np.inf, 1 - 2.0**-53, 1 + 2.0**-52, 5e-324, -5e-324),
}
# Sums that cancel: NumPy's own error there is this many units of the operands.
CANCELS = {"logaddexp": 4, "logaddexp2": 4}


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("name", [n for n in (*BOUNDS, *MORE) if numpy_function(n)])
def test_the_edges_are_those_of_numpy(name: str, dtype: str) -> None:
    f = numpy_function(name)
    if isinstance(f, np.ufunc) and f.nin == 2:
        x = [np.array(v, dtype=dtype) for v in zip(*product(edges(dtype), repeat=2), strict=True)]
    else:
        x = [edges(dtype)]
    with np.errstate(all="ignore"):
        want = f(*x)
    got = operation(name)(*map(fg.tensor, x)).numpy()
    tiny = float(np.finfo(dtype).smallest_subnormal)
    eps = float(np.finfo(dtype).eps)
    lost = ABSOLUTE.get(name, 0.0) / float(np.finfo(np.float64).eps) + CANCELS.get(name, 0)
    atol = max(tiny, lost * eps)
    close = np.isclose(got, want, rtol=64 * eps, atol=atol, equal_nan=True)
    if name not in CANCELS:
        close &= (np.signbit(got) == np.signbit(want)) | np.isnan(want)
    if name in DIFFERENT:
        close |= np.isin(
            x[0].astype(np.float64).view(np.int64), np.array(DIFFERENT[name]).view(np.int64)
        )
    wrong = [(*(v[k] for v in x), got[k], want[k]) for k in np.flatnonzero(~close)]
    assert not wrong


if __name__ == "__main__":
    print(json.dumps(measured()))
