"""Forward mode: `jvp` and `jacfwd`.

Every operation computes its result and the change of its result. Nothing is recorded for that, so
memory does not grow with the number of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd._core import (
    Tensor,
    _enter_dual_level,
    _exit_dual_level,
    _fast_jvp,
    _make_dual,
    _unpack_dual,
    concatenate,
    tensor,
)
from ferrograd._tensor.pytree import Tree, flatten
from ferrograd.errors import ArgumentError, InPlaceError
from ferrograd.transforms._argnums import Argnums, P, TransformSpec, set_wrapper_name
from ferrograd.transforms._conversion import TENSOR, convert_value
from ferrograd.transforms._differentiated_call import (
    DUAL,
    GRAD,
    TRANSFORM,
    Arguments,
    Trace,
    check_arguments_unchanged,
    check_holomorphic,
    convert_result,
    flatten_outputs,
    get_mode,
    leaves_inference_mode,
    raise_clear_error,
)
from ferrograd.transforms._linear_maps import make_zero_change
from ferrograd.transforms._matrix import convert_block
from ferrograd.transforms._reverse import is_any_recorded, match_vectors

#: The elements of the arguments' tangents in one call of `jacfwd`, which bound its memory.
_MAX_TANGENT_SIZE = 1 << 20


class DualCall:
    """Calls of a function with dual tensors, which are values with tangents."""

    @leaves_inference_mode
    def __init__(self, spec: TransformSpec, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.spec = spec
        self.before = get_mode()
        self.arguments = Arguments(spec, args, kwargs, self.before)
        self.inputs, self.kinds = self.arguments.tensors, self.arguments.kinds
        for x in self.inputs:
            if x.is_leaf:
                x.requires_grad = False
        self._records = bool(self.before & GRAD) and (
            bool(self.before & TRANSFORM) or TENSOR in self.kinds
        )
        #: Whether an outer transform differentiates the results.
        self.attached = self._records or bool(self.before & DUAL)

    def get_structure(self) -> Tree:
        """The structure of the differentiated arguments."""
        return Tree.of_tuple(self.arguments.trees)

    @leaves_inference_mode
    def push(
        self, vectors: Sequence[Tensor], has_aux: bool, columns: int | None = None
    ) -> DualResult:
        """Calls the function; with `columns`, vectors and changes have so many rows."""
        recorded = bool(self.before & GRAD) and is_any_recorded(vectors)
        self._records = self._records or recorded
        self.attached = self.attached or recorded
        level = _enter_dual_level(self._records, columns)
        try:
            pairs = zip(self.inputs, vectors, strict=True)
            duals = [_make_dual(x, vector, level) for x, vector in pairs]
            result = self.arguments.call(self.spec, get_mode(), duals)
            found = Trace(
                self.spec, self.before, self.arguments.trees, self.inputs, self.kinds, result
            )
            # Nothing ends at the arguments: no tensor that the function keeps leads to them.
            found.note_recorded(True)
            check_arguments_unchanged(found)
            return DualResult(found, has_aux, level)
        finally:
            _exit_dual_level(level)


class DualResult:
    """The leaves of a result in forward mode: values and changes, None for zero changes."""

    __slots__ = ("aux", "changes", "found", "tree", "values")

    def __init__(self, found: Trace, has_aux: bool, level: int) -> None:
        if has_aux:
            found.split_aux()
        outputs, self.tree = flatten_outputs(found)
        found.check_escaped(outputs)
        self.found = found
        self.values: list[Any] = []
        self.changes: list[Tensor | None] = []
        for out in outputs:
            value, change = _unpack_dual(out, level) if isinstance(out, Tensor) else (out, None)
            self.values.append(value)
            self.changes.append(change)
        self.aux: Any = None
        if has_aux:
            leaves, tree = flatten(found.aux)
            self.aux = tree.unflatten(
                _unpack_dual(x, level)[0] if isinstance(x, Tensor) else x for x in leaves
            )

    def convert(self, attached: bool) -> tuple[Any, Any]:
        """The value and the change in the caller's kind, in the structure of the result."""
        kind, changes = self.found.kind, []
        for value, change in zip(self.values, self.changes, strict=True):
            if change is None:
                changes.append(make_zero_change(kind, value))
            else:
                changes.append(convert_value(kind, change, attached))
        values = [convert_value(kind, value, attached) for value in self.values]
        return self.tree.unflatten(values), self.tree.unflatten(changes)

    def convert_aux(self, attached: bool) -> Any:
        """The auxiliary part in the caller's kind."""
        return convert_result(self.aux, self.found.kind, attached)


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """`(f(*primals), change)`: the derivative of `f` in the direction of the tangents.

    Forward mode: every operation computes its result and the change of its result, so that the cost
    is that of two or three calls of `f`, and memory does not grow with the number of operations.
    Primals and tangents are tuples or lists with one entry for each argument. With `has_aux`, `f`
    returns `(value, aux)` and the result is `(value, change, aux)`.

    >>> import ferrograd as fg
    >>> fg.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0))
    (6.0, 3.0)
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple | list):
            raise ArgumentError(
                f"jvp: {name} is a {type(given).__name__}; give a tuple with one entry for each"
                " argument"
            )
    if not primals or len(primals) != len(tangents):
        raise ArgumentError(
            f"jvp: {len(primals)} primals and {len(tangents)} tangents; give one tangent for each"
            " primal"
        )
    if not has_aux and callable(f):
        found = _push_quickly(f, primals, tangents)
        if found is not None:
            return found
    call = DualCall(TransformSpec("jvp", f, tuple(range(len(primals))), None), primals, {})
    structure = call.get_structure()
    vectors = match_vectors(
        "jvp", "the tangent", tuple(tangents), structure, call.inputs, "arguments"
    )
    result = call.push(vectors, has_aux)
    value, change = result.convert(call.attached)
    return (value, change, result.convert_aux(call.attached)) if has_aux else (value, change)


def _push_quickly(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any] | None:
    """`jvp` of floats and float arrays outside other transforms; otherwise None, without a call."""

    def finish(result: Any, inputs: list[Tensor], kinds: list[int], level: int) -> tuple[Any, Any]:
        spec = TransformSpec("jvp", f, tuple(range(len(primals))), None)
        found = Trace(spec, 0, [], inputs, kinds, result)
        found.note_recorded(True)
        check_arguments_unchanged(found)
        return DualResult(found, False, level).convert(False)

    try:
        return _fast_jvp(f, primals, tangents, finish)
    except (ValueError, InPlaceError) as error:
        raise_clear_error("jvp", f, error)
        raise


def jacfwd(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    argnum: Argnums | None = None,
) -> Callable[P, Any]:
    """Returns a function that computes all derivatives of all results by forward mode.

    The result is that of `jacobian`. It takes one call of `f` for up to `chunk_size` elements of
    the arguments, in which every operation has so many tangents; without `chunk_size`, for all of
    them, or for as many as fit into a million elements of tangents. So it suits functions with
    fewer arguments than results.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> fg.jacfwd(lambda x: np.stack([x[0] * x[1], x[1]]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [0., 1.]])
    """
    spec = TransformSpec("jacfwd", f, argnums, argnum, holomorphic)
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ArgumentError(
            f"jacfwd: chunk_size is {chunk_size!r}; give a positive integer or None"
        )

    def matrix(*args: Any, **kwargs: Any) -> Any:
        call = DualCall(spec, args, kwargs)
        chunks = _make_unit_vectors(call.inputs, chunk_size)
        counts = [len(vectors[0]) for vectors in chunks]
        results = [call.push(vectors, has_aux, len(vectors[0])) for vectors in chunks]
        first = results[0]
        for value in first.values:
            is_complex = isinstance(value, Tensor) and value.dtype.kind == "c"
            if holomorphic or (is_complex and any(x.dtype.kind == "c" for x in call.inputs)):
                check_holomorphic(first.found, value)
        blocks = [
            _make_blocks(call, value, [result.changes[k] for result in results], counts)
            for k, value in enumerate(first.values)
        ]
        found = first.tree.unflatten(first.found.build_tree(parts) for parts in blocks)
        return (found, first.convert_aux(call.attached)) if has_aux else found

    return set_wrapper_name(matrix, f, "jacfwd_of")


def _make_unit_vectors(inputs: Sequence[Tensor], chunk_size: int | None) -> list[list[Tensor]]:
    """The unit vectors of all arguments together, a part of them for each call."""
    total = sum(x.numel() for x in inputs)
    rows = min(chunk_size or max(_MAX_TANGENT_SIZE // max(total, 1), 1), max(total, 1))
    parts = []
    for begin in range(0, max(total, 1), rows):
        count, first, vectors = min(rows, max(total - begin, 0)), 0, []
        for x in inputs:
            part = np.zeros((count, x.numel()), x.dtype)
            own = np.arange(max(begin, first), min(begin + count, first + x.numel()))
            part[own - begin, own - first] = 1
            vectors.append(tensor(part.reshape(count, *x.shape)))
            first += x.numel()
        parts.append(vectors)
    return parts


def _make_blocks(
    call: DualCall, value: Any, changes: Sequence[Tensor | None], counts: Sequence[int]
) -> list[Any]:
    """The derivatives of a result by each argument, from its changes along all unit vectors."""
    if all(change is None for change in changes):
        columns = None
    else:
        shape, dtype = tuple(value.shape), value.dtype
        parts = [
            tensor(np.zeros((count, *shape), dtype)) if change is None else change
            for change, count in zip(changes, counts, strict=True)
        ]
        columns = concatenate(parts, axis=0) if len(parts) > 1 else parts[0]
    blocks, first = [], 0
    for kind, x in zip(call.kinds, call.inputs, strict=True):
        block = None
        if columns is not None:
            own = columns[first : first + x.numel()].reshape((*x.shape, *value.shape))
            block = own.permute((*range(x.ndim, own.ndim), *range(x.ndim))).contiguous()
        first += x.numel()
        blocks.append(convert_block(kind, value, x, block))
    return blocks
