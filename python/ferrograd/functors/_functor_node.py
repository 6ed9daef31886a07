"""A recorded call of a functor, or of a module with its own backward.

Invariant: an operation keeps its inputs and outputs only as saved values of its node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ferrograd._core import CustomFunction, FunctionContext, Tensor
from ferrograd._tensor.finite_sequences import convert_to_list
from ferrograd.errors import ArgumentTypeError, ShapeError

#: The result of a backward function: one gradient or None for each input.
Gradients = Sequence[Any] | Any
Backward = Callable[["Op"], Gradients]


def _to_tuple(what: str, values: Any) -> tuple[Any, ...]:
    return values if type(values) is tuple else tuple(convert_to_list("Op", what, values))


class Op:
    """The operation that is passed to a backward function.

    `inputs` and `outputs` are tuples of tensors with their history, `attrs` has the attributes of
    the call, `grad_outputs` has one gradient for each output, and `needs_input_grad` one flag for
    each input. A backward function returns its gradients in the order of `inputs`.
    """

    __slots__ = ("attrs", "grad_outputs", "inputs", "name", "needs_input_grad", "outputs")

    def __init__(
        self,
        name: str,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        attrs: Any = None,
        grad_outputs: Sequence[Tensor] = (),
        needs_input_grad: Sequence[bool] = (),
    ) -> None:
        self.name = name
        self.inputs = _to_tuple("inputs", inputs)
        self.outputs = _to_tuple("outputs", outputs)
        self.attrs = attrs
        self.grad_outputs = _to_tuple("grad_outputs", grad_outputs)
        self.needs_input_grad = _to_tuple("needs_input_grad", needs_input_grad)

    def __repr__(self) -> str:
        shapes = ", ".join(str(tuple(x.shape)) for x in self.inputs)
        return f"Op({self.name}: {shapes}; {self.attrs})"


class RegisteredFunction(CustomFunction):
    """A rule for existing outputs: they become outputs of the node, as after an in-place change."""

    def __init__(self, attrs: Any, count: int, backward_fn: Backward) -> None:
        self.attrs = attrs
        self.count = count
        self.backward_fn = backward_fn

    def forward(self, inputs: tuple[Any, ...], ctx: FunctionContext) -> Any:
        """Takes the outputs, which follow the inputs among the arguments."""
        outputs = list(inputs[self.count :])
        ctx.attrs = self.attrs
        ctx.mark_dirty(*outputs)
        ctx.save_for_backward(*inputs)
        return outputs

    def backward(self, grad_outputs: tuple[Any, ...], ctx: FunctionContext) -> Any:
        """Calls the backward function; the outputs, being arguments too, get no gradient."""
        name, saved = type(self).__name__, ctx.saved_tensors
        inputs, outputs = saved[: self.count], saved[self.count :]
        needs = ctx.needs_input_grad[: self.count]
        given = self.backward_fn(Op(name, inputs, outputs, self.attrs, grad_outputs, needs))
        if given is None:
            return None
        if not isinstance(given, list | tuple):
            given = [given]
        if len(given) < self.count or any(g is not None for g in given[self.count :]):
            raise ShapeError(
                f"Expected {self.count} gradients but got {len(given)}: the backward of {name}"
                " returns one gradient or None for each input"
            )
        return [*given[: self.count], *([None] * len(grad_outputs))]


_REGISTERED_CLASSES: dict[str, type[RegisteredFunction]] = {}


def get_registered_class(name: str) -> type[RegisteredFunction]:
    """The class that names the nodes of an operation."""
    found = _REGISTERED_CLASSES.get(name)
    if found is None:
        found = _REGISTERED_CLASSES[name] = type(
            name, (RegisteredFunction,), {"__doc__": RegisteredFunction.__doc__}
        )
    return found


def check_tensors(op: str, what: str, given: Any) -> list[Tensor]:
    """A sequence of tensors as a list; everything else is an error that names the entry."""
    if given is None:
        raise ArgumentTypeError(f"{op}: {what} must not be null; pass a sequence of tensors")
    if isinstance(given, Tensor):
        given = [given]
    found = list(given)
    for i, entry in enumerate(found):
        if entry is None:
            raise ArgumentTypeError(
                f"{op}: {what} must not be null: entry {i} is None; pass a tensor"
            )
        if not isinstance(entry, Tensor):
            raise ArgumentTypeError(
                f"{op}: entry {i} of {what} is a {type(entry).__name__}; pass a tensor"
            )
    return found


def check_callable(op: str, what: str, given: Any) -> Any:
    """A callable, or an error that names the argument."""
    if not callable(given):
        raise ArgumentTypeError(
            f"{op}: {what} is a {type(given).__name__}, which cannot be called; pass a function"
        )
    return given
