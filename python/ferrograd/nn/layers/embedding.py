"""Embeddings as modules.

Invariant: the row `padding_idx` starts at zero and gets no gradient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ferrograd._core import Tensor, get_default_dtype
from ferrograd._tensor.generator import Generator
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn import functional as F, init  # noqa: N812
from ferrograd.nn._parameter import Parameter
from ferrograd.nn.functional._arguments import check_flags, check_integer
from ferrograd.nn.layers.base import ResettableModule

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class _EmbeddingBase(ResettableModule):
    """A table of vectors, and the options of a lookup."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: Any,
        dtype: DTypeLike | None,
        generator: Generator | np.random.Generator | None,
        name: str | None,
    ) -> None:
        super().__init__(name)
        op = type(self).__name__
        num_embeddings = check_integer(op, "num_embeddings", num_embeddings, 0)
        sizes = num_embeddings, check_integer(op, "embedding_dim", embedding_dim, 0)
        self.num_embeddings, self.embedding_dim = sizes
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ArgumentError(
                    f"{op}: padding_idx is {padding_idx}; give one of {num_embeddings} numbers"
                )
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        if weight is None:
            fresh = init.empty_parameter(sizes, dtype or get_default_dtype())
            weight = init.started(fresh, "normal_", generator=generator)
            if padding_idx is not None:
                with no_grad():
                    weight[padding_idx] = 0.0
        elif tuple(weight.shape) != sizes:
            raise ShapeError(
                f"{op}: a weight of shape {tuple(weight.shape)} for {sizes}; give that shape"
            )
        self.weight = weight if isinstance(weight, Parameter) else Parameter(weight, dtype=dtype)

    def reset_parameters(self) -> None:
        """Initialises the table again; the row `padding_idx` is zero."""
        super().reset_parameters()
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    def extra_repr(self) -> str:
        """The sizes."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> Self:
        """A module with these vectors, a matrix; they do not learn unless `freeze=False`."""
        if embeddings.ndim != 2:
            raise ShapeError(
                f"{cls.__name__}.from_pretrained: embeddings of shape {tuple(embeddings.shape)};"
                " give a matrix"
            )
        rows, size = (int(n) for n in embeddings.shape)
        made = cls(rows, size, _weight=embeddings, **options)  # type: ignore[call-arg]
        made.weight.requires_grad_(not freeze)
        return made


class Embedding(_EmbeddingBase):
    """Looks up vectors by index: (…) to (…, embedding_dim); initialised with normal numbers.

    The row `padding_idx` starts at zero and gets no gradient. Looked-up rows longer than `max_norm`
    are scaled down in place. `scale_grad_by_freq` divides the gradient of a row by its count in the
    input. Errors: `IndexOutOfRangeError` for an index out of range.

    >>> import ferrograd as fg
    >>> layer = fg.nn.Embedding(10, 3, padding_idx=0)
    >>> layer(fg.tensor([[1, 2, 0]])).shape, layer.weight[0].tolist()
    ((1, 3, 3), [0.0, 0.0, 0.0])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        *,
        dtype: DTypeLike | None = None,
        generator: Generator | np.random.Generator | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, _weight, dtype, generator, name
        )
        if sparse:
            raise ArgumentError("Embedding: sparse=True; gradients are dense here, leave it out")
        check_flags("Embedding", scale_grad_by_freq=scale_grad_by_freq)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq

    def forward(self, input: Any) -> Tensor:
        """The vectors."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
        )


class EmbeddingBag(_EmbeddingBase):
    """Sums, means or maxima of vectors: a bag in each row of (B, n), or of (N) between `offsets`.

    `mode` is "mean", "sum" or "max". Other options as `Embedding`, and as
    `nn.functional.embedding_bag`.

    >>> import ferrograd as fg
    >>> layer = fg.nn.EmbeddingBag(10, 3, mode="sum")
    >>> layer(fg.tensor([1, 2, 4]), fg.tensor([0, 2])).shape
    (2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        *,
        dtype: DTypeLike | None = None,
        generator: Generator | np.random.Generator | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, _weight, dtype, generator, name
        )
        if sparse or mode not in ("mean", "sum", "max"):
            raise ArgumentError(
                f'EmbeddingBag: mode={mode!r} and sparse={sparse}; use "mean", "sum" or "max", not'
                " sparse"
            )
        last = include_last_offset
        check_flags("EmbeddingBag", scale_grad_by_freq=scale_grad_by_freq, include_last_offset=last)
        self.max_norm, self.norm_type, self.mode = max_norm, norm_type, mode
        self.scale_grad_by_freq = scale_grad_by_freq
        self.include_last_offset = include_last_offset

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Tensor:
        """The sums, means or maxima."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            False,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )
