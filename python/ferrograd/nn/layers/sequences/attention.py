"""`MultiheadAttention`.

Invariant: the projections of query, key and value are PyTorch's [3 E, E], or three apart where
sizes differ; that of the output is a `Linear`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._tensor import creation
from ferrograd._tensor.generator import Generator
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn import functional as F, init  # noqa: N812
from ferrograd.nn._module import Module
from ferrograd.nn._parameter import Parameter
from ferrograd.nn.functional._arguments import check_flags, check_integer, convert_argument
from ferrograd.nn.functional.attention import (
    check_is_causal,
    join_heads,
    merge_masks,
    multi_head_attention,
    split_heads,
)
from ferrograd.nn.layers.linear import Linear

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class MultiheadAttention(Module):
    """`softmax(q kᵀ / √(E/heads)) v` in each head of projected queries, keys and values.

    Shapes: query (L, N, E), key (S, N, kdim), value (S, N, vdim); with `batch_first` N comes first;
    without N, one sequence. The result is (L, N, E) and the weights (N, L, S), averaged over heads,
    or (N, heads, L, S), or None with `need_weights=False`, which is faster. `key_padding_mask` (N,
    S) and `attn_mask` (L, S) or (N heads, L, S): True hides a key, floats are added. Source:
    Vaswani et al., arXiv:1706.03762.
    Errors: `ArgumentError` for an embedding that the heads do not divide, `ShapeError` for shapes.

    >>> import ferrograd as fg
    >>> layer = fg.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> out, weights = layer(fg.ones(3, 5, 8), fg.ones(3, 4, 8), fg.ones(3, 4, 8))
    >>> out.shape, weights.shape
    ((3, 5, 8), (3, 5, 4))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        *,
        dtype: DTypeLike | None = None,
        generator: Generator | np.random.Generator | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        embed_dim = check_integer("MultiheadAttention", "embed_dim", embed_dim)
        num_heads = check_integer("MultiheadAttention", "num_heads", num_heads)
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise ArgumentError(
                f"MultiheadAttention: embed_dim is {embed_dim} and num_heads {num_heads}; give a"
                " multiple of the heads"
            )
        order = {"batch_first": batch_first, "add_bias_kv": add_bias_kv}
        check_flags("MultiheadAttention", bias=bias, add_zero_attn=add_zero_attn, **order)
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.batch_first, self.add_zero_attn = batch_first, add_zero_attn
        self.head_dim = embed_dim // num_heads
        self._init_projections(embed_dim, dtype, generator)
        self.in_proj_bias = init.fresh((3 * embed_dim,), 0.0, dtype, generator) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype=dtype, generator=generator)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            size = (1, 1, embed_dim)
            std = math.sqrt(2.0 / (2 * embed_dim))
            self.bias_k, self.bias_v = (
                init.normal_(init.fresh(size, 0.0, dtype, generator), 0.0, std, generator)
                for _ in range(2)
            )

    def _init_projections(self, size: int, dtype: Any, generator: Any) -> None:
        """The input projections: one weight if all sizes are equal, else three."""

        def make_parameter(rows: int, columns: int) -> Parameter:
            bound = math.sqrt(6.0 / (rows + columns))
            return init.fresh((rows, columns), bound, dtype, generator)

        self.in_proj_weight = None
        if self.kdim == self.vdim == size:
            self.in_proj_weight = make_parameter(3 * size, size)
        else:
            self.q_proj_weight = make_parameter(size, size)
            self.k_proj_weight = make_parameter(size, self.kdim)
            self.v_proj_weight = make_parameter(size, self.vdim)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The attention, and its weights if they are needed."""
        check_is_causal("MultiheadAttention", attn_mask, is_causal)
        same = query is key, key is value
        query = convert_argument("MultiheadAttention", query, "query")
        key = query if same[0] else convert_argument("MultiheadAttention", key, "key")
        value = key if same[1] else convert_argument("MultiheadAttention", value, "value")
        self._check_shapes(query, key, value)
        batched = query.ndim == 3
        q, k, v = self._project_inputs(query, key, value, batched)
        k, v, more = self._append_extra_keys(k, v)
        rows = int(q.shape[0])
        mask = merge_masks(
            _pad_mask(attn_mask, more),
            _pad_mask(key_padding_mask, more),
            rows,
            self.num_heads,
            q.dtype,
        )
        dropped = self.dropout if self.training else 0.0
        heads = [split_heads(x, self.num_heads) for x in (q, k, v)]
        out, weights = multi_head_attention(
            heads[0], heads[1], heads[2], mask, False, dropped, need_weights
        )
        result: Tensor = self.out_proj(join_heads(out))
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        if not batched:
            return result[0], None if weights is None else weights[0]
        return result if self.batch_first else result.swapaxes(0, 1), weights

    def _check_shapes(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        sizes = (self.embed_dim, self.kdim, self.vdim)
        three = (query, key, value)
        ranks = {x.ndim for x in three}
        fits = all(x.shape[-1] == n for x, n in zip(three, sizes, strict=True))
        if ranks not in ({2}, {3}) or not fits or tuple(key.shape[:-1]) != tuple(value.shape[:-1]):
            raise ShapeError(
                f"MultiheadAttention: query, key and value of shapes {tuple(query.shape)},"
                f" {tuple(key.shape)} and {tuple(value.shape)}; give the last axes {sizes}, and as"
                " many values as keys"
            )

    def _project_inputs(
        self, query: Tensor, key: Tensor, value: Tensor, batched: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Projected queries, keys and values (N, L, E); one product if they are one tensor."""
        same, both = query is key and key is value, key is value
        three = []
        for x in (query, key, value):
            if not batched:
                x = x.unsqueeze(0)
            elif not self.batch_first:
                x = x.swapaxes(0, 1)
            three.append(x)
        size, bias = self.embed_dim, self.in_proj_bias
        weight = self.in_proj_weight
        weights: list[Any]
        if weight is not None and same:
            q, k, v = _core.split(F.linear(three[0], weight.T, bias), 3, -1)
            return q, k, v
        biases = [None] * 3 if bias is None else _core.split(bias, 3)
        if weight is None:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        elif both:
            q = F.linear(three[0], weight[:size].T, biases[0])
            rest = None if bias is None else bias[size:]
            k, v = _core.split(F.linear(three[1], weight[size:].T, rest), 2, -1)
            return q, k, v
        else:
            weights = _core.split(weight, 3)
        q, k, v = (F.linear(x, w.T, b) for x, w, b in zip(three, weights, biases, strict=True))
        return q, k, v

    def _append_extra_keys(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, int]:
        """Keys and values with those that the options add, and their number."""
        more = 0
        shape = (int(k.shape[0]), 1, self.embed_dim)
        if self.bias_k is not None and self.bias_v is not None:
            k = _core.concatenate((k, self.bias_k.expand(shape)), 1)
            v = _core.concatenate((v, self.bias_v.expand(shape)), 1)
            more += 1
        if self.add_zero_attn:
            zero = creation.zeros(shape, dtype=k.dtype)
            k, v = _core.concatenate((k, zero), 1), _core.concatenate((v, zero), 1)
            more += 1
        return k, v, more

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.embed_dim}, num_heads={self.num_heads}, batch_first={self.batch_first}"


def _pad_mask(mask: Any, more: int) -> Any:
    """A mask that shows the added keys."""
    if mask is None or not more:
        return mask
    return F.pad(mask, (0, more), value=0.0)
