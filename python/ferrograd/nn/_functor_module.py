"""A module with its own backward: one node for the whole call (document 001).

Invariant: operations of the forward are not recorded, and the result requires grad exactly when any
operation on the same inputs would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ferrograd._core import Tensor, _wrap_forward
from ferrograd.functors._functor_node import Op


def wrap_forward(
    self: Any,
    input: Tensor,
    forward_fn: Callable[[Tensor], Tensor],
    inputs_fn: Callable[[], Sequence[Tensor]],
    backward_fn: Callable[[Op], Any],
) -> Tensor:
    """Runs `forward_fn(input)` without recording, and records the whole call as one node.

    `inputs_fn()`, called after the forward, lists all tensors that need a gradient. The list must
    contain `input`; `backward_fn(op)` gets it as `op.inputs` and returns one gradient or None for
    each. The node owns everything that its backward needs, so the module may be deleted.
    Errors: `ArgumentTypeError` for a null input or function, `ArgumentError` if the inputs do not
    contain `input`, `ContractError` if the forward or the backward returns null, `ShapeError` for a
    wrong number or wrong shapes of gradients.
    Source: document 001, wrap_forward.

    >>> import ferrograd as fg
    >>> class Manual(fg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = fg.nn.Parameter([[2.0], [3.0]])
    ...     def forward(self, x):
    ...         return self.wrap_forward(
    ...             x, lambda x: x @ self.weight, lambda: [x, self.weight], self.backward)
    ...     @staticmethod
    ...     def backward(op):
    ...         (x, w), (g,) = op.inputs, op.grad_outputs
    ...         return g @ w.T, x.T @ g
    >>> layer = Manual()
    >>> layer(fg.ones(1, 2)).backward()
    >>> layer.weight.grad.tolist()
    [[1.0], [1.0]]
    """
    try:
        return _wrap_forward(type(self), input, forward_fn, inputs_fn, backward_fn)
    except Exception as error:
        inner = error.__traceback__.tb_next if error.__traceback__ else None
        # Errors of the core have no Python frame; a frame belongs to one of the functions.
        if inner and inner.tb_frame.f_code is not getattr(inputs_fn, "__code__", None):
            error.add_note(f"raised in the forward of {type(self).__name__}")
        raise
