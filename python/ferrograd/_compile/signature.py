"""Signatures of calls: a program can run every call with the signature of its trace.

The core compares calls (`_CallSignature`). Invariant: two calls with one key differ in nothing but
the contents of arrays and tensors and the values of floats and complex numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ferrograd._core import Tensor, _CallSignature, _PyTree, _split_call, _value, tensor


class Call(NamedTuple):
    """The arguments of a call, flattened: the signature, the inputs and the leaves."""

    #: The signature: calls with equal keys can use one program.
    key: _CallSignature
    #: The inputs of the program: arrays, tensors, floats, complex numbers.
    values: list[Any]
    #: All leaves of the arguments; `places` are the indices of `values` among them.
    leaves: list[Any]

    @property
    def places(self) -> list[int]:
        """The indices of the leaves that are inputs of the program."""
        return self.key.places

    @property
    def tree(self) -> _PyTree:
        """The structure of the arguments."""
        return self.key.tree

    @property
    def has_tensors(self) -> bool:
        """Whether an argument is a tensor; then the results are tensors."""
        return self.key.has_tensors

    @property
    def non_contiguous(self) -> int | None:
        """The first leaf that is not C-contiguous: sums of it would have another order."""
        return self.key.non_contiguous

    @property
    def has_numbers(self) -> bool:
        """Whether an input is a Python number."""
        return self.key.has_numbers

    def as_tensors(self) -> list[Tensor]:
        """The inputs of the program as tensors."""
        scalars = self.key.scalars
        return [as_tensor(value, k in scalars) for k, value in enumerate(self.values)]

    def explain_layout(self) -> str:
        """The error text for an argument that is not C-contiguous."""
        leaf = self.non_contiguous or 0
        array = isinstance(self.leaves[leaf], np.ndarray)
        remedy = "np.ascontiguousarray(x)" if array else "x.contiguous()"
        return f"argument {self.key.argument(leaf)} is not in C order: pass {remedy}"


def split_call(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    static: StaticArguments,
    floats: bool,
    ordered: bool,
) -> Call:
    """Flattens the arguments of a call. With `floats`, Python numbers are inputs."""
    kept, args, kwargs = static.split(args, kwargs)
    return Call(*_split_call(args, kwargs, kept, floats, ordered))


def as_tensor(value: Any, scalar: bool = False) -> Tensor:
    """An input of a program as a tensor. Numbers become values, which have no memory."""
    if isinstance(value, Tensor):
        return value
    dtype = {float: "float64", complex: "complex128"}.get(type(value))
    return _value(value) if scalar or dtype else tensor(value)


def accepts_var_keyword(function: Any) -> bool:
    """Whether a function accepts, or may accept, `**kwargs`: it can see their order."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if not hasattr(function, "__code__"):
        function = getattr(function, "forward", function)
    code = getattr(function, "__code__", None)
    return code is None or bool(code.co_flags & CO_VARKEYWORDS)


def sort_keywords(kwargs: dict[str, Any], ordered: bool) -> dict[str, Any]:
    """Sorts keyword arguments by name, unless the function can see their order."""
    return kwargs if ordered or len(kwargs) < 2 else dict(sorted(kwargs.items()))


#: The flag of code that takes `**kwargs`.
CO_VARKEYWORDS = 0x08


class StaticArguments(NamedTuple):
    """The static arguments: a program is compiled for their values."""

    nums: tuple[int, ...]
    names: tuple[str, ...]

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[tuple[int | str, Any]], tuple[Any, ...], dict[str, Any]]:
        """The static arguments by position or name, and the others, with None for a static one."""
        if not self.nums and not self.names:
            return [], args, kwargs
        places = {n + len(args) if n < 0 else n for n in self.nums}
        fixed: dict[int | str, Any] = {i: args[i] for i in sorted(places) if i < len(args)}
        named = {name: kwargs[name] for name in sorted(kwargs) if name in self.names}
        rest = tuple(None if i in fixed else a for i, a in enumerate(args))
        kept = [*fixed.items(), *named.items()]
        return kept, rest, {name: a for name, a in kwargs.items() if name not in named}

    def without_first(self) -> StaticArguments:
        """The static arguments of a call without its first argument."""
        nums = (n - (n > 0) for n in self.nums if n)
        return StaticArguments(tuple(nums), self.names)

    def select_static(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call with None for those that are not static."""
        places = {n + len(args) if n < 0 else n for n in self.nums}
        kept = tuple(a if i in places else None for i, a in enumerate(args))
        return kept, {name: a if name in self.names else None for name, a in kwargs.items()}

    def join(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        full: tuple[Any, ...],
        named: dict[str, Any],
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with the static ones of the call in their places."""
        places = {n + len(full) if n < 0 else n for n in self.nums}
        whole = tuple(full[i] if i in places else a for i, a in enumerate(args))
        return whole, {k: v if k in self.names else kwargs[k] for k, v in named.items()}
