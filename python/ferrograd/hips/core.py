"""The building blocks under the names of HIPS autograd's `core`.

Unary pullbacks and vector spaces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    """`(pull, value)` of a function at a point; booleans and integers have zero derivatives.

    >>> from ferrograd.core import make_vjp
    >>> pull, value = make_vjp(lambda x: x**2, 3.0)
    >>> pull(1.0), value
    (6.0, 9.0)
    """
    pull, value = transforms.make_vjp(fun)(x)
    return pull, value


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Returns a function that gives `(value, change)` in a direction."""
    push: Callable[[Any], tuple[Any, Any]] = transforms.make_jvp(fun)(x)
    return push
