"""Losses and distances of pairs and triples of inputs.

Formulas: `nn.functional`. Invariant: options have PyTorch's order, without its deprecated ones.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError
from ferrograd.nn import functional as F  # noqa: N812
from ferrograd.nn._module import Module
from ferrograd.nn.functional._arguments import check_flags
from ferrograd.nn.losses._base import Loss


class HingeEmbeddingLoss(Loss):
    """`x` for targets 1, `max(0, margin - x)` for targets -1; `x` is a distance.

    >>> import ferrograd as fg
    >>> fg.nn.HingeEmbeddingLoss()(fg.tensor([0.25]), fg.tensor([-1.0])).item()
    0.75
    """

    function = "hinge_embedding_loss"
    defaults: ClassVar[dict[str, Any]] = {"margin": 1.0, "reduction": "mean"}


class MarginRankingLoss(Loss):
    """`max(0, -t (x1 - x2) + margin)`: 1 if the first should rank higher, -1 if the second should.

    >>> import ferrograd as fg
    >>> loss = fg.nn.MarginRankingLoss()
    >>> loss(fg.tensor([1.0]), fg.tensor([3.0]), fg.tensor([1.0])).item()
    2.0
    """

    function = "margin_ranking_loss"
    defaults: ClassVar[dict[str, Any]] = {"margin": 0.0, "reduction": "mean"}


class CosineEmbeddingLoss(Loss):
    """`1 - cos(x1, x2)` for targets 1, `max(0, cos(x1, x2) - margin)` for targets -1.

    >>> import ferrograd as fg
    >>> a, b = fg.tensor([[1.0, 0.0]]), fg.tensor([[0.0, 2.0]])
    >>> fg.nn.CosineEmbeddingLoss()(a, b, fg.tensor([1.0])).item()
    1.0
    """

    function = "cosine_embedding_loss"
    defaults: ClassVar[dict[str, Any]] = {"margin": 0.0, "reduction": "mean"}


class TripletMarginLoss(Loss):
    """`max(0, |a - p| - |a - n| + margin)` of an anchor, a positive and a negative.

    `swap` takes the smaller of `|a - n|` and `|p - n|`.

    >>> import ferrograd as fg
    >>> a, p, n = fg.zeros(1, 2), fg.tensor([[3.0, 4.0]]), fg.tensor([[6.0, 8.0]])
    >>> round(fg.nn.TripletMarginLoss(margin=6.0)(a, p, n).item(), 4)
    1.0
    """

    function = "triplet_margin_loss"
    defaults: ClassVar[dict[str, Any]] = {
        "margin": 1.0,
        "p": 2.0,
        "eps": 1e-6,
        "swap": False,
        "reduction": "mean",
    }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _check_margin(self)


class TripletMarginWithDistanceLoss(Loss):
    """`TripletMarginLoss` with a distance of your own.

    >>> import ferrograd as fg
    >>> loss = fg.nn.TripletMarginWithDistanceLoss(
    ...     distance_function=lambda x, y: abs(x - y).sum(-1), margin=5.0)
    >>> loss(fg.zeros(1, 2), fg.ones(1, 2), fg.full((1, 2), 3.0)).item()
    1.0
    """

    function = "triplet_margin_with_distance_loss"
    defaults: ClassVar[dict[str, Any]] = {
        "distance_function": None,
        "margin": 1.0,
        "swap": False,
        "reduction": "mean",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        _check_margin(self)


def _check_margin(loss: Any) -> None:
    if loss.margin <= 0:
        raise ArgumentError(f"{type(loss).__name__}: margin={loss.margin}; give a positive number")


class PairwiseDistance(Module):
    """`|x1 - x2 + eps|_p` along the last axis.

    >>> import ferrograd as fg
    >>> fg.nn.PairwiseDistance(eps=0.0)(fg.tensor([3.0, 4.0]), fg.zeros(2)).item()
    5.0
    """

    def __init__(
        self,
        p: float = 2.0,
        eps: float = 1e-6,
        keepdim: bool = False,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        check_flags("PairwiseDistance", keepdim=keepdim)
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along an axis.

    >>> import ferrograd as fg
    >>> fg.nn.CosineSimilarity(dim=0)(fg.tensor([3.0, 0.0]), fg.tensor([2.0, 0.0])).item()
    1.0
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8, *, name: str | None = None) -> None:
        super().__init__(name)
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
