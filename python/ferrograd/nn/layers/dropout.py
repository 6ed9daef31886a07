"""Dropout as modules.

Invariant: after `eval()` the input is returned unchanged.
"""

from __future__ import annotations

from typing import ClassVar

from ferrograd._core import Tensor
from ferrograd.nn import functional as F  # noqa: N812
from ferrograd.nn._module import Module
from ferrograd.nn.functional._arguments import check_flags, check_probability


class _DropoutNd(Module):
    function: ClassVar[str]

    def __init__(self, p: float = 0.5, inplace: bool = False, *, name: str | None = None) -> None:
        super().__init__(name)
        check_flags(type(self).__name__, inplace=inplace)
        self.p, self.inplace = check_probability(type(self).__name__, p), inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input with zeros, while training."""
        out: Tensor = getattr(F, self.function)(input, self.p, self.training)
        return input.copy_(out) if self.inplace and out is not input else out

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zero with probability `p`, else `x / (1 - p)`, while training. Source: arXiv:1207.0580.

    >>> import ferrograd as fg
    >>> layer = fg.nn.Dropout(0.5)
    >>> sorted(set(layer(fg.ones(100)).tolist())), layer.eval()(fg.ones(2)).tolist()
    ([0.0, 2.0], [1.0, 1.0])
    """

    function = "dropout"


class Dropout1d(_DropoutNd):
    """`Dropout` of whole channels of (N, C, L) or (C, L). Source: arXiv:1411.4280."""

    function = "dropout1d"


class Dropout2d(_DropoutNd):
    """`Dropout` of whole channels of (N, C, H, W), (N, C, L) or (N, C). Source: arXiv:1411.4280."""

    function = "dropout2d"


class Dropout3d(_DropoutNd):
    """`Dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W)."""

    function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout for SELU networks, which keeps mean 0 and variance 1. Source: arXiv:1706.02515."""

    function = "alpha_dropout"


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels of (N, C, …)."""

    function = "feature_alpha_dropout"
