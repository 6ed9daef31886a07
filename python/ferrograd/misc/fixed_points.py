"""Fixed points of iterations, differentiated implicitly.

Owns: the iteration and the equation of its derivative. Never records the steps: the cost of the
derivative does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd.numpy as np
from ferrograd.extend import defvjp, primitive
from ferrograd.transforms import make_vjp


def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]],
    a: Any,
    x0: Any,
    distance: Callable[[Any, Any], Any],
    tol: float,
) -> Any:
    """The `x` with `f(a)(x) = x` that iteration from `x0` reaches.

    Stops when `distance(x, x_before)` falls below `tol`. Differentiable by `a`, an array, by the
    implicit function theorem; the derivative by `x0` is zero.
    """
    return _solve(a, x0, f, distance, tol)


@primitive
def _solve(a: Any, x0: Any, f: Any, distance: Any, tol: float) -> Any:
    step = f(a)
    before, x = x0, step(x0)
    while distance(x, before) > tol:
        before, x = x, step(x)
    return x


def _by_a(ans: Any, a: Any, x0: Any, f: Any, distance: Any, tol: float) -> Callable[[Any], Any]:
    """Solves `w = g + wᵀ ∂x f` by the same kind of iteration, then pulls `w` back to `a`."""
    by_a, _ = make_vjp(lambda a, x: f(a)(x), 0)(a, ans)
    by_x, _ = make_vjp(lambda x, a: f(a)(x), 0)(ans, a)

    def pull(g: Any) -> Any:
        return by_a(_solve(g, np.zeros(np.shape(g)), _affine, distance, tol))

    def _affine(g: Any) -> Callable[[Any], Any]:
        return lambda w: g + by_x(w)

    return pull


defvjp(_solve, _by_a, None)
