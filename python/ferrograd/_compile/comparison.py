"""`compile(f, check=n)`: a replay beside the function itself.

Owns: the comparison of their results. Never runs a program.
Invariant: results that differ in a bit, or in their containers, raise; so do values of the function
on plain arrays, where it takes them, that are not those on tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._compile.recorded import Form, OfTensors
from ferrograd._compile.signature import Call
from ferrograd._core import Tensor
from ferrograd._inspect import array_comparison
from ferrograd.errors import CompileError

#: Why a replay may differ.
_ANEW = "the function depends on something besides its arguments; pass it as one"


def compare(name: str, old: Form, found: list[Any], function: OfTensors, call: Call) -> None:
    """Raises where a replay, which found these results, differs from the function, on tensors."""
    tensors = iter(function(*call.as_tensors()))
    results = iter(found)
    new = function.taken_form()
    if not new.tree.same(old.tree):
        raise CompileError(
            f"compile: {name} returned {old.tree} when it was recorded and returns {new.tree} now;"
            f" {_ANEW}"
        )
    for i, (a, b) in enumerate(zip(old.leaves, new.leaves, strict=True)):
        got = next(results) if a is Tensor else a
        want = next(tensors) if b is Tensor else b
        if _bits(got) != _bits(want):
            raise CompileError(
                f"compile: result {i} of {name} is {got} replayed and {want} computed anew; {_ANEW}"
            )
    values = call.values
    said = array_comparison.difference(
        lambda: function.called(*call.as_tensors()), function.called, values
    )
    if said is not None:
        raise CompileError(f"compile: {name}: {said}; {array_comparison.CAUSES}")


def _bits(value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value.detach().numpy()
    numeric = isinstance(value, np.ndarray | np.generic | float | complex)
    return np.asarray(value).tobytes() if numeric else value
