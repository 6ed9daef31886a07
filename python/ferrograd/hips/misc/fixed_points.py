"""Fixed points of iterations, differentiated implicitly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd.numpy as np
from ferrograd._core import is_grad_enabled
from ferrograd._tensor.closures import DeferredFunction
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
    later = DeferredFunction(f)

    def make_step(values: Any) -> Callable[[Any], Any]:
        step: Callable[[Any], Any] = later(unflatten(values))
        return step

    if is_grad_enabled() and isbox(make_step(getval(flat))(getval(x0))):
        raise NotDifferentiableError(
            "fixed_point: f depends on a value that requires grad and is not in a; pass it in a"
        )
    found = _iterate_to_fixed_point(flat, x0, make_step, distance, tol)
    later.end_trace()
    return found


@primitive
def _iterate_to_fixed_point(a: Any, x0: Any, f: Any, distance: Any, tol: float) -> Any:
    step = f(a)
    before, x = x0, step(x0)
    while distance(x, before) > tol:
        before, x = x, step(x)
    return x


def _make_vjp_of_a(
    ans: Any, a: Any, x0: Any, f: Any, distance: Any, tol: float
) -> Callable[[Any], Any]:
    """Solves `w = g + wᵀ ∂x f` by the same kind of iteration, then pulls `w` back to `a`.

    The solution depends on `a`, `ans` and `g`, and is differentiable by all three.
    """

    def pull(g: Any) -> Any:
        given, unflatten = flatten((a, ans, g))

        def make_affine_map(values: Any) -> Callable[[Any], Any]:
            at, x, seed = unflatten(values)
            by_x, _ = make_vjp(lambda x: f(at)(x))(x)
            return lambda w: seed + by_x(w)

        weight = _iterate_to_fixed_point(
            given, np.zeros(np.shape(g)), make_affine_map, distance, tol
        )
        by_a, _ = make_vjp(lambda a: f(a)(ans))(a)
        return by_a(weight)

    return pull


defvjp(_iterate_to_fixed_point, _make_vjp_of_a, None)
