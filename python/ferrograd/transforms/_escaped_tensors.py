"""Tensors that a function kept from an earlier call of a transform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ferrograd._core import GradientEdge, Node, Tensor, _grad
from ferrograd.errors import FerrogradError, GradientError
from ferrograd.transforms._argnums import get_function_name


def make_leak_error(
    op: str,
    function: Callable[..., Any],
    outputs: Sequence[Any],
    found: tuple[Node, int, Node, str | None],
) -> GradientError:
    """The error for results that were computed from the argument of a transform that has ended.

    The part of the gradient through that argument would be missing.
    """
    node, number, leaf, line = found
    what = _describe_tensor(outputs, node, number, leaf)
    where = "" if line is None else f" at {line},"
    how = "" if line else " (fg.record_call_sites() tells the line that made it)"
    return GradientError(
        f"{op}: {get_function_name(function)} used {what}{where} in an earlier call of a transform,"
        " which has ended, so that the derivative through it would be missing; compute it in this"
        " call, or keep x.detach() or an array where a constant is meant; begin a workspace that is"
        f" used again with b[:] = 0{how}; see docs/when_it_goes_wrong.md"
    )


def _describe_tensor(outputs: Sequence[Any], node: Node, number: int, leaf: Node) -> str:
    if node is leaf:
        spec = leaf.output_spec(0)
        return f"an argument{'' if spec is None else f' of shape {spec[0]}'}, kept"
    shape = _find_output_shape(outputs, node, number, leaf)
    return f"a tensor{'' if shape is None else f' of shape {shape}'} that {node.op_name} made"


def _find_output_shape(
    outputs: Sequence[Any], node: Node, number: int, leaf: Node
) -> tuple[int, ...] | None:
    """The shape of an output of a node, which is the shape of its gradient."""
    shapes: list[tuple[int, ...]] = []

    def note(gradients: Sequence[Tensor | None]) -> None:
        arrived = gradients[number]
        if arrived is not None:
            shapes.append(tuple(arrived.shape))

    roots = [o for o in outputs if isinstance(o, Tensor) and o.requires_grad]
    seeds = [o.detach() for o in roots]
    hook = node.register_prehook(note)
    # The saved values of the node may be freed, so check before it fails.
    with suppress(FerrogradError):
        _grad(roots, [GradientEdge(leaf, 0)], seeds, True, False, True)
    hook.remove()
    return shapes[0] if shapes else None
