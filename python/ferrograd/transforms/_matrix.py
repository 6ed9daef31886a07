"""Whole matrices of derivatives: `jacobian` and `hessian`.

Owns: one pull per element of the results through one recorded graph. Never runs the function twice.
Invariant: a block has the shape of its result followed by that of its argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor, grad as _grad, stack, tensor
from ferrograd.transforms._argnums import Argnums, Wanted, named
from ferrograd.transforms._trace import Trace, outputs_of, traced
from ferrograd.transforms._values import FLOAT, SCALAR, TENSOR

Block = Any  # an array, or a tensor that is still recorded


def jacobian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    argnum: Argnums | None = None,
) -> Callable[..., Any]:
    """The function that gives all derivatives of all results.

    For arrays the shape is that of the result followed by that of the argument. Containers give
    containers: of the results' structure outside, of the arguments' inside. With `has_aux`, `f`
    returns `(value, aux)` and the result is `(jacobian, aux)`.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> fg.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return _matrix(Wanted("jacobian", f, argnums, argnum), has_aux, _first)


def hessian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    argnum: Argnums | None = None,
) -> Callable[..., Any]:
    """The function that gives all second derivatives, `jacobian` of `jacobian`.

    For several arguments the blocks come as a tuple of tuples. With `has_aux`, `(hessian, aux)`.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> fg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return _matrix(Wanted("hessian", f, argnums, argnum), has_aux, _second)


def _matrix(
    wanted: Wanted,
    has_aux: bool,
    derivatives: Callable[[Trace, Any, bool], list[Any]],
) -> Callable[..., Any]:
    """The function that gives `derivatives(found, out, attached)` of every result."""

    def matrix(*args: Any, **kwargs: Any) -> Any:
        found = traced(wanted, args, kwargs)
        if has_aux:
            found.split_aux()
        outputs, tree = outputs_of(found)
        attached = found.attached(outputs)
        result = tree.build(found.tree(derivatives(found, out, attached)) for out in outputs)
        return (result, found.leave_aux(attached)) if has_aux else result

    return named(matrix, wanted.function, f"{wanted.op}_of")


def _first(found: Trace, out: Any, attached: bool) -> list[Any]:
    """For each input, the derivatives of one result by it."""
    return _finished(found, out, blocks(out, found.tensors, attached))


def _second(found: Trace, out: Any, attached: bool) -> list[Any]:
    """For each input, the derivatives by all inputs of one result's derivative by it."""
    rows = []
    for x, first in zip(found.tensors, _recorded_blocks(out, found.tensors), strict=True):
        if first is None:
            shape = tuple(np.shape(out)) + tuple(x.shape)
            first = np.zeros(shape, x.dtype)
        second = blocks(first, found.tensors, attached)
        rows.append(found.tree(_finished(found, first, second)))
    return rows


def blocks(out: Any, inputs: Sequence[Tensor], attached: bool) -> list[Block | None]:
    """The derivatives of one result by each input, None where it does not depend on it."""
    if not isinstance(out, Tensor) or not out.requires_grad:
        return [None] * len(inputs)
    if attached:
        return _recorded_blocks(out, inputs)
    made: list[Any] = [None] * len(inputs)
    count = out.numel()
    for k, row in enumerate(_rows(out, inputs, False)):
        for i, slope in enumerate(row):
            if slope is None:
                continue
            if made[i] is None:
                made[i] = np.zeros((count, *inputs[i].shape), inputs[i].dtype)
            made[i][k] = slope.numpy()
    shape = tuple(out.shape)
    return [None if m is None else m.reshape(shape + m.shape[1:]) for m in made]


def _recorded_blocks(out: Tensor, inputs: Sequence[Tensor]) -> list[Block | None]:
    """The same as tensors that somebody else may differentiate."""
    if not isinstance(out, Tensor) or not out.requires_grad:
        return [None] * len(inputs)
    if not out.ndim:
        return list(_grad(out, inputs, None, None, True, True))
    rows = list(_rows(out, inputs, True))
    made: list[Block | None] = []
    for i, x in enumerate(inputs):
        column = [row[i] for row in rows]
        if all(slope is None for slope in column):
            made.append(None)
            continue
        zero = tensor(np.zeros(x.shape, x.dtype))
        filled = [zero if slope is None else slope for slope in column]
        made.append(stack(filled).reshape((*out.shape, *x.shape)))
    return made


def _rows(out: Tensor, inputs: Sequence[Tensor], create: bool) -> Iterator[Sequence[Tensor | None]]:
    """The gradients of each element of a result."""
    seed = np.zeros(out.shape, out.dtype)
    flat = seed.reshape(-1)
    for k in range(len(flat)):
        flat[k] = 1.0
        yield _grad(out, inputs, seed, True, create, True)
        flat[k] = 0.0


def _finished(found: Trace, out: Any, made: list[Block | None]) -> list[Any]:
    return [
        _block(kind, out, x, block)
        for kind, x, block in zip(found.kinds, found.tensors, made, strict=True)
    ]


def _block(kind: int, out: Any, x: Tensor, block: Block | None) -> Any:
    """A block as its argument's kind; a number where neither result nor argument has axes."""
    if isinstance(block, Tensor) and block.requires_grad:
        return block
    if block is None:
        array = np.zeros(tuple(np.shape(out)) + tuple(x.shape), x.dtype)
    else:
        array = block.numpy().copy() if isinstance(block, Tensor) else block
    if kind == TENSOR:
        return tensor(array)
    if array.ndim == 0 and kind in (FLOAT, SCALAR):
        return float(array) if kind == FLOAT else array[()]
    return array


__all__ = ["blocks", "hessian", "jacobian"]
