"""Calls of custom functions that read values: every run of a program calls them again.

Invariant: a step returns as many outputs and gradients as during the trace, or raises.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._tensor.pytree import flatten
from ferrograd.errors import CompileError


class _TensorPlaceholder:
    """The placeholder of a tensor among the arguments, with its number."""

    def __init__(self, number: int) -> None:
        self.number = number


class ArrayArgument:
    """An array that was passed to code which every run calls again.

    An array that exists outside is read with its current values. An array that the traced function
    made, and that has no other references, keeps its values from the trace.
    """

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array
        self._copy: np.ndarray[Any, Any] | None = array.copy()

    def current_value(self) -> np.ndarray[Any, Any]:
        """The array with the values for the current call."""
        if self._copy is not None and not _core._is_recording_program():
            if self._is_unshared():
                self._array = self._copy
            self._copy = None
        return self._array

    def _is_unshared(self) -> bool:
        """Whether the array, or the base of a view, has no other references."""
        array: Any = self._array
        # References: this object, the base or view, and the call of getrefcount.
        while isinstance(array, np.ndarray) and getrefcount(array) <= 3:
            if array.base is None:
                return True
            array = array.base
        return False


def record_argument(leaf: Any) -> Any:
    """The form in which a program stores an argument that is not a tensor."""
    shown = type(leaf) is np.ndarray and _core._is_recording_program()
    return ArrayArgument(leaf) if shown else leaf


def current_argument(leaf: Any) -> Any:
    """The argument for a later call."""
    return leaf.current_value() if type(leaf) is ArrayArgument else leaf


class FunctionCall:
    """A call of a custom function that can be repeated with other tensors."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None,
        tensors: tuple[Tensor, ...],
        needs: list[bool],
        returned: Any,
    ) -> None:
        self.name = name
        self._function = function
        self._needs = needs
        leaves, tree = flatten((args, kwargs or {}))
        self._tree = tree.without_items()
        numbers: dict[int, list[int]] = {}
        for number, tensor in enumerate(tensors):
            numbers.setdefault(id(tensor), []).append(number)
        self._leaves = [
            _TensorPlaceholder(numbers[id(leaf)].pop(0))
            if numbers.get(id(leaf))
            else record_argument(leaf)
            for leaf in leaves
        ]
        found, form = flatten(returned)
        self._form = form.without_items()
        for leaf in found:
            if not isinstance(leaf, Tensor | np.ndarray | np.generic):
                raise CompileError(
                    f"{name}: it looks at values in a function that fg.compile records, and returns"
                    f" a {type(leaf).__name__}, which would be the same in every later call; return"
                    " tensors only"
                )

    def __call__(self, shared: dict[Any, Any], *tensors: Tensor) -> list[Tensor]:
        """Calls the function; the pull differentiates its graph."""
        own = [
            tensor.requires_grad_() if need else tensor
            for tensor, need in zip(tensors, self._needs, strict=True)
        ]
        leaves = [
            own[x.number] if isinstance(x, _TensorPlaceholder) else current_argument(x)
            for x in self._leaves
        ]
        args, kwargs = self._tree.unflatten(leaves)
        outputs, form = flatten(self._function(*args, **kwargs))
        if form != self._form:
            raise CompileError(
                f"{self.name}: it returns another structure than when the function was recorded;"
                " return the same in every call, or leave the function uncompiled"
            )
        shared[self] = own, outputs
        return [output.detach() for output in outputs]

    def pull(
        self, graded: list[int], wanted: list[int], present: list[bool]
    ) -> _FunctionCallBackward:
        """The backward, for the gradients of some outputs and some inputs."""
        return _FunctionCallBackward(self, graded, wanted, present)


class _FunctionCallBackward:
    """The backward of a repeated call."""

    def __init__(
        self, call: FunctionCall, graded: list[int], wanted: list[int], present: list[bool]
    ) -> None:
        self._call = call
        self._graded = graded
        self._wanted = wanted
        self._present = present

    def __call__(self, shared: dict[Any, Any], *grads: Tensor) -> list[Tensor]:
        given, outputs = shared[self._call]
        found = _core._grad(
            [outputs[k] for k in self._graded],
            [given[i] for i in self._wanted],
            list(grads),
            retain_graph=True,
            allow_unused=True,
        )
        if [each is not None for each in found] != self._present:
            raise CompileError(
                f"{self._call.name}: its backward gives None for another argument than when the"
                " function was recorded; give zeros, or leave the function uncompiled"
            )
        return [each for each in found if each is not None]
