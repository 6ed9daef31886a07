"""The public function `compile`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ferrograd._compile.compiled_function import CompiledFunction
from ferrograd._compile.signature import StaticArguments
from ferrograd._tensor.finite_sequences import convert_to_list
from ferrograd.errors import ArgumentTypeError


def compile(
    f: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    check: int = 0,
    name: str | None = None,
) -> Any:
    """Traces a function at its first call; later calls run without Python.

    The first call with arguments of given shapes and dtypes runs `f` and records its kernels as a
    program. Later calls run the program on new values. Results have the same bits as those of `f`.
    Arguments are arrays, tensors, numbers, and nested containers of them. Results are arrays for
    arrays and tensors for tensors.

    Parameters: `static_argnums` and `static_argnames` select arguments that are constants of the
    program; `f` is traced again for each of their values (integers, strings and booleans are always
    constants). `check=n` also calls `f` at every n-th call, and raises if a bit differs, or if `f`
    accepts plain arrays and has another value on them. `name` is used in messages.
    Errors: `CompileError` if `f` reads values that depend on its arguments (`if`, `float()`,
    `print`).

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> slope = fg.compile(fg.grad(lambda x: (x * x).sum()))
    >>> slope(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> slope(np.array([3.0, 4.0]))
    array([6., 8.])
    """
    if f is None:
        return functools.partial(
            compile,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            check=check,
            name=name,
        )
    if not callable(f):
        raise ArgumentTypeError(f"compile: f is a {type(f).__name__}; pass a function")
    nums, names = static_argnums, static_argnames
    nums = [nums] if isinstance(nums, int) else convert_to_list("compile", "static_argnums", nums)
    names = (
        [names] if isinstance(names, str) else convert_to_list("compile", "static_argnames", names)
    )
    return CompiledFunction(f, StaticArguments(tuple(nums), tuple(names)), check, name)
