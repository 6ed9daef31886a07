"""Softmax over very many classes, most of them rare.

Invariant: the log-probabilities of a row, over all classes, are those of one distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray
from ferrograd._tensor import creation
from ferrograd._tensor.generator import Generator
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn import functional as F  # noqa: N812
from ferrograd.nn._module import Module
from ferrograd.nn.functional._arguments import check_class_indices, check_integer, convert_argument
from ferrograd.nn.layers.container import ModuleList, Sequential
from ferrograd.nn.layers.linear import Linear

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class ASMoutput(NamedTuple):
    """The log-probability of each target, and minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes that are ordered from frequent to rare.

    `cutoffs` divide the classes: those below the first belong to the head. Each other part is a
    cluster with one score in the head and a projection to `in_features / div_value^k` features. So
    rows of frequent classes cost little. A call with rows (N, in) and classes (N), or (in) and (),
    returns the log-probabilities of the targets and the loss; `log_prob` returns all.
    Source: Grave et al., Efficient softmax approximation for GPUs, 2017.
    Errors: `ArgumentError` for cutoffs that do not rise inside the classes, `ShapeError` for other
    shapes, `IndexOutOfRangeError` for targets outside the classes.

    >>> import ferrograd as fg
    >>> layer = fg.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10])
    >>> out, loss = layer(fg.ones(3, 8), fg.tensor([0, 5, 19]))
    >>> out.shape, layer.log_prob(fg.ones(3, 8)).shape
    ((3,), (3, 20))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        *,
        dtype: DTypeLike | None = None,
        generator: Generator | np.random.Generator | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        parts = self._check_cutoffs(cutoffs, n_classes)
        if not div_value > 0:
            raise ArgumentError(
                f"AdaptiveLogSoftmaxWithLoss: div_value is {div_value}; give a number above 0"
            )
        self.in_features, self.n_classes, self.div_value = in_features, n_classes, div_value
        self.cutoffs, self.head_bias = [*parts, n_classes], head_bias
        self.shortlist_size, self.n_clusters = parts[0], len(parts)
        self.head_size = self.shortlist_size + self.n_clusters
        options: dict[str, Any] = {"dtype": dtype, "generator": generator}
        self.head = Linear(in_features, self.head_size, head_bias, **options)
        self.tail = ModuleList()
        for k in range(self.n_clusters):
            inner, outer = int(in_features // div_value ** (k + 1)), self._cluster_size(k)
            first = Linear(in_features, max(inner, 1), False, **options)
            self.tail.append(Sequential(first, Linear(max(inner, 1), outer, False, **options)))

    @staticmethod
    def _check_cutoffs(cutoffs: Iterable[int], n_classes: int) -> list[int]:
        """The cutoffs; the first one that does not rise inside the classes ends the search."""
        parts: list[int] = []
        for cutoff in cutoffs:
            last = parts[-1] if parts else 0
            parts.append(check_integer("AdaptiveLogSoftmaxWithLoss", "a cutoff", cutoff, 0))
            if not last < parts[-1] < n_classes:
                break
        else:
            if parts:
                return parts
        raise ArgumentError(
            f"AdaptiveLogSoftmaxWithLoss: cutoffs are {parts} of {n_classes} classes;"
            f" give numbers that rise, from 1 to {n_classes - 1}"
        )

    def _cluster_size(self, cluster: int) -> int:
        return self.cutoffs[cluster + 1] - self.cutoffs[cluster]

    def reset_parameters(self) -> None:
        """Initialises all weights again."""
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> ASMoutput:
        """The log-probabilities of the targets, and the loss."""
        x, target = convert_argument(type(self).__name__, input_), asarray(target_)
        if (x.ndim, target.ndim) == (1, 0):
            one = self.forward(x.unsqueeze(0), target.reshape((1,)))
            return ASMoutput(one.output.squeeze(0), one.loss)
        if x.ndim != 2 or x.shape[-1] != self.in_features or target.shape != x.shape[:1]:
            raise ShapeError(
                f"{type(self).__name__}: rows of shape {tuple(x.shape)} and targets of shape"
                f" {tuple(target.shape)}; give (N, {self.in_features}) and (N)"
            )
        check_class_indices(type(self).__name__, target, self.n_classes)
        classes = target.detach().numpy()
        scores = F.log_softmax(self.head(x), 1)
        out = creation.zeros(x.shape[0], dtype=scores.dtype)
        for k in range(-1, self.n_clusters):
            low = 0 if k < 0 else self.cutoffs[k]
            rows = np.flatnonzero((classes >= low) & (classes < self.cutoffs[k + 1]))
            if not rows.size:
                continue
            inside = classes[rows, None] - low
            own = scores[rows]
            if k >= 0:
                cluster = F.log_softmax(self.tail[k](x[rows]), 1)
                found = _core.take_along_axis(cluster, inside, 1).squeeze(1)
                found = found + own[:, self.shortlist_size + k]
            else:
                found = _core.take_along_axis(own, inside, 1).squeeze(1)
            out = _core.index_add(out, 0, rows, found)
        return ASMoutput(out, -out.mean())

    def log_prob(self, input: Any) -> Tensor:
        """The log-probabilities (N, n_classes) of all classes."""
        x = convert_argument(type(self).__name__, input)
        scores = F.log_softmax(self.head(x), 1)
        parts = [scores[:, : self.shortlist_size]]
        for k in range(self.n_clusters):
            own = scores[:, self.shortlist_size + k].unsqueeze(1)
            parts.append(F.log_softmax(self.tail[k](x), 1) + own)
        return _core.concatenate(parts, 1)

    def predict(self, input: Any) -> Tensor:
        """The most probable class of each row (N)."""
        return _core.argmax(self.log_prob(input), 1)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"{self.in_features}, {self.n_classes}, cutoffs={self.cutoffs[:-1]},"
            f" div_value={self.div_value}, head_bias={self.head_bias}"
        )
