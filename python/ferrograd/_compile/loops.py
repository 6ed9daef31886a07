"""Loops that are one step of a compiled function: `scan`, `fori_loop`, `while_loop`.

Invariant: carried values keep their tree, shapes and dtypes from one iteration to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._compile.specializations import is_compile_enabled
from ferrograd._core import Tensor, stack
from ferrograd._tensor.array_recording import call_with_recorded_arrays
from ferrograd._tensor.closures import DeferredFunction
from ferrograd._tensor.creation import zeros
from ferrograd._tensor.modes import no_grad
from ferrograd._tensor.pytree import Tree, flatten
from ferrograd.errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    DTypeError,
    MatrixError,
    ShapeError,
)


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    checkpoint: int = 1,
) -> tuple[Any, Any]:
    """The last carry and the stacked results of `carry, y = f(carry, x)` over the first axis of xs.

    `init` and `xs` are tensors, arrays, numbers, or trees of them; every leaf of `xs` has one
    length. Without `xs`, x is None and `length` is the number of iterations. The new carry has the
    tree, shapes and dtypes of the old one. With `reverse`, f starts with the last element; results
    have the positions of their elements.

    f is traced once and then runs without Python, in a compiled function and outside. It must not
    read values (`if`, `float()`), and prints only once. If it reads values outside compiled
    functions, the loop runs in Python. The derivative is one node; higher derivatives run the loop
    in Python. The node keeps the saved values of each iteration. With `checkpoint=k` it keeps the
    carry before every k iterations, and runs them again in the backward pass. Gradients have the
    same bits. A k near the square root of the number of iterations needs the least memory.

    Parameters: `f` maps (carry, x) to (carry, y); y may be None. `unroll`, a number or a boolean,
    is accepted for JAX's sake and changes nothing. Returns (carry, ys), of tensors.
    Errors: `ShapeError`, `DTypeError` if the carry changes or lengths differ; `ArgumentError`
    without xs and length, or for a checkpoint or an unroll below 1; `CompileError` if f reads
    values in a compiled function.
    Source: `jax.lax.scan`.

    >>> import ferrograd as fg
    >>> last, sums = fg.scan(lambda s, x: (s + x, s + x), 0.0, fg.tensor([1.0, 2.0, 3.0]))
    >>> sums.tolist()
    [1.0, 3.0, 6.0]
    """
    interval = _check_checkpoint("scan", checkpoint)
    _check_unroll("scan", unroll)
    carry, carry_tree = flatten_to_tensors("scan", "init", init)
    scanned, xs_tree = flatten_to_tensors("scan", "xs", xs)
    count = _count_iterations(scanned, length)
    body = _LoopBody("scan", f, carry, carry_tree, xs_tree)

    def run_in_python(*given: Tensor) -> list[Tensor]:
        now, rows = list(given[: len(carry)]), given[len(carry) :]
        stacked: list[list[Tensor]] = []
        for k in range(count)[:: -1 if reverse else 1]:
            found = body(*now, *(row[k] for row in rows))
            now = found[: len(carry)]
            stacked.append(found[len(carry) :])
        columns = list(zip(*stacked[:: -1 if reverse else 1], strict=True))
        return [*now, *(stack(list(column)) for column in columns)]

    run_in_python.has_copy_of = body.f.has_copy_of  # type: ignore[attr-defined]
    found = None
    how = (count, reverse, min(interval, max(count, 1)))
    if can_run_natively():
        found = run_natively(lambda: _core._scan(body, run_in_python, carry, scanned, how), body.f)
    if found is None:
        found = (
            run_in_python(*carry, *scanned) if count else _run_zero_iterations(body, carry, scanned)
        )
    rest = iter(found)
    last = carry_tree.unflatten(rest)
    return last, body.get_ys_tree().unflatten(rest)


def fori_loop(
    lower: int | Tensor,
    upper: int | Tensor,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
    checkpoint: int = 1,
) -> Any:
    """The value after `for i in range(lower, upper): value = body_fun(i, value)`.

    i is an int64 tensor; the rest, including `unroll` and `checkpoint`, is as in `scan`. A bound
    may be a tensor with one integer. In a compiled function such a loop is a `while_loop`, which
    keeps the saved values of every iteration.

    Errors: those of `scan`; `ArgumentTypeError` for bounds that are not integers.
    Source: `jax.lax.fori_loop`.

    >>> import ferrograd as fg
    >>> fg.fori_loop(0, 4, lambda i, total: total + i, 0.0).item()
    6.0
    """
    interval = _check_checkpoint("fori_loop", checkpoint)
    _check_unroll("fori_loop", 1 if unroll is None else unroll)
    for name, bound in (("lower", lower), ("upper", upper)):
        whole = isinstance(bound, int | np.integer) or (
            isinstance(bound, Tensor) and bound.shape == () and "int" in bound.dtype.name
        )
        if not whole:
            raise ArgumentTypeError(
                f"fori_loop: {name} is {_describe_bound(bound)}; give a whole number"
            )
    first = (_core.tensor(lower, dtype="int64"), init_val)

    def step(now: Any, _: Any = None) -> Any:
        return now[0] + 1, body_fun(now[0], now[1])

    if _core._is_recording_program() and (isinstance(lower, Tensor) or isinstance(upper, Tensor)):
        return while_loop(lambda now: now[0] < upper, step, first)[1]
    lower, upper = int(lower), int(upper)
    if upper <= lower:
        carry, tree = flatten_to_tensors("fori_loop", "init_val", init_val)
        return tree.unflatten(carry)
    length = upper - lower
    return scan(lambda now, _: (step(now), None), first, length=length, checkpoint=interval)[0][1]


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """The value after `while cond_fun(value): value = body_fun(value)`.

    `init_val` is a tensor, an array, a number, or a tree of them, which keeps its tree, shapes and
    dtypes. `cond_fun` returns one boolean. Both functions are traced once and then run without
    Python, as in `scan`. The derivative keeps the saved values of every iteration.

    Errors: `ShapeError`, `DTypeError` if the value changes its form, or `cond_fun` does not return
    a single boolean; `CompileError` if they read values in a compiled function.
    Source: `jax.lax.while_loop`, which has no derivative in reverse mode.

    >>> import ferrograd as fg
    >>> fg.while_loop(lambda x: x < 100.0, lambda x: x * 2.0, 3.0).item()
    192.0
    """
    carry, tree = flatten_to_tensors("while_loop", "init_val", init_val)
    step = _LoopBody(
        "while_loop", lambda value, _: (body_fun(value), None), carry, tree, _get_tree(None)
    )

    condition = DeferredFunction(cond_fun)

    def evaluate_condition(*given: Tensor) -> list[Tensor]:
        found = call_with_recorded_arrays(condition, tree.unflatten(given))
        result = found if isinstance(found, Tensor) else _core.tensor(found)
        if result.shape != () or result.dtype.name != "bool":
            raise ShapeError(
                f"while_loop: cond_fun gave {result.dtype.name}{list(result.shape)};"
                " give one boolean"
            )
        return [result]

    def run_in_python(*given: Tensor) -> list[Tensor]:
        if _core._is_recording_program():
            raise CompileError(
                "while_loop: the derivative that is recorded here must have derivatives itself, and"
                " how often the loop runs depends on values; use scan or fori_loop, or detach the"
                " tensors outside that require grad"
            )
        now = list(given)
        while bool(evaluate_condition(*now)[0]):
            now = step(*now)
        return now

    def has_copy_of(address: int) -> bool:
        return condition.has_copy_of(address) or step.f.has_copy_of(address)

    run_in_python.has_copy_of = has_copy_of  # type: ignore[attr-defined]
    found = None
    if can_run_natively():
        found = run_natively(
            lambda: _core._while_loop(evaluate_condition, step, run_in_python, carry),
            condition,
            step.f,
            endless=True,
        )
    return tree.unflatten(run_in_python(*carry) if found is None else found)


class _LoopBody:
    """The body of a loop as a function of tensors: the carry, then one element of each of xs."""

    def __init__(
        self,
        op: str,
        f: Callable[[Any, Any], tuple[Any, Any]],
        carry: list[Tensor],
        carry_tree: Tree,
        xs_tree: Tree,
    ) -> None:
        self.op = op
        self.f = DeferredFunction(f)
        self.carry_specs = [(x.dtype.name, tuple(x.shape)) for x in carry]
        self.carry_tree = carry_tree
        self.xs_tree = xs_tree
        self.results: Tree | None = None

    def __call__(self, *given: Tensor) -> list[Tensor]:
        leaves = iter(given)
        carry = self.carry_tree.unflatten(leaves)
        found = call_with_recorded_arrays(self.f, carry, self.xs_tree.unflatten(leaves))
        if not isinstance(found, tuple) or len(found) != 2:
            raise ArgumentTypeError(
                f"{self.op}: f gave a {type(found).__name__}; return the carry and a result"
                " (or None)"
            )
        new, tree = flatten_to_tensors(self.op, "the carry", found[0])
        if tree != self.carry_tree:
            raise ShapeError(
                f"{self.op}: the carry was {self.carry_tree} and became {tree}; keep its containers"
            )
        for before, now in zip(self.carry_specs, new, strict=True):
            self._check_carry(before, now)
        results, self.results = flatten_to_tensors(self.op, "the result", found[1])
        return [*new, *results]

    def _check_carry(self, before: tuple[str, tuple[int, ...]], now: Tensor) -> None:
        if before[1] != tuple(now.shape):
            raise ShapeError(
                f"{self.op}: a carried value had shape {before[1]} and got {tuple(now.shape)};"
                " keep its shape"
            )
        if before[0] != now.dtype.name:
            raise DTypeError(
                f"{self.op}: a carried value had dtype {before[0]} and got {now.dtype.name};"
                f" begin with {now.dtype.name}, or convert it"
            )

    def get_ys_tree(self) -> Tree:
        """The tree of the results."""
        assert self.results is not None, "the body ran"
        return self.results


def _run_zero_iterations(
    body: _LoopBody, carry: list[Tensor], scanned: list[Tensor]
) -> list[Tensor]:
    """The result of a loop without iterations; calls f with zeros to find the result shapes."""
    with no_grad():
        elements = [zeros(x.shape[1:], dtype=x.dtype) for x in scanned]
        results = body(*(x.detach() for x in carry), *elements)[len(carry) :]
    return [*carry, *(zeros((0, *x.shape), dtype=x.dtype) for x in results)]


def can_run_natively() -> bool:
    """Whether loop bodies can be traced here."""
    return is_compile_enabled() and (_core._is_recording_program() or _core._may_replay())


def run_natively(
    run: Callable[[], list[Tensor] | None], *functions: DeferredFunction, endless: bool = False
) -> list[Tensor] | None:
    """Runs the loop in the core; returns None if it must run in Python."""
    try:
        found = run()
    except CompileError:
        # The number of iterations of a `while_loop` in later calls is not known.
        if endless and _core._is_recording_program():
            raise
        return None
    except MatrixError:
        # It may concern only the derivative, which may never be needed.
        if endless and _core._is_recording_program():
            raise
        return None
    if found is not None:
        for function in functions:
            function.end_trace()
    return found


def _describe_bound(bound: Any) -> str:
    if isinstance(bound, Tensor):
        return f"{bound.dtype.name}{list(bound.shape)}"
    return f"a {type(bound).__name__}"


def _check_checkpoint(op: str, checkpoint: Any) -> int:
    """Checks `checkpoint`, the number of iterations between two saved carries."""
    if not isinstance(checkpoint, int | np.integer) or checkpoint is True or checkpoint < 1:
        raise ArgumentError(
            f"{op}: checkpoint is {checkpoint!r}; give the number of iterations, at least 1, that"
            " run again from one carry"
        )
    return int(checkpoint)


def _check_unroll(op: str, unroll: Any) -> None:
    if isinstance(unroll, bool | np.bool_) or (isinstance(unroll, int | np.integer) and unroll > 0):
        return
    raise ArgumentError(f"{op}: unroll is {unroll!r}; give a whole number of at least 1")


def _get_tree(value: Any) -> Tree:
    return flatten(value)[1]


def flatten_to_tensors(op: str, name: str, value: Any) -> tuple[list[Tensor], Tree]:
    """Flattens a value: its leaves as tensors, and its tree."""
    leaves, tree = flatten(value)
    tensors = []
    for leaf in leaves:
        if not isinstance(leaf, Tensor | np.ndarray | np.generic | complex | float | int | bool):
            raise ArgumentTypeError(
                f"{op}: {name} holds a {type(leaf).__name__}; use tensors, arrays and numbers"
            )
        tensors.append(leaf if isinstance(leaf, Tensor) else _core.tensor(leaf))
    return tensors, tree.without_items()


def _count_iterations(scanned: list[Tensor], length: int | None) -> int:
    """Checks the lengths of `xs` and `length`; returns the number of iterations."""
    counts = {length} if length is not None else set()
    for x in scanned:
        if x.ndim == 0:
            raise ShapeError("scan: xs holds a tensor without axes; give it a first axis to scan")
        counts.add(int(x.shape[0]))
    if len(counts) != 1:
        what = f"lengths {sorted(counts)}" if counts else "neither xs nor length"
        raise ArgumentError(f"scan: there are {what}; give tensors of one length, or length=")
    count = counts.pop()
    if not isinstance(count, int) or count < 0:
        raise ArgumentError(f"scan: length is {count!r}; give a whole number of at least 0")
    return count
