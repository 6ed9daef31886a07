"""Functions with the values that they close over at one time, for runs in a backward pass.

Invariant: nothing here refers to the closure cells of the program, so a graph that owns a copy
makes no reference cycle through names that are bound later.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import CellType, FunctionType, MethodType
from typing import Any, Final, NamedTuple

import numpy as np

from ferrograd._core import Tensor, get_gradient_edge, is_grad_enabled

#: Larger arrays are not copied: a later run reads their current values.
MAX_COPIED_BYTES: Final = 1 << 16


class _TensorPlaceholder(NamedTuple):
    """The placeholder of a tensor that a function closes over."""

    number: int


#: Types of values that may differ in a later run.
_VARIABLE_TYPES: Final = (
    FunctionType,
    MethodType,
    functools.partial,
    Tensor,
    _TensorPlaceholder,
    np.ndarray,
)


class ClosureSnapshot:
    """A copy of a function that keeps the current values of the names that it closes over.

    `tensors` are those that it closes over; the owner must keep them. With `arrays`, small NumPy
    arrays are copied.
    """

    __slots__ = ("_arrays", "_function", "memories")

    def __init__(self, function: Callable[..., Any], tensors: list[Tensor], arrays: bool) -> None:
        self._arrays = arrays
        copy = _FunctionCopier(arrays, taken=tensors)
        self._function = copy.copy(function)
        #: The addresses of copied arrays, except of those that share memory with a tensor.
        self.memories = [
            place
            for place in copy.get_copied_ranges()
            if not any(t.data_ptr() in place for t in tensors)
        ]

    def build(self, tensors: Sequence[Tensor]) -> Callable[..., Any]:
        """The function for one run, with replacements for the tensors that it closes over."""
        function: Callable[..., Any] = _FunctionCopier(self._arrays, given=tensors).copy(
            self._function
        )
        return function


def snapshot_closure(function: Callable[..., Any], arrays: bool = True) -> Callable[..., Any]:
    """A copy of the function with its current closure, and the tensors that it closes over."""
    return _snapshot_with_addresses(function, arrays)[0]


def _snapshot_with_addresses(
    function: Callable[..., Any], arrays: bool
) -> tuple[Callable[..., Any], list[range]]:
    """The function of `bound_now`, and the addresses of the arrays that it copied."""
    tensors: list[Tensor] = []
    kept = ClosureSnapshot(function, tensors, arrays)
    for tensor in tensors:
        # What was written to it becomes a node now, which is older than those of every run.
        if tensor.requires_grad:
            get_gradient_edge(tensor)
    return lambda *args, **kwargs: kept.build(tensors)(*args, **kwargs), kept.memories


class DeferredFunction:
    """A traced function that a derivative may call later, with its current closure."""

    __slots__ = ("_function", "_kept", "_memories")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function: Callable[..., Any] | None = function
        self._kept: Callable[..., Any] | None = None
        self._memories: list[range] = []
        if is_grad_enabled():
            self._kept, self._memories = _snapshot_with_addresses(function, True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is not None:
            return self._function(*args, **kwargs)
        assert self._kept is not None, "there are no derivatives without recording"
        return self._kept(*args, **kwargs)

    def has_copy_of(self, address: int) -> bool:
        """Whether a later call reads a copy of the memory that has this address."""
        return any(address in place for place in self._memories)

    def end_trace(self) -> None:
        """Marks the end of the trace: later calls use the copy."""
        if self._kept is not None:
            self._function = None


class _FunctionCopier:
    """A copy of a function and its closure; an object that occurs twice is copied once."""

    def __init__(
        self, arrays: bool, *, taken: list[Tensor] | None = None, given: Sequence[Tensor] = ()
    ) -> None:
        self._arrays = arrays
        #: The tensors that are replaced by placeholders, if any.
        self._taken = taken
        self._places: dict[int, _TensorPlaceholder] = {}
        self._given = given
        self._cells: dict[int, CellType] = {}
        self._functions: dict[int, FunctionType] = {}
        #: The arrays that were copied, and their copies.
        self._memories: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        #: Cells and functions that are not filled yet, with their originals. There is no recursion,
        #: because a chain of functions may be longer than the stack.
        self._open: list[tuple[Any, Any]] = []

    def copy(self, function: Any) -> Any:
        """The copy of a function with everything that it refers to."""
        copy = self._copy_value(function)
        while self._open:
            new, old = self._open.pop()
            if isinstance(new, FunctionType):
                self._fill_function(new, old)
                continue
            try:
                contents = old.cell_contents
            except ValueError:
                continue  # Nothing is bound to the name yet.
            new.cell_contents = self._copy_value(contents)
        return copy

    def get_copied_ranges(self) -> list[range]:
        """The addresses of the arrays that were copied."""
        arrays = (array for array, _ in self._memories.values())
        return [range(a.ctypes.data, a.ctypes.data + max(a.nbytes, 1)) for a in arrays]

    def _copy_value(self, value: Any) -> Any:
        if isinstance(value, FunctionType):
            return self._functions.get(id(value)) or self._copy_function(value)
        if type(value) is functools.partial:
            named = {name: self._copy_value(x) for name, x in value.keywords.items()}
            return functools.partial(
                self._copy_value(value.func), *map(self._copy_value, value.args), **named
            )
        if isinstance(value, MethodType):
            return MethodType(self._copy_value(value.__func__), value.__self__)
        if isinstance(value, _TensorPlaceholder):
            return self._given[value.number]
        # A tensor made in inference mode is a constant that cannot be saved.
        if isinstance(value, Tensor) and self._taken is not None and not value.is_inference():
            return self._make_placeholder(value, self._taken)
        if type(value) is np.ndarray and self._arrays:
            return self._copy_array(value)
        return value

    def _make_placeholder(self, value: Tensor, taken: list[Tensor]) -> _TensorPlaceholder:
        if id(value) not in self._places:
            self._places[id(value)] = _TensorPlaceholder(len(taken))
            taken.append(value)
        return self._places[id(value)]

    def _copy_function(self, value: FunctionType) -> FunctionType:
        defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        if not value.__closure__ and not any(isinstance(x, _VARIABLE_TYPES) for x in defaults):
            return value
        cells = tuple(map(self._copy_cell, value.__closure__ or ())) or None
        code, names = value.__code__, value.__globals__
        copy = FunctionType(code, names, value.__name__, value.__defaults__, cells)
        copy.__kwdefaults__ = value.__kwdefaults__
        copy.__qualname__ = value.__qualname__
        copy.__dict__.update(value.__dict__)
        self._functions[id(value)] = copy
        self._open.append((copy, value))
        return copy

    def _fill_function(self, copy: FunctionType, value: FunctionType) -> None:
        """Copies the defaults, and the wrapped function."""
        if value.__defaults__:
            copy.__defaults__ = tuple(map(self._copy_value, value.__defaults__))
        if value.__kwdefaults__:
            named = value.__kwdefaults__.items()
            copy.__kwdefaults__ = {name: self._copy_value(x) for name, x in named}
        if "__wrapped__" in value.__dict__:
            copy.__dict__["__wrapped__"] = self._copy_value(value.__dict__["__wrapped__"])

    def _copy_cell(self, cell: CellType) -> CellType:
        new = self._cells.get(id(cell))
        if new is None:
            new = self._cells[id(cell)] = CellType()
            self._open.append((new, cell))
        return new

    def _copy_array(self, value: np.ndarray) -> np.ndarray:
        """A copy that shares its memory with those of other views of the same."""
        memory = value
        while type(memory.base) is np.ndarray:
            memory = memory.base
        # A strided array is a view of other memory.
        dense = memory.flags.owndata or memory.flags.forc
        if not dense or not is_small(memory):
            return value
        if id(memory) not in self._memories:
            self._memories[id(memory)] = memory, memory.ravel("K").copy()
        offset = 0 if value is memory else value.ctypes.data - memory.ctypes.data
        own = self._memories[id(memory)][1]
        return np.ndarray(value.shape, value.dtype, own, offset, value.strides)


def is_small(array: np.ndarray) -> bool:
    """Whether the array is small enough to be copied for a run in a backward pass."""
    return array.nbytes <= MAX_COPIED_BYTES and not array.dtype.hasobject
