"""`compile(f, check=n)`: compares a run of the program with the function itself.

Invariant: results that differ in a bit or in their containers raise. So do values of the function
on plain arrays, if it accepts them, that differ from those on tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._compile.guards import GuardCollector
from ferrograd._compile.signature import Call
from ferrograd._compile.specializations import TracedFunction
from ferrograd._core import Tensor, _ResultStructure
from ferrograd._inspect import compare_with_arrays
from ferrograd._tensor.generator import collect_generators
from ferrograd._tensor.pytree import flatten
from ferrograd.errors import CompileError

#: The usual cause of a difference, and what to do.
_DIFFERENCE_CAUSE = (
    "the function depends on something besides its arguments; pass it as one; see"
    " docs/when_it_goes_wrong.md"
)


class EagerResult:
    """The results of a function for the arguments of a call, on tensors and on arrays.

    The function is called before the program, so that both start from the same tensors outside. Its
    changes are restored.
    """

    def __init__(self, function: TracedFunction, call: Call) -> None:
        self._results = run_and_restore(lambda: function(*call.as_tensors()))
        self._form = function.result_structure()
        self._array_difference = compare_with_arrays.describe_difference(
            lambda: run_and_restore(lambda: function.call_with_inputs(*call.as_tensors())),
            lambda *values: run_and_restore(lambda: function.call_with_inputs(*values)),
            call.values,
        )

    def compare(self, name: str, old: _ResultStructure, found: list[Any]) -> None:
        """Raises if the results of a program differ from those of the function."""
        new, tensors, results = self._form, iter(self._results), iter(found)
        if new.tree != old.tree:
            raise CompileError(
                f"compile: {name} returned {old.tree} when it was recorded and returns {new.tree}"
                f" now; {_DIFFERENCE_CAUSE}"
            )
        for i, (a, b) in enumerate(zip(old.leaves, new.leaves, strict=True)):
            got = next(results) if a is Tensor else a
            want = next(tensors) if b is Tensor else b
            if _to_bytes(got) != _to_bytes(want):
                raise CompileError(
                    f"compile: result {i} of {name} is {got} replayed and {want} computed anew;"
                    f" {_DIFFERENCE_CAUSE}"
                )
        if self._array_difference is not None:
            raise CompileError(
                f"compile: {name}: {self._array_difference}; {compare_with_arrays.CAUSES}"
            )


def run_and_restore(function: Callable[[], Any]) -> Any:
    """The results of a function, with arrays for tensors; its changes are restored.

    Restored are, as after a failed trace: memory of tensors, gradients, generators, members of
    modules.
    """
    with GuardCollector() as watch, collect_generators():
        try:
            return _core._dry_run(function, _convert_to_arrays)
        finally:
            watch.restore()


def _convert_to_arrays(found: Any) -> Any:
    leaves, tree = flatten(found)
    arrays = [leaf.detach().numpy().copy() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    return tree.unflatten(arrays)


def _to_bytes(value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value.detach().numpy()
    numeric = isinstance(value, np.ndarray | np.generic | float | complex)
    return np.asarray(value).tobytes() if numeric else value
