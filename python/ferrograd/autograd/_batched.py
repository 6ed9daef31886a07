"""Gradients of a batch of vectors: `grad(…, is_grads_batched=True)`.

Owns: the loop over the batch. Never walks a graph: each entry is a pass of its own.
Invariant: the first axis of what is given and of what comes back counts the vectors.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray, grad, stack
from ferrograd._creation import zeros
from ferrograd.errors import ArgumentError, ArgumentTypeError, ShapeError


def batched(
    outputs: Any, inputs: Any, gradients: Any, retain_graph: bool | None, **options: Any
) -> Any:
    """The gradients for each entry of `gradients`, stacked."""
    roots = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    given = list(gradients) if isinstance(gradients, list | tuple) else [gradients]
    if len(given) != len(roots):
        raise ArgumentError(
            f"grad: there are {len(roots)} outputs and {len(given)} batches of gradients; give one"
            " batch or None per output"
        )
    vectors = [_fitted(root, batch) for root, batch in zip(roots, given, strict=True)]
    sizes = {len(batch) for batch in vectors if batch is not None}
    if len(sizes) != 1:
        raise ArgumentError(
            f"grad: the batches of gradients have the sizes {sorted(sizes)}; with"
            " is_grads_batched=True give batches of one size"
        )
    size = sizes.pop()
    keep = options["create_graph"] if retain_graph is None else retain_graph
    passes = []
    for k in range(size):
        row = [None if batch is None else batch[k] for batch in vectors]
        passes.append(grad(roots, inputs, row, retain_graph=keep or k + 1 < size, **options))
    if isinstance(inputs, dict):
        return {key: _stacked(x, [p[key] for p in passes]) for key, x in inputs.items()}
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    return tuple(_stacked(x, [p[i] for p in passes]) for i, x in enumerate(wanted))


def _fitted(root: Any, batch: Any) -> Tensor | None:
    """A batch of gradients of one output."""
    if not isinstance(root, Tensor):
        raise ArgumentTypeError(
            f"grad: an output is a {type(root).__name__}; with is_grads_batched=True pass tensors"
        )
    if batch is None:
        return None
    found: Tensor = batch if isinstance(batch, Tensor) else asarray(batch)
    if found.ndim == 0 or found.shape[1:] != root.shape:
        raise ShapeError(
            f"grad: If `is_grads_batched=True`, we interpret the first axis as the batch: gradients"
            f" of shape {tuple(found.shape)} do not fit an output of shape {tuple(root.shape)};"
            " give (batch, *shape of the output)"
        )
    return found if found.dtype.kind == "f" else found.astype(root.dtype)


def _stacked(like: Any, parts: Sequence[Tensor | None]) -> Tensor | None:
    """The gradients of one input; an empty batch gives an empty one."""
    if not parts:
        return zeros((0, *np.shape(like)), dtype=like.dtype)
    found = [part for part in parts if part is not None]
    return stack(found) if found else None
