"""Gradients of a batch of vectors: `grad(…, is_grads_batched=True)`.

Invariant: the first axis of the given gradients and of the results counts the vectors.
"""

from typing import Any

import numpy as np

from ferrograd._core import Tensor, _grad_rows, asarray
from ferrograd._tensor.creation import ones, zeros
from ferrograd.errors import ArgumentError, ArgumentTypeError, GradientError, ShapeError


def batched_grad(
    outputs: Any,
    inputs: Any,
    gradients: Any,
    graph: tuple[bool | None, bool],
    unused: tuple[bool, bool],
) -> Any:
    """The gradients for each entry of `gradients`.

    `graph` is whether to retain and to create one; `unused` whether inputs may be unused, and
    whether they then get zeros.
    """
    roots = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    given = list(gradients) if isinstance(gradients, list | tuple) else [gradients]
    if len(given) != len(roots):
        raise ArgumentError(
            f"grad: there are {len(roots)} outputs and {len(given)} batches of gradients; give one"
            " batch or None per output"
        )
    batches = [_check_batch(root, batch) for root, batch in zip(roots, given, strict=True)]
    sizes = {len(batch) for batch in batches if batch is not None}
    if len(sizes) != 1:
        raise ArgumentError(
            f"grad: the batches of gradients have the sizes {sorted(sizes)}; with"
            " is_grads_batched=True give batches of one size"
        )
    size = sizes.pop()
    rows = [
        _make_default_gradients(root, size) if b is None else b
        for root, b in zip(roots, batches, strict=True)
    ]
    wanted = list(inputs.values()) if isinstance(inputs, dict) else inputs
    if size:
        found = _grad_rows(roots, wanted, rows, graph, unused)
    else:
        single = [wanted] if isinstance(wanted, Tensor) else wanted
        found = [zeros((0, *np.shape(x)), dtype=x.dtype) for x in single]
    return dict(zip(inputs, found, strict=True)) if isinstance(inputs, dict) else tuple(found)


def _make_default_gradients(root: Tensor, size: int) -> Tensor:
    """The default gradients of an output of one element."""
    if root.numel() != 1:
        raise GradientError(
            f"grad: an output has shape {tuple(root.shape)} and no gradients; give it a batch of"
            " them, (batch, *shape of the output)"
        )
    return ones((size, *root.shape), dtype=root.dtype)


def _check_batch(root: Any, batch: Any) -> Tensor | None:
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
