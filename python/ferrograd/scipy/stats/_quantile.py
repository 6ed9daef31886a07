"""Quantiles and draws of continuous distributions, which SciPy computes.

Invariant: a quantile and a draw are differentiated as solutions of `F(z, shapes) = q`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.extend import defvjp_argnums, primitive
from ferrograd.scipy._scipy_primitives import get_scipy_function, ignore_float_warnings
from ferrograd.transforms import make_vjp


@primitive
def quantile(q: Any, *shapes: Any, distribution: Any, draw: Any = None, tail: bool = False) -> Any:
    """The `z` with `F(z, shapes) = q`; for random numbers `q` is a constant.

    Derivatives: `1 / f(z)` by `q`, `-∂F/∂shape / f(z)` by a shape. With `tail`, `1 - F` is `q`.
    """
    theirs = get_scipy_function(f"stats.{distribution.name}")
    if draw is None:
        return (theirs.isf if tail else theirs.ppf)(q, *shapes)
    size, random_state = draw
    return numpy.asarray(theirs.rvs(*shapes, size=size, random_state=random_state))


def _quantile_vjp(
    argnums: Any, ans: Any, args: Any, kwargs: dict[str, Any]
) -> Callable[[Any], tuple[Any, ...]]:
    own, shapes = kwargs["distribution"], args[1:]

    @ignore_float_warnings
    def pull(g: Any) -> tuple[Any, ...]:
        sign = -1.0 if kwargs.get("tail") else 1.0
        weight = sign * g / own.pdf(ans, *shapes)
        places = tuple(k - 1 for k in argnums if k)
        drawn = kwargs.get("draw") is not None
        slopes: dict[int, Any] = {0: np.zeros_like(args[0]) if drawn else weight}
        if places:
            curve = "sf" if kwargs.get("tail") and "sf" in own._formulas else "cdf"
            if curve == "cdf":
                weight = sign * weight
            # A finite end of the support does not depend on the shapes.
            low, high = own.support_of_standard
            end = (ans == low) | (ans == high)
            weight, place = np.where(end, 0.0, weight), np.where(end, own.within, ans)
            back, _ = make_vjp(lambda *s: own._evaluate_formula(curve, place, list(s)), places)(
                *shapes
            )
            slopes.update(zip([k + 1 for k in places], back(-weight), strict=True))
        return tuple(slopes[k] for k in argnums)

    return pull


defvjp_argnums(quantile, _quantile_vjp)
