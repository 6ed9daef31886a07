"""Backward hooks of modules: nodes at the results and at the arguments of a call.

Invariant: hooks are called once for each pass that reaches the results, in the order of
registration. Without hooks there are no such nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ferrograd._core import Function, Tensor, is_grad_enabled
from ferrograd._tensor.pytree import flatten
from ferrograd.errors import ArgumentTypeError, ContractError, ShapeError

if TYPE_CHECKING:
    from ferrograd.nn._hooks import Hooks

Gradients = tuple[Tensor | None, ...]


class _BackwardHookFunction(Function):
    """Passes tensors through; in a backward pass, a function may replace the gradients."""

    @staticmethod
    def forward(ctx: Any, callback: Callable[[Gradients], Gradients], *tensors: Tensor) -> Any:
        ctx.callback = callback
        ctx.set_materialize_grads(False)
        return tuple(x.view_as(x) for x in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, *ctx.callback(gradients)


class BackwardHook:
    """The backward hooks around one call of a module."""

    def __init__(self, module: Any, hooks: Hooks) -> None:
        self.module = module
        self.pre_hooks = [hook for hook, _ in hooks.backward_pre.values()]
        self.hooks = [hook for hook, _ in hooks.backward.values()]
        self.num_inputs = 0
        self.input_indices: list[int] = []
        #: The gradients of the results; None unless a pass is between results and arguments.
        self.grad_output: Gradients | None = None

    @classmethod
    def create_if_needed(cls, module: Any, hooks: Hooks) -> BackwardHook | None:
        """None if the module has no backward hooks, or the call is not recorded."""
        wanted = hooks.backward_pre or hooks.backward
        return cls(module, hooks) if wanted and is_grad_enabled() else None

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Makes the arguments that require grad outputs of a node, which calls the hooks."""
        self.num_inputs = len(args)
        outputs, self.input_indices, is_recorded = _apply_hook_function(
            self._handle_input_gradients, args
        )
        return tuple(outputs) if is_recorded else args

    def setup_output_hook(self, out: Any) -> Any:
        """Makes the results that require grad outputs of a node, which calls the pre-hooks."""
        leaves, tree = flatten(out)
        self.num_outputs = len(leaves)
        outputs, self.output_indices, is_recorded = _apply_hook_function(
            self._handle_output_gradients, leaves
        )
        return tree.unflatten(outputs) if is_recorded else out

    def _handle_output_gradients(self, gradients: Gradients) -> Gradients:
        grad_output = _scatter_gradients(gradients, self.output_indices, self.num_outputs)
        for hook in self.pre_hooks:
            grad_output = _check_hook_result(
                "a backward pre-hook", grad_output, hook(self.module, grad_output)
            )
        self.grad_output = grad_output
        if not self.input_indices:
            self._call_backward_hooks((None,) * self.num_inputs)
        return tuple(grad_output[i] for i in self.output_indices)

    def _handle_input_gradients(self, gradients: Gradients) -> Gradients:
        grad_input = self._call_backward_hooks(
            _scatter_gradients(gradients, self.input_indices, self.num_inputs)
        )
        return tuple(grad_input[i] for i in self.input_indices)

    def _call_backward_hooks(self, grad_input: Gradients) -> Gradients:
        grad_output, self.grad_output = self.grad_output, None
        if grad_output is None:
            # A derivative of the module's derivative: it begins inside, at a saved value.
            return grad_input
        for hook in self.hooks:
            result = hook(self.module, grad_input, grad_output)
            grad_input = _check_hook_result("a backward hook", grad_input, result)
        return grad_input


def _apply_hook_function(
    callback: Callable[[Gradients], Gradients], values: Any
) -> tuple[list[Any], list[int], bool]:
    """Passes the tensors that require grad through one node, which calls `callback`.

    Returns all values, the indices of these tensors, and whether there are any.
    """
    outputs = list(values)
    indices = [i for i, x in enumerate(outputs) if isinstance(x, Tensor) and x.requires_grad]
    if indices:
        connected = _BackwardHookFunction.apply(callback, *(outputs[i] for i in indices))
        for i, x in zip(indices, connected, strict=True):
            outputs[i] = x
    return outputs, indices, bool(indices)


def _scatter_gradients(gradients: Gradients, indices: list[int], count: int) -> Gradients:
    """A tuple of length `count` with the gradients at these indices, None elsewhere."""
    found: list[Tensor | None] = [None] * count
    for i, g in zip(indices, gradients, strict=True):
        found[i] = g
    return tuple(found)


def _check_hook_result(hook_name: str, before: Gradients, result: Any) -> Gradients:
    """The gradients that a hook returned, or those before it if it returned None."""
    if result is None:
        return before
    given = tuple(result) if isinstance(result, list | tuple) else (result,)
    if len(given) != len(before):
        raise ContractError(
            f"Module: {hook_name} answered {len(given)} gradients, and there are {len(before)};"
            " answer one, or None, for each"
        )
    for i, (new, old) in enumerate(zip(given, before, strict=True)):
        if new is None:
            continue
        if not hasattr(new, "shape"):
            raise ArgumentTypeError(
                f"Module: {hook_name} answered a {type(new).__name__} for gradient {i}; answer a"
                " tensor or None"
            )
        if old is not None and tuple(new.shape) != tuple(old.shape):
            raise ShapeError(
                f"Module: {hook_name} answered a gradient {i} of shape {tuple(new.shape)} for one"
                f" of {tuple(old.shape)}; answer that shape"
            )
    return given
