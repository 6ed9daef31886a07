"""Operators on functions of one argument for functions of several: `unary_to_nary`, `wraps`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ferrograd.hips.util import subvals
from ferrograd.transforms._argnums import get_function_name, set_wrapper_name


def wraps(
    fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **names: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that gives a function a name and a docstring made from those of another."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        f.__name__ = namestr.format(fun=get_function_name(fun), **names)
        doc = getattr(fun, "__doc__", None) or ""
        f.__doc__ = docstr.format(fun=get_function_name(fun), doc=doc, **names)
        return f

    return decorate


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
        def nary_function(*args: Any, **kwargs: Any) -> Any:
            def unary_function(x: Any) -> Any:
                pairs = [(argnum, x)] if isinstance(argnum, int) else zip(argnum, x, strict=True)
                return fun(*subvals(args, pairs), **kwargs)

            unary_function.__name__ = get_function_name(fun)
            x = args[argnum] if isinstance(argnum, int) else tuple(args[k] for k in argnum)
            return unary_operator(unary_function, x, *rest, **options)

        return set_wrapper_name(nary_function, fun, f"{unary_operator.__name__}_of")

    return nary
