"""One call of a function under differentiation.

Invariant: the caller's grad mode is restored when the function has returned or raised. Every
argument is a new tensor, so that nested derivatives with respect to one value are separate.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from ferrograd._core import (
    Tensor,
    _depends_on_others,
    _end_transform,
    _grad,
    _of_ended_transform,
    _pop_arguments,
    _push_arguments,
    _restore_mode,
    _runs_python,
    _switch_grad,
    _traced_call,
    _TracedCall,
)
from ferrograd._tensor.pytree import LEAF, Tree, flatten
from ferrograd.errors import (
    ArgumentChangedError,
    ArgumentTypeError,
    DTypeError,
    GraphCutError,
    InPlaceError,
)
from ferrograd.transforms._argnums import TransformSpec, get_function_name
from ferrograd.transforms._conversion import (
    TENSOR,
    convert_value,
    get_common_kind,
    is_integer,
    make_input,
)
from ferrograd.transforms._escaped_tensors import make_leak_error

#: Bits of the core's mode word: recording, inference, a transform is running, and one of forward
#: mode among them.
GRAD, INFERENCE = _TracedCall.GRAD, _TracedCall.INFERENCE
TRANSFORM, DUAL = _TracedCall.TRANSFORM, _TracedCall.DUAL

F = TypeVar("F", bound=Callable[..., Any])


class Trace:
    """The differentiated arguments of a call, its result, and the conversion of results."""

    __slots__ = ("aux", "before", "kinds", "recorded", "result", "spec", "tensors", "trees")

    def __init__(
        self,
        spec: TransformSpec,
        before: int,
        trees: list[Tree],
        tensors: list[Tensor],
        kinds: list[int],
        result: Any,
    ) -> None:
        self.spec = spec
        self.before = before
        self.trees = trees
        self.tensors = tensors
        self.kinds = kinds
        self.result = result
        self.aux: Any = None
        #: Whether a returned value is recorded, so that its history leads to the arguments.
        self.recorded = False

    def __del__(self, end: Callable[[list[Any]], None] = _end_transform) -> None:
        """Marks tensors that still depend on the arguments as no longer differentiable."""
        if not self.recorded:
            self.result = self.aux = None
            end(self.tensors)

    @property
    def kind(self) -> int:
        """The kind of values that do not belong to a single argument."""
        return get_common_kind(self.kinds)

    def split_aux(self) -> None:
        """Separates the auxiliary part from the result."""
        if not isinstance(self.result, tuple) or len(self.result) != 2:
            raise ArgumentTypeError(
                f"{self.spec.op}: with has_aux=True {get_function_name(self.spec.function)} must"
                f" return (value, aux), but it returned {describe_value(self.result)}"
            )
        self.result, self.aux = self.result

    def check_escaped(self, outputs: Sequence[Any]) -> None:
        """Refuses outputs that depend on a tensor kept from a transform that has ended."""
        found = _of_ended_transform(outputs)
        if found is not None:
            raise make_leak_error(self.spec.op, self.spec.function, outputs, found)

    def is_attached(self, outputs: Sequence[Any]) -> bool:
        """Whether derivatives of these outputs must be recorded for an outer transform."""
        self.check_escaped(outputs)
        if not self.before & (GRAD | DUAL):
            return False
        if any(not x.is_leaf for x in self.tensors):
            return self.note_recorded(True)
        if not self.before & TRANSFORM and TENSOR not in self.kinds:
            return False
        return self.note_recorded(_depends_on_others(outputs, self.tensors))

    def compute_derivatives(
        self,
        outputs: Sequence[Any],
        attached: bool,
        pull: Callable[[bool], Sequence[Tensor | None]],
    ) -> Sequence[Tensor | None]:
        """The derivatives that `pull(create_graph)` computes of these outputs.

        A backward written in Python may read tensors that an outer transform differentiates, even
        if no output depends on them. So inside another transform such a pull is recorded. Results
        that depend only on these arguments are then detached.
        """
        if attached or not self._is_nested() or not _runs_python(outputs, self.tensors):
            return pull(attached)
        slopes = pull(True)
        if _depends_on_others(slopes, self.tensors):
            self.note_recorded(True)
            return slopes
        return [slope if slope is None else slope.detach().clone() for slope in slopes]

    def is_shared(self, slopes: Sequence[Any], own: Sequence[Tensor] = ()) -> bool:
        """Whether recorded derivatives can be differentiated by another transform."""
        return self.note_recorded(
            self._is_nested() and _depends_on_others(slopes, [*self.tensors, *own])
        )

    def note_recorded(self, recorded: bool) -> bool:
        """Remembers and returns whether a derivative is recorded."""
        self.recorded = self.recorded or recorded
        return recorded

    def _is_nested(self) -> bool:
        return bool(self.before & (GRAD | DUAL) and self.before & TRANSFORM)

    def build_tree(self, values: list[Any]) -> Any:
        """One value for each differentiated leaf, in the structure of the arguments."""
        leaves = iter(values)
        parts = [tree.unflatten(leaves) for tree in self.trees]
        return parts[0] if self.spec.single else tuple(parts)

    def get_structure(self) -> Tree:
        """The structure of the differentiated arguments."""
        if self.spec.single:
            return self.trees[0]
        return Tree.of_tuple(self.trees)

    def convert_aux(self, attached: bool) -> Any:
        """The auxiliary part, with tensors converted like results."""
        return convert_result(self.aux, self.kind, attached)


def convert_result(value: Any, kind: int, attached: bool) -> Any:
    """A result of the function with its tensors converted to the caller's kind."""
    if isinstance(value, Tensor):
        return convert_value(kind, value, attached)
    leaves, tree = flatten(value)
    if not any(isinstance(leaf, Tensor) for leaf in leaves):
        return value
    return tree.unflatten(convert_value(kind, leaf, attached) for leaf in leaves)


