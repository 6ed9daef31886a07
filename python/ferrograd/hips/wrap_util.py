"""Operators on functions of one argument for functions of several: `unary_to_nary`, `wraps`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ferrograd.hips.util import subvals
from ferrograd.transforms._argnums import name_of, named


def wraps(
    fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **names: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that gives a function a name and a docstring made from those of another."""

    def named_like(f: Callable[..., Any]) -> Callable[..., Any]:
        f.__name__ = namestr.format(fun=name_of(fun), **names)
        doc = getattr(fun, "__doc__", None) or ""
        f.__doc__ = docstr.format(fun=name_of(fun), doc=doc, **names)
        return f

    return named_like


def unary_to_nary(unary_operator: Callable[..., Any]) -> Callable[..., Any]:
    """`operator(fun, argnum=0)` from `operator(f, x)` of a function of one argument.

    Several argnums give `x` as the tuple of these arguments.

    >>> from ferrograd.core import make_vjp
    >>> from ferrograd.wrap_util import unary_to_nary
    >>> slope = unary_to_nary(lambda f, x: make_vjp(f, x)[0](1.0))
    >>> slope(lambda x, y: x * y, 1)(2.0, 5.0)
    2.0
    """

    @functools.wraps(unary_operator)
    def nary(fun: Callable[..., Any], argnum: Any = 0, *rest: Any, **options: Any) -> Any:
        def of_arguments(*args: Any, **kwargs: Any) -> Any:
            def of_one(x: Any) -> Any:
                pairs = [(argnum, x)] if isinstance(argnum, int) else zip(argnum, x, strict=True)
                return fun(*subvals(args, pairs), **kwargs)

            of_one.__name__ = name_of(fun)
            x = args[argnum] if isinstance(argnum, int) else tuple(args[k] for k in argnum)
            return unary_operator(of_one, x, *rest, **options)

        return named(of_arguments, fun, f"{unary_operator.__name__}_of")

    return nary
