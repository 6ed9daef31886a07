"""The state of a compiled function for the calls of one signature.

Invariant: nothing here keeps the arguments of a call alive.
"""

from __future__ import annotations

import functools
import gc
import numbers
import os
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._compile.guards import GuardCollector, StateGuard, note_bound_module
from ferrograd._compile.signature import Call, StaticArguments
from ferrograd._core import Tensor, _ResultStructure
from ferrograd._tensor.array_recording import call_with_recorded_arrays
from ferrograd._tensor.pytree import flatten
from ferrograd.errors import CompileError

#: Results that a program may return directly: they contain nothing computed.
_CONSTANT_TYPES = (
    Tensor,
    np.ndarray,
    np.generic,
    np.dtype,
    numbers.Number,
    str,
    bytes,
    bytearray,
    set,
    frozenset,
    range,
    slice,
    type,
    type(None),
    type(...),
    Enum,
    types.BuiltinFunctionType,
    types.ModuleType,
)


class TracedFunction:
    """The function with tensors in place of the inputs of a program.

    It returns the tensors among the results; `form` describes the other results.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        call: Call,
        static: StaticArguments,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.function = function
        self.tree = call.tree
        self.places = call.places
        self.leaves = list(call.leaves)
        for place in call.places:
            self.leaves[place] = None
        self.static = static
        self.args, self.kwargs = static.select_static(args, kwargs)
        self.form: _ResultStructure | None = None
        self._are_tensors = [isinstance(value, Tensor) for value in call.values]

    def __call__(self, *tensors: Tensor) -> list[Tensor]:
        found, tree = flatten(self._call_recorded(*tensors))
        results = [leaf for leaf in found if isinstance(leaf, Tensor)]
        for leaf in found:
            if not isinstance(leaf, _CONSTANT_TYPES):
                raise CompileError(
                    f"compile: the function returns a {type(leaf).__name__}, which every later call"
                    " would return as it is now; return tensors, arrays, numbers and containers of"
                    " them"
                )
        self.form = _ResultStructure(tree, found)
        return results

    def call_with_inputs(self, *values: Any) -> Any:
        """Calls the function with these inputs."""
        leaves = list(self.leaves)
        for place, value in zip(self.places, values, strict=True):
            leaves[place] = value
        args, kwargs = self.tree.unflatten(leaves)
        args, kwargs = self.static.join(args, kwargs, self.args, self.kwargs)
        return self.function(*args, **kwargs)

    def with_function(self, function: Callable[..., Any]) -> TracedFunction:
        """Replaces the function by its copy from the trace, which derivatives call."""
        self.function = function
        return self

    def _call_recorded(self, *tensors: Tensor) -> Any:
        """Calls the function during a trace; reveals errors that NumPy has replaced."""
        try:
            return call_with_recorded_arrays(self.call_with_inputs, *tensors)
        except ValueError as error:
            if isinstance(error.__cause__, CompileError):
                raise CompileError(str(error.__cause__)) from error
            raise

    def make_checked_function(
        self, check: Callable[[list[Tensor]], None], watch: GuardCollector, collects: bool
    ) -> Callable[..., list[Tensor]]:
        """Returns a function for the trace that also checks the results.

        With `collects`, reference cycles of the function are collected first, since they keep no
        tensor.
        """

        def call_and_check(*tensors: Tensor) -> list[Tensor]:
            before = [tensor.requires_grad for tensor in tensors]
            note_bound_module(self.function)
            try:
                results = self(*tensors)
            except Exception:
                if _core._was_change_refused():
                    what = "it writes what requires grad to a tensor that it closes over"
                    raise RunsEagerlyError(what) from None
                raise
            if collects:
                gc.collect()
            watch.forget_dead()
            for there, old, now in zip(self._are_tensors, before, tensors, strict=True):
                # The tensors are copies: the caller's tensor would not change.
                if there and now.requires_grad is not old:
                    raise RunsEagerlyError("it changes whether an argument requires grad")
            check(results)
            changed = None if watch.may_keep else watch.changed_number()
            if changed is not None:
                raise RunsEagerlyError(changed)
            return results

        return call_and_check

    @contextmanager
    def defer_backward_errors(self) -> Iterator[None]:
        """If the backward pass raises during the trace, the call runs eagerly and raises there."""
        try:
            yield
        except (CompileError, RunsEagerlyError):
            raise
        except Exception as raised:
            if self.form is None:
                raise
            what = f"its backward pass, as it is recorded, raises {type(raised).__name__}"
            raise RunsEagerlyError(what) from raised

    def result_structure(self) -> _ResultStructure:
        """The structure of the results of the last call."""
        assert self.form is not None, "the function was called"
        return self.form


class RunsEagerlyError(Exception):
    """Ends the trace: calls like this one run the function itself."""


class HistoryError(Exception):
    """Ends the trace: the results have a history. Changes are restored."""


class CompiledForward(NamedTuple):
    """A program of a function whose results have no history."""

    program: Any
    form: _ResultStructure
    watched: StateGuard

    def run(self, call: Call) -> list[Any] | None:
        """The results; None if a value on which the trace depended has changed."""
        return self.program.run(call.values, call.has_tensors)  # type: ignore[no-any-return]


class CompiledWithBackward(NamedTuple):
    """A program with its backward pass: a call of it is one node."""

    program: Any
    form: _ResultStructure
    watched: StateGuard
    original: TracedFunction

    def run(self, call: Call) -> list[Any] | None:
        """The results; None if a value on which the trace depended has changed."""
        values = call.as_tensors()
        return self.program.run(values, self.original)  # type: ignore[no-any-return]


class Eager(NamedTuple):
    """The reason why calls of a signature run the function itself."""

    reason: str


class WarmUp(NamedTuple):
    """The call before was a plain call: the next one records."""

    #: The form of results of a trace without a program.
    form: _ResultStructure | None
    #: The number of calls in a row that kept computed tensors.
    kept: int
    #: Whether calls with arrays return no history, even if calls with tensors do.
    detach: bool = False


#: A signature's program.
ProgramEntry = CompiledForward | CompiledWithBackward
#: The kinds of state of the calls of a signature.
Entry = ProgramEntry | Eager | WarmUp


def has_history(results: Any) -> bool:
    """Whether a tensor among the results of a function has one."""
    found, _ = flatten(results)
    return any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in found)


def eager_function(function: Callable[..., Any], tensors: bool) -> Callable[..., Any]:
    """The function to be traced; without tensors, results without a history are arrays."""
    return (
        functools.partial(call_with_recorded_arrays, function)
        if tensors
        else _ArrayResultFunction(function)
    )


class _ArrayResultFunction:
    """A function whose results are arrays, as those of its programs are for arrays."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = call_with_recorded_arrays(self._function, *args, **kwargs)
        leaves, tree = flatten(found)
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if not tensors or any(tensor.requires_grad for tensor in tensors):
            return found
        arrays = [x.numpy()[()] if isinstance(x, Tensor) else x for x in leaves]
        return tree.unflatten(arrays)


def is_compile_enabled() -> bool:
    """Whether functions are compiled at all: `FERROGRAD_COMPILE=0` switches it off."""
    return os.environ.get("FERROGRAD_COMPILE", "1") != "0"