def call_function(before: int, spec: TransformSpec, args: Any, kwargs: dict[str, Any]) -> Any:
    """Calls a function recording, as part of a transform, and restores the caller's mode."""
    _restore_mode((before | GRAD | TRANSFORM) & ~INFERENCE)
    try:
        return spec.function(*args, **kwargs)
    except (ValueError, InPlaceError) as error:
        raise_clear_error(spec.op, spec.function, error)
        raise
    finally:
        _restore_mode(before)


def raise_clear_error(op: str, function: Callable[..., Any], error: Exception) -> None:
    """Raises a clearer error for one that NumPy or the core has raised."""
    if isinstance(error, InPlaceError):
        if "a leaf that requires grad" in str(error):
            raise _make_changed_error(op, function) from error
    elif isinstance(error.__cause__, GraphCutError):
        raise GraphCutError(str(error.__cause__)) from error


def leaves_inference_mode(function: F) -> F:
    """Leaves inference mode for a step of a transform, so that its tensors may be saved."""

    @functools.wraps(function)
    def apply(*args: Any, **kwargs: Any) -> Any:
        before = get_mode()
        if not before & INFERENCE:
            return function(*args, **kwargs)
        _restore_mode(before & ~INFERENCE)
        try:
            return function(*args, **kwargs)
        finally:
            _restore_mode(before)

    return cast(F, apply)


def get_mode() -> int:
    """The mode word of this thread."""
    before: int = _switch_grad(True)
    _restore_mode(before)
    return before


