"""The building blocks under the names of HIPS autograd's `core`: unary pullbacks and vector spaces.

Owns: `make_vjp` and `make_jvp` of a function and a point. Never differentiates: the transforms do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import transforms
from ferrograd.extend import (
    Primitive as Primitive,
    VSpace as VSpace,
    def_linear as def_linear,
    defjvp as defjvp,
    defjvp_argnum as defjvp_argnum,
    defjvp_argnums as defjvp_argnums,
    defvjp as defvjp,
    defvjp_argnum as defvjp_argnum,
    defvjp_argnums as defvjp_argnums,
    primitive as primitive,
    primitive_vjps as primitive_vjps,
    vspace as vspace,
)
from ferrograd.hips.tracer import getval as getval, isbox as isbox


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """`(pull, value)` of a function at a point; zeros where the value has no derivative.

    >>> from ferrograd.core import make_vjp
    >>> pull, value = make_vjp(lambda x: x**2, 3.0)
    >>> pull(1.0), value
    (6.0, 9.0)
    """
    plain: list[Any] = []

    def differentiable(x: Any) -> Any:
        out = fun(x)
        if getattr(getattr(out, "dtype", None), "kind", "f") == "f" and not isinstance(out, bool):
            return out
        plain.append(out)
        return np.zeros(np.shape(out))

    pull, value = transforms.make_vjp(differentiable)(x)
    return pull, plain[-1] if plain else value


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """The function that gives `(value, change)` in a direction."""
    push: Callable[[Any], tuple[Any, Any]] = transforms.make_jvp(fun)(x)
    return push
