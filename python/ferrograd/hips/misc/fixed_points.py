"""Fixed points of iterations, differentiated implicitly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd.numpy as np
from ferrograd._core import is_grad_enabled
from ferrograd._tensor.closures import LaterFunction
from ferrograd.errors import NotDifferentiableError
from ferrograd.extend import defvjp, primitive
from ferrograd.hips.misc.flatten import flatten
from ferrograd.hips.tracer import getval, isbox
from ferrograd.transforms import make_vjp


def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]],
    a: Any,
    x0: Any,
    distance: Callable[[Any, Any], Any],
    tol: float,
) -> Any:
    """The `x` with `f(a)(x) = x` that iteration from `x0` reaches.

    Stops when `distance(x, x_before)` falls below `tol`. Differentiable to any order by `a`, a
    float, an array or a container of them, by the implicit function theorem; the derivative by `x0`
    is zero. Errors: `NotDifferentiableError` where `f` closes over a value that requires grad.
    """
    flat, unflatten = flatten(a)
    later = LaterFunction(f)

    def of_flat(values: Any) -> Callable[[Any], Any]:
        step: Callable[[Any], Any] = later(unflatten(values))
        return step

    if is_grad_enabled() and isbox(of_flat(getval(flat))(getval(x0))):
        raise NotDifferentiableError(
            "fixed_point: f depends on a value that requires grad and is not in a; pass it in a"
        )
    found = _solve(flat, x0, of_flat, distance, tol)
    later.recorded()
    return found


@primitive
def _solve(a: Any, x0: Any, f: Any, distance: Any, tol: float) -> Any:
    step = f(a)
    before, x = x0, step(x0)
    while distance(x, before) > tol:
        before, x = x, step(x)
    return x


def _by_a(ans: Any, a: Any, x0: Any, f: Any, distance: Any, tol: float) -> Callable[[Any], Any]:
    """Solves `w = g + wᵀ ∂x f` by the same kind of iteration, then pulls `w` back to `a`.

    The solution depends on `a`, `ans` and `g`, and is differentiable by all three.
    """

    def pull(g: Any) -> Any:
        given, unflatten = flatten((a, ans, g))

        def affine(values: Any) -> Callable[[Any], Any]:
            at, x, seed = unflatten(values)
            by_x, _ = make_vjp(lambda x: f(at)(x))(x)
            return lambda w: seed + by_x(w)

        weight = _solve(given, np.zeros(np.shape(g)), affine, distance, tol)
        by_a, _ = make_vjp(lambda a: f(a)(ans))(a)
        return by_a(weight)

    return pull


defvjp(_solve, _by_a, None)
