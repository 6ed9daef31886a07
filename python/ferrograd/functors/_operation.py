"""One recorded call of a functor or of a module with its own backward.

Owns: `Op`, what a backward function sees, and the custom function behind `run`, `register_op` and
`wrap_forward`. Never records: the trampoline of `CustomFunction` does.
Invariant: an operation keeps its inputs and outputs as saved values of its node, nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ferrograd._core import CustomFunction, FunctionContext, Tensor
from ferrograd.errors import ArgumentTypeError, ShapeError

#: What a backward function returns: one gradient or None for each input.
Gradients = Sequence[Any] | Any
Backward = Callable[["Op"], Gradients]


class Op:
    """An operation as its backward function sees it.

    `inputs` and `outputs` are tuples of tensors with their history, `attrs` is what the call was
    given, `grad_outputs` has one gradient for each output, and `needs_input_grad` one flag for each
    input. The gradients that a backward function returns follow `inputs`.
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
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.attrs = attrs
        self.grad_outputs = tuple(grad_outputs)
        self.needs_input_grad = tuple(needs_input_grad)

    def __repr__(self) -> str:
        shapes = ", ".join(str(tuple(x.shape)) for x in self.inputs)
        return f"Op({self.name}: {shapes}; {self.attrs})"


class Call(CustomFunction):
    """One call: its attributes, its forward until it has run, and its backward."""

    def __init__(
        self, attrs: Any, forward_fn: Callable[[], Any] | None, backward_fn: Backward
    ) -> None:
        self.attrs = attrs
        self.forward_fn = forward_fn
        self.backward_fn = backward_fn

    def forward(self, inputs: tuple[Any, ...], ctx: FunctionContext) -> Any:
        """Runs the forward function, once; with recording off."""
        compute, self.forward_fn = self.forward_fn, None
        outputs = compute() if compute is not None else None
        if not isinstance(outputs, list | tuple):
            outputs = [outputs]
        ctx.attrs = self.attrs
        ctx.save_for_backward(*inputs, *(y for y in outputs if isinstance(y, Tensor)))
        return outputs

    def backward(self, grad_outputs: tuple[Any, ...], ctx: FunctionContext) -> Any:
        """Calls the backward function with the operation."""
        return self.backward_fn(self._op(grad_outputs, ctx))

    def _op(self, grad_outputs: tuple[Any, ...], ctx: FunctionContext) -> Op:
        saved = ctx.saved_tensors
        count = len(saved) - len(grad_outputs)
        return Op(
            type(self).__name__,
            saved[:count],
            saved[count:],
            self.attrs,
            grad_outputs,
            ctx.needs_input_grad[:count],
        )


class Registration(Call):
    """A rule for outputs that exist already: they move to the node, as if changed in place."""

    count: int

    def forward(self, inputs: tuple[Any, ...], ctx: FunctionContext) -> Any:
        """Takes the outputs, which follow the inputs among the arguments."""
        sources, outputs = inputs[: self.count], list(inputs[self.count :])
        ctx.attrs = self.attrs
        ctx.mark_dirty(*outputs)
        ctx.save_for_backward(*sources, *outputs)
        return outputs

    def backward(self, grad_outputs: tuple[Any, ...], ctx: FunctionContext) -> Any:
        """Calls the backward function; the outputs, being arguments too, get no gradient."""
        given = super().backward(grad_outputs, ctx)
        if given is None:
            return None
        if not isinstance(given, list | tuple):
            given = [given]
        if len(given) < self.count or any(g is not None for g in given[self.count :]):
            raise ShapeError(
                f"Expected {self.count} gradients but got {len(given)}: the backward of"
                f" {type(self).__name__} returns one gradient or None for each input"
            )
        return [*given[: self.count], *([None] * len(grad_outputs))]


_CLASSES: dict[tuple[type[Call], str], type[Call]] = {}


def named(base: type[Call], name: str) -> type[Call]:
    """The class whose name the nodes of an operation carry."""
    found = _CLASSES.get((base, name))
    if found is None:
        found = _CLASSES[base, name] = type(name, (base,), {"__doc__": base.__doc__})
    return found


def tensors(op: str, what: str, given: Any) -> list[Tensor]:
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


def function(op: str, what: str, given: Any) -> Any:
    """A callable, or an error that names the argument."""
    if not callable(given):
        raise ArgumentTypeError(
            f"{op}: {what} is a {type(given).__name__}, which cannot be called; pass a function"
        )
    return given