class Arguments:
    """The arguments of a call, with tensors for the differentiated leaves."""

    __slots__ = ("_args", "_kwargs", "_places", "kinds", "tensors", "trees")

    def __init__(
        self, spec: TransformSpec, args: Sequence[Any], kwargs: dict[str, Any], before: int
    ) -> None:
        self._args, self._kwargs = list(args), dict(kwargs)
        self._places: list[int | str] = []
        self.trees: list[Tree] = []
        self.tensors: list[Tensor] = []
        self.kinds: list[int] = []
        for place, value in spec.find(self._args, self._kwargs):
            self._places.append(place)
            self.trees.append(make_inputs(spec, place, value, before, self.tensors, self.kinds))

    def call(self, spec: TransformSpec, mode: int, tensors: list[Tensor]) -> Any:
        """What the function returns for other tensors in place of the differentiated leaves."""
        args, kwargs, first = self._args, self._kwargs, 0
        for place, tree in zip(self._places, self.trees, strict=True):
            end = first + tree.num_leaves
            new = tensors[first] if tree.is_leaf else tree.unflatten(tensors[first:end])
            first = end
            if isinstance(place, int):
                args[place] = new
            else:
                kwargs[place] = new
        handed = _push_arguments(tensors)
        try:
            return call_function(mode, spec, args, kwargs)
        finally:
            _pop_arguments(handed)


@leaves_inference_mode
def trace(spec: TransformSpec, args: Sequence[Any], kwargs: dict[str, Any]) -> Trace:
    """Calls the function with tensors as the differentiated arguments."""
    before = get_mode()
    given = Arguments(spec, args, kwargs, before)
    result = given.call(spec, before, given.tensors)
    found = Trace(spec, before, given.trees, given.tensors, given.kinds, result)
    check_arguments_unchanged(found)
    return found


def make_inputs(
    spec: TransformSpec,
    place: int | str,
    value: Any,
    before: int,
    tensors: list[Tensor],
    kinds: list[int],
) -> Tree:
    """Appends the tensors that stand for an argument, and their kinds; returns their tree."""
    if value is None:
        raise ArgumentTypeError(
            f"{spec.op}: {spec.label(place)} is None; pass floats, or change argnums"
        )
    leaves, tree = flatten(value)
    for path, leaf in zip(tree.paths(), leaves, strict=True):
        recording = bool(before & (GRAD | DUAL))
        entered, kind = make_input(spec.op, spec.label(place) + path, leaf, recording)
        tensors.append(entered)
        kinds.append(kind)
    return tree


def check_arguments_unchanged(found: Trace) -> None:
    """Refuses a function that wrote to its argument, because the derivative would be wrong."""
    if any(x._version for x in found.tensors):
        raise _make_changed_error(found.spec.op, found.spec.function)


def _make_changed_error(op: str, function: Callable[..., Any]) -> Exception:
    return ArgumentChangedError(
        f"{op}: {get_function_name(function)} changed a differentiated argument in place; work on a"
        " copy of it, x = x.copy(); see docs/when_it_goes_wrong.md"
    )


