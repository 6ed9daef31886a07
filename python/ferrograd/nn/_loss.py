"""Losses as modules.

Owns: `MSELoss` and `CrossEntropyLoss`. Never computes: `nn.functional` does.
Invariant: a loss multiplies by the gradient that arrives, as every operation does.
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError
from ferrograd.nn import functional as F  # noqa: N812
from ferrograd.nn._module import Module


def _checked_reduction(op: str, reduction: str) -> str:
    """The reduction, if it is one."""
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f'{op}: reduction={reduction!r}; use "mean", "sum" or "none"')
    return reduction


class MSELoss(Module):
    """`mean((input - target)²)`; reduction "mean", "sum" or "none".

    >>> import ferrograd as fg
    >>> fg.nn.MSELoss()(fg.tensor([1.0, 3.0]), fg.tensor([1.0, 1.0])).item()
    2.0
    """

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(name)
        self.reduction = _checked_reduction("MSELoss", reduction)

    def forward(self, input: Tensor, target: Any) -> Tensor:
        """The loss."""
        return F.mse_loss(input, target, reduction=self.reduction)

    def extra_repr(self) -> str:
        """The reduction."""
        return f"reduction={self.reduction!r}"


class CrossEntropyLoss(Module):
    """Cross-entropy of class scores and integer labels, or of scores and probabilities.

    Options as in `nn.functional.cross_entropy`.

    >>> import ferrograd as fg
    >>> round(fg.nn.CrossEntropyLoss()(fg.zeros(2, 4), fg.tensor([0, 3])).item(), 6)
    1.386294
    """

    def __init__(self, name: str | None = None, **options: Any) -> None:
        super().__init__(name)
        _checked_reduction("CrossEntropyLoss", options.get("reduction", "mean"))
        self.options = options

    def forward(self, input: Tensor, target: Any) -> Tensor:
        """The loss."""
        return F.cross_entropy(input, target, **self.options)

    def extra_repr(self) -> str:
        """The options."""
        return ", ".join(f"{key}={value!r}" for key, value in self.options.items())
