"""Checks for tests of derivatives: `check_grads`, `combo_check`, `check_equivalent`.

The comparison itself is `ferrograd.check_grads`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from ferrograd._dispatch.detach import detach_tensors
from ferrograd._tensor.pytree import flatten
from ferrograd.transforms import check_grads as _check_grads
from ferrograd.transforms._argnums import Argnums, TransformSpec, get_function_name
from ferrograd.transforms._check_grads import CheckError

EPS, TOL, RTOL = 1e-6, 1e-6, 1e-6


def check_grads(
    fun: Callable[..., Any],
    argnum: Argnums = 0,
    modes: Sequence[str] = ("fwd", "rev"),
    order: int = 2,
) -> Callable[..., None]:
    """The function of arguments that checks the derivatives by `argnum` to an order."""
    TransformSpec("check_grads", fun, argnum, None)

    def check(*args: Any, **kwargs: Any) -> None:
        chosen = argnum if isinstance(argnum, tuple | list) else (argnum,)
        places = [k % len(args) for k in chosen if isinstance(k, int)]

        def call_with_chosen(*values: Any) -> Any:
            full = list(args)
            for k, value in zip(places, values, strict=True):
                full[k] = value
            return fun(*full, **kwargs)

        call_with_chosen.__name__ = get_function_name(fun)
        _check_grads(call_with_chosen, modes, order, rtol=1e-4)(
            *(_to_float(args[k]) for k in places)
        )

    return check


def _to_float(value: Any) -> Any:
    """Converts an integer argument to a float."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def check_vjp(f: Callable[..., Any], x: Any) -> None:
    """Checks the reverse derivative of a function of one argument."""
    check_grads(f, modes=("rev",), order=1)(x)


def check_jvp(f: Callable[..., Any], x: Any) -> None:
    """Checks the forward derivative of a function of one argument."""
    check_grads(f, modes=("fwd",), order=1)(x)


def combo_check(fun: Callable[..., Any], *args: Any, **options: Any) -> Callable[..., None]:
    """The function of lists of arguments that runs `check_grads(fun, ...)` on every combination."""

    def check(*lists: Iterable[Any], **named: Iterable[Any]) -> None:
        for values in product(*lists):
            for chosen in product(*named.values()):
                kwargs = dict(zip(named, chosen, strict=True))
                check_grads(fun, *args, **options)(*values, **kwargs)

    return check


def scalar_close(a: float, b: float) -> bool:
    """Whether two numbers agree up to the error of finite differences."""
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def check_equivalent(x: Any, y: Any) -> None:
    """Raises unless both have the same structure, shapes and elements."""
    ones, structure = flatten(detach_tensors(x))
    others, other = flatten(detach_tensors(y))
    if structure != other:
        raise CheckError(f"check_equivalent: the structures differ: {x!r} and {y!r}; compare like")
    for a, b in zip(ones, others, strict=True):
        if np.shape(a) != np.shape(b) or not np.allclose(a, b, RTOL, TOL):
            raise CheckError(f"check_equivalent: {a!r} and {b!r} differ; see which one is wrong")
