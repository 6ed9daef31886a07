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
from ferrograd.transforms._argnums import Wanted, name_of
from ferrograd.transforms._conversion import TENSOR, common, counts, enter, value_of
from ferrograd.transforms._escaped_tensors import leaked

#: Bits of the core's mode word: recording, inference, a transform is running.
GRAD, INFERENCE, TRANSFORM = _TracedCall.GRAD, _TracedCall.INFERENCE, _TracedCall.TRANSFORM

F = TypeVar("F", bound=Callable[..., Any])


class Trace:
    """The differentiated arguments of a call, its result, and the conversion of results."""

    __slots__ = ("aux", "before", "kinds", "recorded", "result", "tensors", "trees", "wanted")

    def __init__(
        self,
        wanted: Wanted,
        before: int,
        trees: list[Tree],
        tensors: list[Tensor],
        kinds: list[int],
        result: Any,
    ) -> None:
        self.wanted = wanted
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
        return common(self.kinds)

    def split_aux(self) -> None:
        """Separates the auxiliary part from the result."""
        if not isinstance(self.result, tuple) or len(self.result) != 2:
            raise ArgumentTypeError(
                f"{self.wanted.op}: with has_aux=True {name_of(self.wanted.function)} must return"
                f" (value, aux), but it returned {described(self.result)}"
            )
        self.result, self.aux = self.result

    def attached(self, outputs: Sequence[Any]) -> bool:
        """Whether derivatives of these outputs must be recorded for an outer transform."""
        found = _of_ended_transform(outputs)
        if found is not None:
            raise leaked(self.wanted.op, self.wanted.function, outputs, found)
        if not self.before & GRAD:
            return False
        if any(not x.is_leaf for x in self.tensors):
            return self.keeps(True)
        if not self.before & TRANSFORM and TENSOR not in self.kinds:
            return False
        return self.keeps(_depends_on_others(outputs, self.tensors))

    def derived(
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
        if attached or not self._inside() or not _runs_python(outputs, self.tensors):
            return pull(attached)
        slopes = pull(True)
        if _depends_on_others(slopes, self.tensors):
            self.keeps(True)
            return slopes
        return [slope if slope is None else slope.detach().clone() for slope in slopes]

    def shared(self, slopes: Sequence[Any], own: Sequence[Tensor] = ()) -> bool:
        """Whether recorded derivatives can be differentiated by another transform."""
        return self.keeps(self._inside() and _depends_on_others(slopes, [*self.tensors, *own]))

    def keeps(self, recorded: bool) -> bool:
        """Notes whether a derivative is recorded, and returns it."""
        self.recorded = self.recorded or recorded
        return recorded

    def _inside(self) -> bool:
        return bool(self.before & GRAD and self.before & TRANSFORM)

    def tree(self, values: list[Any]) -> Any:
        """One value for each differentiated leaf, in the structure of the arguments."""
        leaves = iter(values)
        parts = [tree.unflatten(leaves) for tree in self.trees]
        return parts[0] if self.wanted.single else tuple(parts)

    def structure(self) -> Tree:
        """The structure of the differentiated arguments."""
        if self.wanted.single:
            return self.trees[0]
        return Tree.of_tuple(self.trees)

    def leave_aux(self, attached: bool) -> Any:
        """The auxiliary part, with tensors converted like results."""
        return leave_tree(self.aux, self.kind, attached)


def leave_tree(value: Any, kind: int, attached: bool) -> Any:
    """A result of the function with its tensors converted to the caller's kind."""
    if isinstance(value, Tensor):
        return value_of(kind, value, attached)
    leaves, tree = flatten(value)
    if not any(isinstance(leaf, Tensor) for leaf in leaves):
        return value
    return tree.unflatten(value_of(kind, leaf, attached) for leaf in leaves)


def run(before: int, wanted: Wanted, args: Any, kwargs: dict[str, Any]) -> Any:
    """Calls a function recording, as part of a transform, and restores the caller's mode."""
    _restore_mode((before | GRAD | TRANSFORM) & ~INFERENCE)
    try:
        return wanted.function(*args, **kwargs)
    except (ValueError, InPlaceError) as error:
        reveal(wanted.op, wanted.function, error)
        raise
    finally:
        _restore_mode(before)


def reveal(op: str, function: Callable[..., Any], error: Exception) -> None:
    """Raises a clearer error: NumPy hides errors, and the core does not know whose leaf it is."""
    if isinstance(error, InPlaceError):
        if "a leaf that requires grad" in str(error):
            raise _changed(op, function) from error
    elif isinstance(error.__cause__, GraphCutError):
        raise GraphCutError(str(error.__cause__)) from error


def outside_inference(function: F) -> F:
    """Leaves inference mode for a step of a transform, so that its tensors may be saved."""

    @functools.wraps(function)
    def apply(*args: Any, **kwargs: Any) -> Any:
        before = mode()
        if not before & INFERENCE:
            return function(*args, **kwargs)
        _restore_mode(before & ~INFERENCE)
        try:
            return function(*args, **kwargs)
        finally:
            _restore_mode(before)

    return cast(F, apply)


def mode() -> int:
    """The mode word of this thread."""
    before: int = _switch_grad(True)
    _restore_mode(before)
    return before


@outside_inference
def trace(wanted: Wanted, args: Sequence[Any], kwargs: dict[str, Any]) -> Trace:
    """Calls the function with tensors as the differentiated arguments."""
    before = mode()
    recording = bool(before & GRAD)
    args, kwargs = list(args), dict(kwargs)
    trees: list[Tree] = []
    tensors: list[Tensor] = []
    kinds: list[int] = []
    for place, value in wanted.find(args, kwargs):
        first = len(tensors)
        tree = _entered(wanted, place, value, recording, tensors, kinds)
        trees.append(tree)
        new = tensors[first] if tree.is_leaf else tree.unflatten(tensors[first:])
        if isinstance(place, int):
            args[place] = new
        else:
            kwargs[place] = new
    handed = _push_arguments(tensors)
    try:
        result = run(before, wanted, args, kwargs)
    finally:
        _pop_arguments(handed)
    found = Trace(wanted, before, trees, tensors, kinds, result)
    refuse_changed(found)
    return found


def _entered(
    wanted: Wanted,
    place: int | str,
    value: Any,
    recording: bool,
    tensors: list[Tensor],
    kinds: list[int],
) -> Tree:
    if value is None:
        raise ArgumentTypeError(
            f"{wanted.op}: {wanted.label(place)} is None; pass floats, or change argnums"
        )
    leaves, tree = flatten(value)
    for path, leaf in zip(tree.paths(), leaves, strict=True):
        entered, kind = enter(wanted.op, wanted.label(place) + path, leaf, recording)
        tensors.append(entered)
        kinds.append(kind)
    return tree


def refuse_changed(found: Trace) -> None:
    """Refuses a function that wrote to its argument, because the derivative would be wrong."""
    if any(x._version for x in found.tensors):
        raise _changed(found.wanted.op, found.wanted.function)


def _changed(op: str, function: Callable[..., Any]) -> Exception:
    return ArgumentChangedError(
        f"{op}: {name_of(function)} changed a differentiated argument in place; work on a copy of"
        " it, x = x.copy(); see docs/when_it_goes_wrong.md"
    )


def quick(
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
        reveal(op, function, error)
        raise
    return hit


def quick_trace(wanted: Wanted, hit: _TracedCall) -> Trace:
    """The trace of a quick call."""
    found = Trace(wanted, hit.before, ONE, [hit.leaf], [hit.kind], hit.result)
    refuse_changed(found)
    return found


def traced(wanted: Wanted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Trace:
    """The trace of a call, by `quick` if possible."""
    hit = quick(wanted.op, wanted.function, wanted.position, args, kwargs)
    return trace(wanted, args, kwargs) if hit is None else quick_trace(wanted, hit)


#: The trees of a quick trace.
ONE = [LEAF]


def outputs_of(found: Trace, constants: bool = False) -> tuple[list[Any], Tree]:
    """The leaves of the result, each a float tensor or a constant, and their tree.

    Boolean and integer leaves have no derivative: they are refused, or are constants.
    """
    if found.result is None:
        raise no_value(found.wanted)
    leaves, tree = flatten(found.result)
    for path, leaf in zip(tree.paths(), leaves, strict=True):
        if not (constants and counts(leaf)):
            check_output(found.wanted, leaf, path)
    return leaves, tree


def check_output(wanted: Wanted, value: Any, path: str = "") -> None:
    """Refuses a result that has no derivative."""
    if isinstance(value, Tensor):
        if value.dtype.kind not in "fc":
            raise DTypeError(
                f"{wanted.op}: {name_of(wanted.function)} returned {described(value)}{_at(path)},"
                " which is not differentiable; return floats, or return it as aux (has_aux=True)"
            )
        return
    kind = np.asarray(value).dtype.kind if isinstance(value, np.ndarray | np.generic) else ""
    if kind == "b" or isinstance(value, bool):
        raise DTypeError(
            f"{wanted.op}: {name_of(wanted.function)} returned {described(value)}{_at(path)}, which"
            " is not differentiable; return floats, or return it as aux (has_aux=True)"
        )
    numeric = isinstance(value, int | float | complex) or kind in tuple("fiuc")
    if not numeric:
        raise ArgumentTypeError(
            f"{wanted.op}: {name_of(wanted.function)} returned {described(value)}{_at(path)};"
            " return floats, arrays or containers of them, the rest as aux (has_aux=True)"
        )


def check_holomorphic(found: Trace, out: Any) -> None:
    """Refuses the gradient of a complex result, unless `holomorphic` is set."""
    wanted = found.wanted
    if not wanted.holomorphic:
        raise DTypeError(
            f"{wanted.op}: {name_of(wanted.function)} returned {described(out)}, which has no"
            " gradient; reduce it to a real number, for example abs(z)**2, pass holomorphic=True"
            " where the function is holomorphic, or use vjp"
        )
    for x in found.tensors:
        if x.dtype.kind != "c":
            raise DTypeError(
                f"{wanted.op}: holomorphic=True with an argument of dtype {x.dtype}; pass complex"
                " arguments, x.astype(complex)"
            )
    # The type and shape only: a trace cannot read the elements.
    if not (out.dtype.kind == "c" if isinstance(out, Tensor) else np.iscomplexobj(out)):
        raise DTypeError(
            f"{wanted.op}: holomorphic=True and {name_of(wanted.function)} returned"
            f" {described(out)}; leave holomorphic out where the result is real"
        )


def _at(path: str) -> str:
    return f" at {path}" if path else ""


def no_value(wanted: Wanted) -> Exception:
    """The error for a function that returned nothing to differentiate."""
    return ArgumentTypeError(
        f"{wanted.op}: {name_of(wanted.function)} returned None, which holds no number to"
        " differentiate; is a return statement missing?"
    )


def described(value: Any) -> str:
    """A result in words."""
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


@outside_inference
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
