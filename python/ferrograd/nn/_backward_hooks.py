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


class _Boundary(Function):
    """Passes tensors through; in a backward pass, a function may replace the gradients."""

    @staticmethod
    def forward(ctx: Any, reached: Callable[[Gradients], Gradients], *tensors: Tensor) -> Any:
        ctx.reached = reached
        ctx.set_materialize_grads(False)
        return tuple(x.view_as(x) for x in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, *ctx.reached(gradients)


class Around:
    """The backward hooks around one call of a module."""

    def __init__(self, module: Any, hooks: Hooks) -> None:
        self.module = module
        self.before = [hook for hook, _ in hooks.before_backward.values()]
        self.after = [hook for hook, _ in hooks.after_backward.values()]
        self.count = 0
        self.places: list[int] = []
        #: The gradients of the results; None unless a pass is between results and arguments.
        self.grad_output: Gradients | None = None

    @classmethod
    def of(cls, module: Any, hooks: Hooks) -> Around | None:
        """None where the call has no such hooks, or is not recorded."""
        wanted = hooks.before_backward or hooks.after_backward
        return cls(module, hooks) if wanted and is_grad_enabled() else None

    def entered(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments; tensors that require grad become outputs of a node."""
        self.count = len(args)
        made, self.places, given = _behind(self._at_arguments, args)
        return tuple(made) if given else args

    def left(self, out: Any) -> Any:
        """The results; tensors that require grad are before a node."""
        leaves, tree = flatten(out)
        self.results = len(leaves)
        made, self.ends, given = _behind(self._at_results, leaves)
        return tree.unflatten(made) if given else out

    def _at_results(self, gradients: Gradients) -> Gradients:
        whole = _spread(gradients, self.ends, self.results)
        for hook in self.before:
            whole = _answered("a backward pre-hook", whole, hook(self.module, whole))
        self.grad_output = whole
        if not self.places:
            self._finish((None,) * self.count)
        return tuple(whole[i] for i in self.ends)

    def _at_arguments(self, gradients: Gradients) -> Gradients:
        found = self._finish(_spread(gradients, self.places, self.count))
        return tuple(found[i] for i in self.places)

    def _finish(self, whole: Gradients) -> Gradients:
        grad_output, self.grad_output = self.grad_output, None
        if grad_output is None:
            # A derivative of the module's derivative: it begins inside, at a saved value.
            return whole
        for hook in self.after:
            answer = hook(self.module, whole, grad_output)
            whole = _answered("a backward hook", whole, answer)
        return whole


def _behind(
    reached: Callable[[Gradients], Gradients], values: Any
) -> tuple[list[Any], list[int], bool]:
    """The values as outputs of one node, the positions of tensors with grad, whether any has."""
    made = list(values)
    places = [i for i, x in enumerate(made) if isinstance(x, Tensor) and x.requires_grad]
    if places:
        linked = _Boundary.apply(reached, *(made[i] for i in places))
        for i, x in zip(places, linked, strict=True):
            made[i] = x
    return made, places, bool(places)


def _spread(gradients: Gradients, places: list[int], count: int) -> Gradients:
    whole: list[Tensor | None] = [None] * count
    for i, g in zip(places, gradients, strict=True):
        whole[i] = g
    return tuple(whole)


def _answered(what: str, before: Gradients, answer: Any) -> Gradients:
    if answer is None:
        return before
    given = tuple(answer) if isinstance(answer, list | tuple) else (answer,)
    if len(given) != len(before):
        raise ContractError(
            f"Module: {what} answered {len(given)} gradients, and there are {len(before)}; answer"
            " one, or None, for each"
        )
    for i, (new, old) in enumerate(zip(given, before, strict=True)):
        if new is None:
            continue
        if not hasattr(new, "shape"):
            raise ArgumentTypeError(
                f"Module: {what} answered a {type(new).__name__} for gradient {i}; answer a tensor"
                " or None"
            )
        if old is not None and tuple(new.shape) != tuple(old.shape):
            raise ShapeError(
                f"Module: {what} answered a gradient {i} of shape {tuple(new.shape)} for one of"
                f" {tuple(old.shape)}; answer that shape"
            )
    return given
