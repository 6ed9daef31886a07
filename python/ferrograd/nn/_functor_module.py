"""A module with a backward of its own: one node for the whole call (document 001).

Invariant: what the forward calls is not recorded, and the result requires grad exactly when any
operation on the same inputs would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ferrograd._core import Tensor, _wrap_forward
from ferrograd.functors._recorded_call import Op


def wrap_forward(
    self: Any,
    input: Tensor,
    forward_fn: Callable[[Tensor], Tensor],
    inputs_fn: Callable[[], Sequence[Tensor]],
    backward_fn: Callable[[Op], Any],
) -> Tensor:
    """Runs `forward_fn(input)` with recording off and records the whole call as one node.

    `inputs_fn()`, called after the forward, lists everything that needs a gradient; it must contain
    `input`, and is what `backward_fn(op)` sees as `op.inputs`. `backward_fn` returns one gradient
    or None for each. The node owns what its backward needs, so the module may go away.
    Errors: `ArgumentTypeError` for a null input or function, `ArgumentError` when the inputs lack
    `input`, `ContractError` when the forward or the backward returns null, `ShapeError` for
    gradients of the wrong number or shape.
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
        # Refusals of the core have no frame of their own; a frame is that of one of the functions.
        if inner and inner.tb_frame.f_code is not getattr(inputs_fn, "__code__", None):
            error.add_note(f"raised in the forward of {type(self).__name__}")
        raise
