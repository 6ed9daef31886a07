"""Distances of vectors, and the losses of pairs and triples of them.

Invariant: the derivative of a distance is finite where two vectors are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import _core, linalg
from ferrograd._core import Tensor, asarray, where
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn._operations import euclidean_distances
from ferrograd.nn.functional._arguments import reduce_losses


def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """`|x1 - x2 + eps|_p` along the last axis.

    Shapes: (N, D) or (D), which broadcast; result (N) or ().

    >>> import ferrograd as fg
    >>> a, b = fg.tensor([3.0, 4.0]), fg.zeros(2)
    >>> fg.nn.functional.pairwise_distance(a, b, eps=0.0).item()
    5.0
    """
    difference = asarray(x1) - asarray(x2) + eps
    return linalg.vector_norm(difference, p, axis=-1, keepdims=keepdim)


def pdist(x: Any, p: float = 2.0) -> Tensor:
    """The distances of all pairs of rows of (N, D), in the order of `scipy`'s `pdist`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.pdist(fg.tensor([[0.0], [1.0], [3.0]])).tolist()
    [1.0, 3.0, 2.0]
    """
    x = asarray(x)
    if x.ndim != 2:
        raise ShapeError(f"pdist: an input of shape {tuple(x.shape)}; give a matrix (N, D)")
    if p == 2 and x.dtype.char in "efd":
        return euclidean_distances(x)
    first, second = np.triu_indices(int(x.shape[0]), 1)
    rows = _core.index_select(x, 0, first) - _core.index_select(x, 0, second)
    return linalg.vector_norm(rows, p, axis=-1)


def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """`max(0, -t (x1 - x2) + margin)`: 1 if the first should rank higher, -1 if the second should.

    >>> import ferrograd as fg
    >>> a, b, t = fg.tensor([1.0]), fg.tensor([3.0]), fg.tensor([1.0])
    >>> fg.nn.functional.margin_ranking_loss(a, b, t).item()
    2.0
    """
    x1, x2, target = asarray(input1), asarray(input2), asarray(target)
    if not x1.ndim == x2.ndim == target.ndim:
        raise ShapeError(
            f"margin_ranking_loss: inputs of shapes {tuple(x1.shape)} and {tuple(x2.shape)} and a"
            f" target of shape {tuple(target.shape)}; give all the same number of axes"
        )
    losses = (margin - target * (x1 - x2)).clip(min=0.0)
    return reduce_losses("margin_ranking_loss", losses, reduction)


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """`1 - cos(x1, x2)` for targets 1, `max(0, cos(x1, x2) - margin)` for targets -1.

    Shapes: (N, D) and targets (N), or (D) and a number.

    >>> import ferrograd as fg
    >>> a, b = fg.tensor([1.0, 0.0]), fg.tensor([0.0, 2.0])
    >>> fg.nn.functional.cosine_embedding_loss(a, b, fg.tensor(1.0)).item()
    1.0
    """
    x1, x2, target = asarray(input1), asarray(input2), asarray(target)
    if target.ndim + 1 != x1.ndim or x1.ndim != x2.ndim or x1.ndim not in (1, 2):
        raise ShapeError(
            f"cosine_embedding_loss: inputs of shapes {tuple(x1.shape)} and {tuple(x2.shape)} and"
            f" a target of shape {tuple(target.shape)}; give (N, D), (N, D) and (N)"
        )
    # The small number is PyTorch's: it is added to the squares of the lengths.
    tiny = 2.220446049250313e-16
    squares = ((x1 * x1).sum(-1) + tiny) * ((x2 * x2).sum(-1) + tiny)
    cosine = (x1 * x2).sum(-1) / _core.sqrt(squares)
    near = where(target == 1, 1 - cosine, 0.0)
    far = where(target == -1, (cosine - margin).clip(min=0.0), 0.0)
    return reduce_losses("cosine_embedding_loss", near + far, reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`max(0, |a - p| - |a - n| + margin)`, distances as `pairwise_distance` has them.

    With `swap`, `|p - n|` replaces `|a - n|` where it is smaller. Source: Balntas et al., 2016.

    >>> import ferrograd as fg
    >>> a, p, n = fg.zeros(1, 2), fg.tensor([[3.0, 4.0]]), fg.tensor([[6.0, 8.0]])
    >>> round(fg.nn.functional.triplet_margin_loss(a, p, n, margin=6.0).item(), 4)
    1.0
    """

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    return _triplet_loss(
        "triplet_margin_loss", anchor, positive, negative, distance, margin, swap, reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of your own.

    >>> import ferrograd as fg
    >>> a, p, n = fg.zeros(1, 2), fg.ones(1, 2), fg.full((1, 2), 3.0)
    >>> fg.nn.functional.triplet_margin_with_distance_loss(
    ...     a, p, n, distance_function=lambda x, y: abs(x - y).sum(-1), margin=5.0).item()
    1.0
    """
    return _triplet_loss(
        "triplet_margin_with_distance_loss",
        anchor,
        positive,
        negative,
        distance_function or pairwise_distance,
        margin,
        swap,
        reduction,
    )


def _triplet_loss(
    op: str,
    anchor: Any,
    positive: Any,
    negative: Any,
    distance: Callable[[Tensor, Tensor], Tensor],
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    if margin <= 0:
        raise ArgumentError(f"{op}: margin={margin}; give a positive number")
    a, p, n = asarray(anchor), asarray(positive), asarray(negative)
    if not a.ndim == p.ndim == n.ndim:
        raise ShapeError(
            f"{op}: inputs of shapes {tuple(a.shape)}, {tuple(p.shape)} and {tuple(n.shape)};"
            " give all the same number of axes"
        )
    try:
        np.broadcast_shapes(a.shape, p.shape, n.shape)
    except ValueError:
        raise ShapeError(
            f"{op}: inputs of shapes {tuple(a.shape)}, {tuple(p.shape)} and {tuple(n.shape)};"
            " give all the same shape"
        ) from None
    far = distance(a, n)
    if swap:
        far = _core.minimum(far, distance(p, n))
    return reduce_losses(op, (margin + distance(a, p) - far).clip(min=0.0), reduction)
