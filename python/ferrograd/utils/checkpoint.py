"""`torch.utils.checkpoint`: a call that is checkpointed, and a sequence of modules in segments.

The checkpoint itself is `fg.autograd.checkpoint`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ferrograd._tensor.checkpoint import run as checkpoint
from ferrograd.errors import ArgumentError

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint_sequential(
    functions: Iterable[Callable[[Any], Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = False,
    **options: Any,
) -> Any:
    """Calls functions one after the other, as `Sequential` does, in checkpointed segments.

    The last segment, which the backward pass would run again at once, is not checkpointed.

    Args:
        functions: a `Sequential`, or functions of one argument.
        segments: into how many parts of equal length they are divided; the last has the rest.
        input: the argument of the first.
        use_reentrant, options: those of `checkpoint`.

    Raises:
        ArgumentError: `segments` is below 1 or above the number of functions.

    >>> import ferrograd as fg
    >>> from ferrograd.utils.checkpoint import checkpoint_sequential
    >>> x = fg.ones(2, requires_grad=True)
    >>> checkpoint_sequential([fg.exp, fg.log, fg.square], 2, x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 2.0]
    """
    steps = list(functions)
    if not 1 <= segments <= len(steps):
        raise ArgumentError(
            f"checkpoint_sequential: segments is {segments} for {len(steps)} functions; give 1 to"
            f" {len(steps)}"
        )
    size = len(steps) // segments
    first = size * (segments - 1)
    for start in range(0, first, size):
        part = _compose(steps[start : start + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, **options)
    return _compose(steps[first:])(input)


def _compose(steps: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def composed(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return composed
