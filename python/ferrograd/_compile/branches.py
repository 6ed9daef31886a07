"""Branches that are one step of a compiled function: `cond` and `switch`.

Invariant: the results of all branches have the same tree, shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._compile.loops import can_run_natively, flatten_to_tensors, run_natively
from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._tensor.array_recording import call_with_recorded_arrays
from ferrograd._tensor.closures import DeferredFunction
from ferrograd._tensor.pytree import Tree
from ferrograd.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError


def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """`true_fun(*operands)` if `pred` is true, else `false_fun(*operands)`.

    `pred` is one boolean. In a compiled function it may be a tensor that depends on an argument:
    the program has both branches, and every call runs one of them. Both branches must then return
    the same tree, shapes and dtypes. Gradients flow through the branch that ran.

    Errors: `ShapeError`, `DTypeError` if the branches differ, or `pred` is not a single boolean.
    Source: `jax.lax.cond`.

    >>> import ferrograd as fg
    >>> root = fg.compile(lambda x: fg.cond(x > 0, fg.sqrt, lambda x: -fg.sqrt(-x), x))
    >>> [root(fg.tensor(4.0)).item(), root(fg.tensor(-9.0)).item()]
    [2.0, -3.0]
    """
    if isinstance(pred, Tensor) and (pred.numel() != 1 or pred.dtype.name != "bool"):
        raise ShapeError(f"cond: pred is {pred.dtype.name}{list(pred.shape)}; give one boolean")
    if not (isinstance(pred, Tensor) and _core._is_recording_program()):
        return _run_branch("cond", true_fun if pred else false_fun, operands)
    index = _core.reshape(pred, ()).astype("int64")
    return _trace_branches("cond", index, [false_fun, true_fun], operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`; an index out of range selects the first or the last branch.

    `index` is an integer, or a tensor with one integer; the rest is as in `cond`.

    Errors: `ArgumentError` without branches; those of `cond`.
    Source: `jax.lax.switch`.

    >>> import ferrograd as fg
    >>> fg.switch(1, [fg.sin, fg.cos], fg.tensor(0.0)).item()
    1.0
    """
    if not branches:
        raise ArgumentError("switch: there are no branches; give at least one")
    if not isinstance(index, Tensor | int | np.integer):
        raise ArgumentTypeError(
            f"switch: index is a {type(index).__name__}; give a whole number, or a tensor of one"
        )
    if isinstance(index, Tensor) and (index.numel() != 1 or "int" not in index.dtype.name):
        raise ShapeError(
            f"switch: index is {index.dtype.name}{list(index.shape)}; give one whole number"
        )
    if not (isinstance(index, Tensor) and _core._is_recording_program()):
        number = min(max(int(index), 0), len(branches) - 1)
        return _run_branch("switch", branches[number], operands)
    clipped = _core.clip(_core.reshape(index, ()).astype("int64"), 0, len(branches) - 1)
    return _trace_branches("switch", clipped, list(branches), operands)


class _Branch:
    """A branch as a function of tensors."""

    def __init__(
        self, op: str, f: Callable[..., Any], tree: Tree, like: _Branch | None = None
    ) -> None:
        if not callable(f):
            raise ArgumentTypeError(f"{op}: a branch is a {type(f).__name__}; pass functions")
        self.op = op
        self.f = DeferredFunction(f)
        self.tree = tree
        self.like = like
        self.results: Tree | None = None
        self.specs: list[tuple[str, tuple[int, ...]]] = []

    def __call__(self, *given: Tensor) -> list[Tensor]:
        found = call_with_recorded_arrays(self.f, *self.tree.unflatten(given))
        tensors, self.results = flatten_to_tensors(self.op, "a result", found)
        self.specs = [(x.dtype.name, tuple(x.shape)) for x in tensors]
        if self.like is not None:
            _check_same_results(self.op, self.like, self)
        return tensors

    def has_copy_of(self, address: int) -> bool:
        """Whether a later call reads a copy of the memory at this address."""
        return self.f.has_copy_of(address)

    def build_results(self, found: list[Tensor]) -> Any:
        """The results of the branch for these tensors."""
        assert self.results is not None, "the branch ran"
        return self.results.unflatten(found)


def _run_branch(op: str, f: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """Runs the chosen branch; if it has a history, it is one node, as in a program."""
    given, tree = flatten_to_tensors(op, "an operand", operands)
    branch = _Branch(op, f, tree)
    found = None
    if is_grad_enabled() and can_run_natively():
        index = _core.tensor(0)
        found = run_natively(lambda: _core._switch(index, [branch], given), branch.f)
    return branch.build_results(branch(*given) if found is None else found)


def _trace_branches(
    op: str, index: Tensor, functions: list[Callable[..., Any]], operands: tuple[Any, ...]
) -> Any:
    given, tree = flatten_to_tensors(op, "an operand", operands)
    first = _Branch(op, functions[0], tree)
    branches = [first, *(_Branch(op, f, tree, first) for f in functions[1:])]

    found = _core._switch(index, branches, given)
    if found is not None:
        for branch in branches:
            branch.f.end_trace()
    return first.build_results(branches[int(index)](*given) if found is None else found)


def _check_same_results(op: str, one: _Branch, other: _Branch) -> None:
    if one.results is None or other.results is None or one.results != other.results:
        raise ShapeError(
            f"{op}: a branch gives {one.results} and another {other.results};"
            " give the same containers"
        )
    for (dtype, shape), (other_dtype, other_shape) in zip(one.specs, other.specs, strict=True):
        if shape != other_shape:
            raise ShapeError(
                f"{op}: a branch gives shape {shape} and another {other_shape}; give one shape"
            )
        if dtype != other_dtype:
            raise DTypeError(
                f"{op}: a branch gives dtype {dtype} and another {other_dtype}; give one dtype"
            )