def trace_quickly(
    op: str,
    function: Callable[..., Any],
    position: int,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> _TracedCall | None:
    """`trace` for the common call: one float, float array or tensor, outside other transforms.

    For other calls it returns None and does nothing.
    """
    try:
        hit: _TracedCall | None = _traced_call(function, position, args, kwargs)
    except (ValueError, InPlaceError) as error:
        raise_clear_error(op, function, error)
        raise
    return hit


def make_quick_trace(spec: TransformSpec, hit: _TracedCall) -> Trace:
    """The trace of a quick call."""
    found = Trace(spec, hit.before, LEAF_TREES, [hit.leaf], [hit.kind], hit.result)
    check_arguments_unchanged(found)
    return found


def trace_call(spec: TransformSpec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Trace:
    """The trace of a call, by `quick` if possible."""
    hit = trace_quickly(spec.op, spec.function, spec.position, args, kwargs)
    return trace(spec, args, kwargs) if hit is None else make_quick_trace(spec, hit)


#: The trees of a quick trace.
LEAF_TREES = [LEAF]


def flatten_outputs(found: Trace, constants: bool = False) -> tuple[list[Any], Tree]:
    """The leaves of the result, each a float tensor or a constant, and their tree.

    Boolean and integer leaves have no derivative: they are refused, or are constants.
    """
    if found.result is None:
        raise make_no_value_error(found.spec)
    leaves, tree = flatten(found.result)
    for path, leaf in zip(tree.paths(), leaves, strict=True):
        if not (constants and is_integer(leaf)):
            check_output(found.spec, leaf, path)
    return leaves, tree


def check_output(spec: TransformSpec, value: Any, path: str = "") -> None:
    """Refuses a result that has no derivative."""
    if isinstance(value, Tensor):
        if value.dtype.kind not in "fc":
            raise DTypeError(
                f"{spec.op}: {get_function_name(spec.function)} returned"
                f" {describe_value(value)}{_format_path(path)}, which is not differentiable; return"
                " floats, or return it as aux (has_aux=True)"
            )
        return
    kind = np.asarray(value).dtype.kind if isinstance(value, np.ndarray | np.generic) else ""
    if kind == "b" or isinstance(value, bool):
        raise DTypeError(
            f"{spec.op}: {get_function_name(spec.function)} returned"
            f" {describe_value(value)}{_format_path(path)}, which is not differentiable; return"
            " floats, or return it as aux (has_aux=True)"
        )
    numeric = isinstance(value, int | float | complex) or kind in tuple("fiuc")
    if not numeric:
        raise ArgumentTypeError(
            f"{spec.op}: {get_function_name(spec.function)} returned"
            f" {describe_value(value)}{_format_path(path)}; return floats, arrays or containers of"
            " them, the rest as aux (has_aux=True)"
        )


def check_holomorphic(found: Trace, out: Any) -> None:
    """Refuses the gradient of a complex result, unless `holomorphic` is set."""
    spec = found.spec
    if not spec.holomorphic:
        raise DTypeError(
            f"{spec.op}: {get_function_name(spec.function)} returned {describe_value(out)}, which"
            " has no gradient; reduce it to a real number, for example abs(z)**2, pass"
            " holomorphic=True where the function is holomorphic, or use vjp"
        )
    for x in found.tensors:
        if x.dtype.kind != "c":
            raise DTypeError(
                f"{spec.op}: holomorphic=True with an argument of dtype {x.dtype}; pass complex"
                " arguments, x.astype(complex)"
            )
    # The type and shape only: a trace cannot read the elements.
    if not (out.dtype.kind == "c" if isinstance(out, Tensor) else np.iscomplexobj(out)):
        raise DTypeError(
            f"{spec.op}: holomorphic=True and {get_function_name(spec.function)} returned"
            f" {describe_value(out)}; leave holomorphic out where the result is real"
        )


def _format_path(path: str) -> str:
    return f" at {path}" if path else ""


def make_no_value_error(spec: TransformSpec) -> Exception:
    """The error for a function that returned nothing to differentiate."""
    return ArgumentTypeError(
        f"{spec.op}: {get_function_name(spec.function)} returned None, which holds no number to"
        " differentiate; is a return statement missing?"
    )


def describe_value(value: Any) -> str:
    """A short description of a value for error messages."""
    if value is None:
        return "None"
    if isinstance(value, Tensor | np.ndarray):
        what = "a tensor" if isinstance(value, Tensor) else "an array"
        return f"{what} of shape {tuple(value.shape)} and dtype {value.dtype}"
    if isinstance(value, list | tuple | dict):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, str):
        return f"the string {value!r}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


@leaves_inference_mode
def pull(
    outputs: Sequence[Any],
    inputs: Sequence[Tensor],
    seeds: Sequence[Any] | None,
    *,
    create: bool = False,
    retain: bool | None = None,
) -> Sequence[Tensor | None]:
    """The gradients of the recorded outputs, weighted by seeds; None for unused inputs."""
    roots = [(o, k) for k, o in enumerate(outputs) if isinstance(o, Tensor) and o.requires_grad]
    if not roots:
        return [None] * len(inputs)
    weights = None if seeds is None else [seeds[k] for _, k in roots]
    found: Sequence[Tensor | None] = _grad(
        [o for o, _ in roots], inputs, weights, retain, create, True
    )
    return found
