"""`compile`, the public face."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ferrograd._compile.compiled_function import Compiled
from ferrograd._compile.signature import Static
from ferrograd._tensor.sequences import listed
from ferrograd.errors import ArgumentTypeError


def compile(
    f: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    check: int = 0,
    name: str | None = None,
) -> Any:
    """A function that is recorded once and then replayed without Python.

    The first call with arguments of certain shapes and dtypes runs `f` and records what its kernels
    do; later calls repeat that on other values. Results have the bits that `f` itself would give.
    Arguments are arrays, tensors, numbers, and nested containers of them; arrays give arrays,
    tensors give tensors.

    Parameters: `static_argnums` and `static_argnames` choose arguments that belong to the program,
    which is recorded anew for each of their values (whole numbers, texts and booleans always do).
    `check=n` computes every n-th call also with `f`, and raises where a bit differs, or where `f`
    on plain arrays, if it takes them, has another value. `name` is used in messages.
    Errors: `CompileError` when `f` looks at values that depend on its arguments (`if`, `float()`,
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
    nums = [nums] if isinstance(nums, int) else listed("compile", "static_argnums", nums)
    names = [names] if isinstance(names, str) else listed("compile", "static_argnames", names)
    return Compiled(f, Static(tuple(nums), tuple(names)), check, name)
