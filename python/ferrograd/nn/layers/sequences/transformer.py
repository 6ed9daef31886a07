"""Transformers: attention layers, and encoders and decoders composed of them.

Source: Vaswani et al., arXiv:1706.03762. Invariant: names of parameters are PyTorch's; with
`norm_first`, each norm is before its block.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, get_default_dtype
from ferrograd.errors import ArgumentError
from ferrograd.nn import functional as F, init  # noqa: N812
from ferrograd.nn._module import Module
from ferrograd.nn.functional._arguments import check_flags
from ferrograd.nn.layers.container import MOST_LAYERS, ModuleList
from ferrograd.nn.layers.dropout import Dropout
from ferrograd.nn.layers.linear import Linear
from ferrograd.nn.layers.normalization import LayerNorm
from ferrograd.nn.layers.sequences.attention import MultiheadAttention

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

Function = Callable[[Tensor], Tensor]


def _get_clones(op: str, layer: Module, num_layers: int) -> ModuleList:
    """The layer, `num_layers` times."""
    count = operator.index(num_layers)
    if not 0 <= count <= MOST_LAYERS:
        raise ArgumentError(f"{op}: num_layers is {count}; give 0 to {MOST_LAYERS}")
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _get_activation_fn(activation: str | Function) -> Function:
    """The function of a name."""
    if isinstance(activation, str):
        if activation not in ("relu", "gelu"):
            raise ArgumentError(f'Transformer: activation={activation!r}; use "relu" or "gelu"')
        return F.relu if activation == "relu" else F.gelu
    return activation


class _TransformerLayer(Module):
    """Base of encoder and decoder layers: the two linear layers."""

    norm_first: bool

    def _add_feed_forward(
        self,
        d_model: int,
        dim_feedforward: int,
        dropout: float,
        activation: str | Function,
        bias: bool,
        dtype: DTypeLike | None,
    ) -> None:
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.activation = _get_activation_fn(activation)

    def _feed_forward(self, x: Tensor, last: Module) -> Tensor:
        out: Tensor = last(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return out

    def _apply_residual(self, x: Tensor, norm: Module, block: Function) -> Tensor:
        """A block with a residual connection, with its norm before or after."""
        out: Tensor = x + block(norm(x)) if self.norm_first else norm(x + block(x))
        return out


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and two linear layers, each with a residual connection and a norm.

    Shapes: (L, N, d_model), (N, L, d_model) with `batch_first`, or (L, d_model); kept. `activation`
    is "relu", "gelu" or a function.

    >>> import ferrograd as fg
    >>> layer = fg.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, norm_first=True)
    >>> layer(fg.ones(5, 3, 8)).shape
    (5, 3, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Function = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype
        )
        self._add_feed_forward(d_model, dim_feedforward, dropout, activation, bias, dtype)
        check_flags(type(self).__name__, norm_first=norm_first)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)

    def forward(
        self,
        src: Tensor,
        src_mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The layer; masks as `MultiheadAttention` takes them."""

        def attend_self(x: Tensor) -> Tensor:
            options = (src_key_padding_mask, False, src_mask, True, is_causal)
            out: Tensor = self.dropout1(self.self_attn(x, x, x, *options)[0])
            return out

        x = self._apply_residual(src, self.norm1, attend_self)
        return self._apply_residual(x, self.norm2, lambda y: self._feed_forward(y, self.dropout2))


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to a memory, two linear layers; residual connections and norms.

    Shapes as `TransformerEncoderLayer`; the memory is (S, N, d_model).

    >>> import ferrograd as fg
    >>> layer = fg.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
    >>> layer(fg.ones(5, 3, 8), fg.ones(4, 3, 8)).shape
    (5, 3, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Function = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.self_attn, self.multihead_attn = (
            MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype)
            for _ in range(2)
        )
        self._add_feed_forward(d_model, dim_feedforward, dropout, activation, bias, dtype)
        check_flags(type(self).__name__, norm_first=norm_first)
        self.norm_first = norm_first
        self.norm1, self.norm2, self.norm3 = (
            LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype) for _ in range(3)
        )
        self.dropout1, self.dropout2, self.dropout3 = (Dropout(dropout) for _ in range(3))

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The layer; masks as `MultiheadAttention` takes them."""

        def attend_self(x: Tensor) -> Tensor:
            options = (tgt_key_padding_mask, False, tgt_mask, True, tgt_is_causal)
            out: Tensor = self.dropout1(self.self_attn(x, x, x, *options)[0])
            return out

        def attend_memory(x: Tensor) -> Tensor:
            options = (memory_key_padding_mask, False, memory_mask, True, memory_is_causal)
            out: Tensor = self.dropout2(self.multihead_attn(x, memory, memory, *options)[0])
            return out

        x = self._apply_residual(tgt, self.norm1, attend_self)
        x = self._apply_residual(x, self.norm2, attend_memory)
        return self._apply_residual(x, self.norm3, lambda y: self._feed_forward(y, self.dropout3))


class TransformerEncoder(Module):
    """Copies of an encoder layer in order, then an optional norm.

    >>> import ferrograd as fg
    >>> layer = fg.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)
    >>> fg.nn.TransformerEncoder(layer, 2)(fg.ones(5, 3, 8)).shape
    (5, 3, 8)
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.layers = _get_clones("TransformerEncoder", encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        src: Tensor,
        mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The last layer's result."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a decoder layer in order, then an optional norm.

    >>> import ferrograd as fg
    >>> layer = fg.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
    >>> fg.nn.TransformerDecoder(layer, 2)(fg.ones(5, 3, 8), fg.ones(4, 3, 8)).shape
    (5, 3, 8)
    """

    def __init__(
        self,
        decoder_layer: TransformerDecoderLayer,
        num_layers: int,
        norm: Module | None = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.layers = _get_clones("TransformerDecoder", decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt: Tensor, memory: Tensor, *masks: Any, **named: Any) -> Tensor:
        """The last layer's result; masks as a decoder layer takes them."""
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **named)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that attends to its results.

    Shapes: source (S, N, d_model) and target (T, N, d_model), N first with `batch_first`; the
    result has the shape of the target. Matrices are initialised by Xavier's rule.

    >>> import ferrograd as fg
    >>> net = fg.nn.Transformer(8, 2, 1, 1, dim_feedforward=16)
    >>> net(fg.ones(4, 3, 8), fg.ones(5, 3, 8)).shape
    (5, 3, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Function = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        order = (batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*sizes, *order, dtype=dtype), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*sizes, *order, dtype=dtype), num_decoder_layers, norm()
        )
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder's result."""
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        out: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            bool(tgt_is_causal),
            memory_is_causal,
        )
        return out

    @staticmethod
    def generate_square_subsequent_mask(sz: int, dtype: DTypeLike | None = None) -> Tensor:
        """The additive mask (sz, sz) that hides later positions: 0 and -inf."""
        hidden = np.triu(np.full((sz, sz), -np.inf), 1)
        return _core.asarray(hidden.astype(dtype or get_default_dtype()))
