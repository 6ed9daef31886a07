"""Losses of classes and labels.

Formulas: `nn.functional`. Invariant: options have PyTorch's order, without its deprecated ones.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ferrograd.errors import ArgumentError
from ferrograd.nn.losses._base import Loss


class CrossEntropyLoss(Loss):
    """Cross-entropy of class scores and integer labels, or of scores and probabilities.

    Shapes: scores (C), (N, C) or (N, C, …), labels without the axis of classes. Labels equal to
    `ignore_index` do not count, `weight` has one element per class.

    >>> import ferrograd as fg
    >>> round(fg.nn.CrossEntropyLoss()(fg.zeros(2, 4), fg.tensor([0, 3])).item(), 6)
    1.386294
    """

    function = "cross_entropy"
    tensors = ("weight",)
    defaults: ClassVar[dict[str, Any]] = {
        "weight": None,
        "ignore_index": -100,
        "reduction": "mean",
        "label_smoothing": 0.0,
    }


class NLLLoss(Loss):
    """Minus the log-probability of each label; options as `CrossEntropyLoss`.

    >>> import ferrograd as fg
    >>> fg.nn.NLLLoss()(fg.tensor([[-1.0, -3.0]]), fg.tensor([1])).item()
    3.0
    """

    function = "nll_loss"
    tensors = ("weight",)
    defaults: ClassVar[dict[str, Any]] = {
        "weight": None,
        "ignore_index": -100,
        "reduction": "mean",
    }


class BCELoss(Loss):
    """Binary cross entropy of probabilities and targets in 0..1; logarithms are at least -100.

    >>> import ferrograd as fg
    >>> round(fg.nn.BCELoss()(fg.tensor([0.5]), fg.tensor([1.0])).item(), 6)
    0.693147
    """

    function = "binary_cross_entropy"
    tensors = ("weight",)
    defaults: ClassVar[dict[str, Any]] = {"weight": None, "reduction": "mean"}


class BCEWithLogitsLoss(Loss):
    """Binary cross entropy of the sigmoid of logits; `pos_weight` multiplies positive targets.

    >>> import ferrograd as fg
    >>> round(fg.nn.BCEWithLogitsLoss()(fg.tensor([0.0]), fg.tensor([1.0])).item(), 6)
    0.693147
    """

    function = "binary_cross_entropy_with_logits"
    tensors = ("weight", "pos_weight")
    defaults: ClassVar[dict[str, Any]] = {
        "weight": None,
        "reduction": "mean",
        "pos_weight": None,
    }


class KLDivLoss(Loss):
    """`t (ln t - x)` of log-probabilities `x`; with `log_target`, targets are logarithms, too.

    "batchmean" divides the sum by the first dimension, which is the divergence itself.

    >>> import ferrograd as fg
    >>> x = fg.log(fg.tensor([[0.5, 0.5]]))
    >>> round(fg.nn.KLDivLoss(reduction="batchmean")(x, fg.tensor([[1.0, 0.0]])).item(), 6)
    0.693147
    """

    function = "kl_div"
    defaults: ClassVar[dict[str, Any]] = {"reduction": "mean", "log_target": False}

    def _check_reduction(self, op: str, reduction: str) -> None:
        if reduction != "batchmean":
            super()._check_reduction(op, reduction)


class SoftMarginLoss(Loss):
    """`ln(1 + e^(-t x))` for targets 1 and -1.

    >>> import ferrograd as fg
    >>> round(fg.nn.SoftMarginLoss()(fg.tensor([0.0]), fg.tensor([1.0])).item(), 6)
    0.693147
    """

    function = "soft_margin_loss"


class MultiLabelSoftMarginLoss(Loss):
    """The mean over classes of binary cross entropies of logits; `weight` is one per class.

    >>> import ferrograd as fg
    >>> loss = fg.nn.MultiLabelSoftMarginLoss()
    >>> round(loss(fg.zeros(1, 2), fg.tensor([[1.0, 0.0]])).item(), 6)
    0.693147
    """

    function = "multilabel_soft_margin_loss"
    tensors = ("weight",)
    defaults: ClassVar[dict[str, Any]] = {"weight": None, "reduction": "mean"}


class MultiLabelMarginLoss(Loss):
    """`Σ max(0, 1 - (x_t - x_i)) / C` over the labels `t` of a row and the classes that are none.

    The labels of a row end with -1.

    >>> import ferrograd as fg
    >>> fg.nn.MultiLabelMarginLoss()(fg.tensor([0.0, 0.5]), fg.tensor([0, -1])).item()
    0.75
    """

    function = "multilabel_margin_loss"


class MultiMarginLoss(Loss):
    """`Σ_{i≠t} max(0, margin - x_t + x_i)^p / C` for the class `t` of each row; `p` is 1 or 2.

    >>> import ferrograd as fg
    >>> fg.nn.MultiMarginLoss()(fg.tensor([[0.0, 0.5]]), fg.tensor([0])).item()
    0.75
    """

    function = "multi_margin_loss"
    tensors = ("weight",)
    defaults: ClassVar[dict[str, Any]] = {
        "p": 1,
        "margin": 1.0,
        "weight": None,
        "reduction": "mean",
    }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.p not in (1, 2):
            raise ArgumentError(f"MultiMarginLoss: p={self.p}; use 1 or 2")


class CTCLoss(Loss):
    """Minus the log-probability of label sequences over all alignments. Source: Graves, 2006.

    Inputs: log-probabilities (T, N, C), labels, and the lengths of both, as `F.ctc_loss`.

    >>> import ferrograd as fg
    >>> log_probs = fg.log_softmax(fg.zeros(2, 1, 2), -1)
    >>> round(fg.exp(-fg.nn.CTCLoss()(log_probs, fg.tensor([[1]]), [2], [1])).item(), 4)
    0.75
    """

    function = "ctc_loss"
    defaults: ClassVar[dict[str, Any]] = {
        "blank": 0,
        "reduction": "mean",
        "zero_infinity": False,
    }
