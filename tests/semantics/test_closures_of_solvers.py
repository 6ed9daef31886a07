"""Functions of solvers that are differentiated implicitly see names as they were at the call.

The derivative calls the user's function again; the name `k` is bound anew after the call.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.misc.fixed_points import fixed_point
from ferrograd.scipy import integrate, optimize


def root(p: Any) -> Any:
    found, c = 0.0, np.ones(1)
    for k in range(2, 4):
        found = found + optimize.root(lambda x, p: c * x**k - p, [1.0], args=(p,)).x[0]  # noqa: B023
    c *= 5
    return found


def minimum(p: Any) -> Any:
    k = 2.0
    found = optimize.minimize(lambda x, p: np.sum((k * x - p) ** 2), np.ones(1), args=(p,)).x[0]
    k = 5.0
    return found * (k > 0)


def bracketed(p: Any) -> Any:
    k = 2.0
    found = optimize.brentq(lambda x, p: k * x - p, 0.0, 10.0, args=(p,))
    k = 5.0
    return found * (k > 0)


def integral(p: Any) -> Any:
    k = 2.0
    found = integrate.quad(lambda x, p: np.exp(-k * p * x), 0.0, p, args=(p,))[0]
    k = 5.0
    return found * (k > 0)


def stiff(p: Any) -> Any:
    k = 2.0
    sol = integrate.solve_ivp(lambda t, y, p: -k * p * y, (0.0, 1.0), [1.0], "Radau", args=(p,))
    k = 5.0
    return sol.y[0, -1] * (k > 0)


def fixed(p: Any) -> Any:
    k = 2.0

    def newton(a: Any) -> Any:
        return lambda x: 0.5 * (x + k * a / x)

    found = fixed_point(newton, p, 1.0, lambda a, b: abs(a - b), 1e-12)
    k = 5.0
    return found * (k > 0)


@pytest.mark.parametrize("f", [root, minimum, bracketed, integral, stiff, fixed])
def test_functions_that_solvers_call_again_for_the_derivative(f: Any) -> None:
    step = 1e-4
    want = (f(1.3 + step) - f(1.3 - step)) / (2 * step)
    np.testing.assert_allclose(fg.grad(f)(1.3), want, rtol=1e-3)
