"""Whole matrices of derivatives: `jacobian` and `hessian`.

Invariant: a block has the shape of its result followed by that of its argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ferrograd._core import (
    Tensor,
    _calls_back,
    _grad_rows,
    _is_recording_program,
    _jacobian,
    _rows_of_pass,
    asarray,
    concatenate,
    tensor,
)
from ferrograd.transforms._argnums import Argnums, P, TransformSpec, set_wrapper_name
from ferrograd.transforms._conversion import FLOAT, SCALAR, TENSOR, conjugate, to_array
from ferrograd.transforms._differentiated_call import (
    Trace,
    check_holomorphic,
    flatten_outputs,
    leaves_inference_mode,
    pull,
    trace_call,
)

#: Larger blocks are computed in a loop in compiled functions: a trace keeps several copies.
_MAX_BLOCK_SIZE = 1 << 18
#: The most rows or columns in one pass.
_MAX_PASS_ROWS = 64


def jacobian(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    argnum: Argnums | None = None,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """Returns a function that computes all derivatives of all results.

    For arrays the shape is that of the result followed by that of the argument. For containers the
    result has the structure of the results outside and that of the arguments inside. With
    `has_aux`, `f` returns `(value, aux)` and the result is `(jacobian, aux)`. Complex results of
    complex arguments need `holomorphic`: the derivatives are the complex ones.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> fg.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return _make_matrix_transform(
        TransformSpec("jacobian", f, argnums, argnum, holomorphic),
        has_aux,
        _compute_first_derivatives,
    )


