"""Degrees and orders that are no whole numbers, or below 0: values are SciPy's, and so are slopes.

Slopes are held against central differences of SciPy's own functions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import ferrograd as fg
from ferrograd.scipy import special as ours


def agrees(name: str, call: Callable[[Any, Any], Any], x: float) -> None:
    h = 1e-6
    expected = (call(special, x + h) - call(special, x - h)) / (2 * h)
    slope = fg.grad(lambda z: call(ours, z))(x)
    np.testing.assert_allclose(float(call(ours, x)), float(call(special, x)), 1e-12, err_msg=name)
    np.testing.assert_allclose(slope, expected, 1e-5, 1e-6, err_msg=f"{name} at {x}")


@pytest.mark.parametrize("n", [-2.5, -2, -1, -0.5, 0, 0.3, 0.7, 1, 1.5, 2, 2.7, 5])
def test_polynomials_of_any_degree(n: float) -> None:
    for x in (-0.4, 0.6):
        for name in ("legendre", "chebyt", "chebyu", "laguerre"):
            agrees(f"{name} {n}", lambda lib, z, f=f"eval_{name}": getattr(lib, f)(n, z), x)
        agrees(f"gegenbauer {n}", lambda lib, z: lib.eval_gegenbauer(n, 0.7, z), x)
        agrees(f"jacobi {n}", lambda lib, z: lib.eval_jacobi(n, 0.7, 0.4, z), x)
        agrees(f"genlaguerre {n}", lambda lib, z: lib.eval_genlaguerre(n, 0.7, z), x)


@pytest.mark.filterwarnings("ignore:floating point number truncated")
@pytest.mark.parametrize("n", [0, 1, 1.5, 2, 3.9])
def test_orders_are_truncated(n: float) -> None:
    for name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"):
        for derivative in (False, True):
            agrees(
                f"{name} {n} {derivative}",
                lambda lib, z, f=name, d=derivative: getattr(lib, f)(n, z, d),
                0.8,
            )
    for name in ("kn", "yn", "expn"):
        agrees(f"{name} {n}", lambda lib, z, f=name: getattr(lib, f)(n, z), 0.8)


def test_zeta_below_1_and_factorials_below_0() -> None:
    for x in (-2.5, -0.5, 0.3, 0.9, 1.5, 3.0):
        agrees("zeta", lambda lib, z: lib.zeta(z), x)
    for x in (-1.7, -0.5, 0.2, 2.5):
        agrees("factorial", lambda lib, z: lib.factorial(z), x)
    assert ours.factorial(-1) == 0.0
    assert ours.factorial(5) == 120.0
    found = ours.zeta(fg.tensor([0.3, 2.0]))
    np.testing.assert_allclose(found, special.zeta([0.3, 2.0]), 1e-12)