def jacrev(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    argnum: Argnums | None = None,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """Returns a function that computes all derivatives of all results by reverse mode.

    The result is that of `jacobian`, which chooses between rows and columns by their number; this
    one always computes rows, so that it suits functions with fewer results than arguments.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> fg.jacrev(lambda x: x[:1] * x[1:])(np.array([2.0, 3.0]))
    array([[3., 2.]])
    """
    return _make_matrix_transform(
        TransformSpec("jacrev", f, argnums, argnum, holomorphic), has_aux, _compute_by_rows
    )


def hessian(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    argnum: Argnums | None = None,
) -> Callable[P, Any]:
    """Returns a function that computes all second derivatives, `jacobian` of `jacobian`.

    For several arguments the blocks are a tuple of tuples. With `has_aux`, `(hessian, aux)`.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> fg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return _make_matrix_transform(
        TransformSpec("hessian", f, argnums, argnum), has_aux, _compute_second_derivatives
    )


def _make_matrix_transform(
    spec: TransformSpec,
    has_aux: bool,
    derivatives: Callable[[Trace, Any, bool], list[Any]],
) -> Callable[..., Any]:
    """Returns a function that applies `derivatives(found, out, attached)` to every result."""

    def matrix(*args: Any, **kwargs: Any) -> Any:
        found = trace_call(spec, args, kwargs)
        if has_aux:
            found.split_aux()
        outputs, tree = flatten_outputs(found)
        for out in outputs:
            complex_result = isinstance(out, Tensor) and out.dtype.kind == "c"
            if spec.holomorphic or (
                complex_result and any(x.dtype.kind == "c" for x in found.tensors)
            ):
                check_holomorphic(found, out)
        attached = found.is_attached(outputs)
        result = tree.unflatten(
            found.build_tree(derivatives(found, out, attached)) for out in outputs
        )
        return (result, found.convert_aux(attached)) if has_aux else result

    return set_wrapper_name(matrix, spec.function, f"{spec.op}_of")


def _compute_first_derivatives(found: Trace, out: Any, attached: bool) -> list[Any]:
    """For each input, the derivatives of one result with respect to it."""
    return _convert_blocks(found, out, _compute_output_blocks(found, out, attached))


def _compute_second_derivatives(found: Trace, out: Any, attached: bool) -> list[Any]:
    """For each input, the derivatives with respect to all inputs of the first derivative by it."""
    rows = []
    for x, block in zip(
        found.tensors, compute_jacobian_blocks(out, found.tensors, True), strict=True
    ):
        first: Any = block
        if first is None:
            shape = tuple(np.shape(out)) + tuple(x.shape)
            first = np.zeros(shape, x.dtype)
        second = compute_jacobian_blocks(
            first, found.tensors, attached or found.is_shared((first,))
        )
        rows.append(found.build_tree(_convert_blocks(found, first, second)))
    return rows


def _compute_by_rows(found: Trace, out: Any, attached: bool) -> list[Any]:
    return _convert_blocks(found, out, _compute_output_blocks(found, out, attached, True))


def _compute_output_blocks(
    found: Trace, out: Any, attached: bool, by_rows: bool = False
) -> Sequence[Tensor | None]:
    return found.compute_derivatives(
        (out,),
        attached,
        lambda create: compute_jacobian_blocks(out, found.tensors, create, by_rows),
    )


@leaves_inference_mode
def compute_jacobian_blocks(
    out: Any, inputs: Sequence[Tensor], attached: bool, by_rows: bool = False
) -> Sequence[Tensor | None]:
    """The derivatives of one result by each input, None for inputs on which it does not depend.

    The derivatives of an attached result are recorded, because an outer transform may use them.
    """
    if not isinstance(out, Tensor) or not out.requires_grad:
        return [None] * len(inputs)
    if out.dtype.kind != "c" or all(x.dtype.kind == "c" for x in inputs):
        if not by_rows and _is_tall(out, inputs):
            return _compute_columns(out, inputs, attached)
        made = _compute_rows(out, inputs, attached)
        return [block if block is None else conjugate(block) for block in made]
    # A complex function of real numbers: the derivatives of both parts.
    real, imag = (
        compute_jacobian_blocks(part, inputs, attached, by_rows) for part in (out.real, out.imag)
    )
    return [
        a if b is None else b * 1j if a is None else a + b * 1j
        for a, b in zip(real, imag, strict=True)
    ]


def _compute_rows(out: Tensor, inputs: Sequence[Tensor], attached: bool) -> Sequence[Tensor | None]:
    """The gradients of every element of a result.

    A trace keeps the results of all its steps until it ends. So in a long trace the passes are one
    loop, whose body is traced once.
    """
    if not attached and _is_recording_program():
        size, rows = out.numel() * max(x.numel() for x in inputs), _rows_of_pass(out, inputs)
        if size > _MAX_BLOCK_SIZE and rows < out.numel() and not _calls_back([out], inputs):
            return _compute_rows_in_loop(out, inputs, rows)
    made: Sequence[Tensor | None] = _jacobian(out, inputs, attached)
    return made


def _compute_rows_in_loop(out: Tensor, inputs: Sequence[Tensor], rows: int) -> Sequence[Tensor]:
    """The same as a loop with a fixed number of rows in each iteration; the rest follows."""
    count = out.numel()
    steps, rest = divmod(count, rows)
    places, own = asarray(np.arange(count)), asarray(np.arange(rows)[:, np.newaxis])

    def compute_some_rows(first: Any, own: Tensor) -> Any:
        seeds = (places == own + first).astype(out.dtype).reshape((-1, *out.shape))
        return tuple(_grad_rows([out], inputs, [seeds], (True, False), (True, True)))

    scan = import_module("ferrograd._compile.loops").scan
    _, parts = scan(lambda none, k: (none, compute_some_rows(k * rows, own)), 0.0, np.arange(steps))
    parts = [part.reshape((-1, *x.shape)) for part, x in zip(parts, inputs, strict=True)]
    if rest:
        last = compute_some_rows(steps * rows, own[:rest])
        parts = [concatenate(both) for both in zip(parts, last, strict=True)]
    return [part.reshape((*out.shape, *x.shape)) for part, x in zip(parts, inputs, strict=True)]


def _is_tall(out: Tensor, inputs: Sequence[Tensor]) -> bool:
    """Whether to compute columns: there are fewer columns than rows, and no hooks need rows."""
    rows = out.numel()
    return (
        rows > _MAX_PASS_ROWS
        and rows > sum(x.numel() for x in inputs)
        and all(x.dtype.kind == out.dtype.kind for x in inputs)
        and not _calls_back([out], inputs)
    )


def _compute_columns(
    out: Tensor, inputs: Sequence[Tensor], attached: bool
) -> Sequence[Tensor | None]:
    """The same as `blocks`, from the derivative of a pull, which is linear in its weights."""
    weights = tensor(np.zeros(out.shape, out.dtype), requires_grad=True)
    slopes = pull([out], inputs, [weights], create=True)
    return [_differentiate_by_weights(slope, weights, attached) for slope in slopes]


def _differentiate_by_weights(
    slope: Tensor | None, weights: Tensor, attached: bool
) -> Tensor | None:
    """The derivatives of a pulled gradient by its weights; the axes of the weights come first."""
    if slope is None or not slope.requires_grad:
        return None
    (made,) = _compute_rows(slope, [weights], attached)
    if made is None:
        return None
    order = (*range(slope.ndim, made.ndim), *range(slope.ndim))
    return made.permute(order).contiguous()


def _convert_blocks(found: Trace, out: Any, made: Sequence[Tensor | None]) -> list[Any]:
    return [
        convert_block(kind, out, x, block)
        for kind, x, block in zip(found.kinds, found.tensors, made, strict=True)
    ]


def convert_block(kind: int, out: Any, x: Tensor, block: Tensor | None) -> Any:
    """A block in the kind of its argument; a number if neither result nor argument has axes."""
    if block is not None and (kind == TENSOR or block.requires_grad):
        return block
    if block is None:
        array = np.zeros(tuple(np.shape(out)) + tuple(x.shape), x.dtype)
    else:
        array = to_array(block)
    if kind == TENSOR:
        return tensor(array)
    if array.ndim == 0 and kind in (FLOAT, SCALAR):
        return array.item() if kind == FLOAT else array[()]
    return array


__all__ = ["compute_jacobian_blocks", "convert_block", "hessian", "jacobian", "jacrev"]
