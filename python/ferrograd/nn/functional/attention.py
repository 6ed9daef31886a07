"""Attention: the operation of the core, with dropout of the weights and several heads.

Invariant: attention is one operation, unless there is dropout or the weights are returned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray
from ferrograd._tensor import creation
from ferrograd._tensor.generator import Generator
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn import _operations
from ferrograd.nn.functional.dropout import dropout

Source = Generator | np.random.Generator | None


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    generator: Source = None,
) -> Tensor:
    """`softmax(q kᵀ scale + mask) v`, with dropout of the weights with probability `dropout_p`.

    Shapes: query (…, L, E), key (…, S, E), value (…, S, V); result (…, L, V). A boolean mask
    selects keys, a float mask is added; `is_causal` selects the keys up to the query's position.
    `scale` defaults to 1/sqrt(E). With `enable_gqa`, keys and values may have fewer heads (axis
    -3): each is used by several neighbouring heads of the query. The derivatives are those of the
    parts.
    Errors: `ShapeError` for shapes that do not fit, `DTypeError` for a mask of integers,
    `ArgumentError` for a probability outside 0..1 and for heads that do not divide the query's.

    >>> import ferrograd as fg
    >>> q, k, v = fg.ones(2, 4), fg.ones(3, 4), fg.ones(3, 5)
    >>> fg.nn.functional.scaled_dot_product_attention(q, k, v).shape
    (2, 5)
    """
    if enable_gqa:
        key, value = (_repeat_heads(query, x) for x in (key, value))
    options: dict[str, Any] = {"attn_mask": attn_mask, "is_causal": is_causal, "scale": scale}
    if dropout_p == 0.0:
        found: Tensor = _operations._scaled_dot_product_attention(query, key, value, **options)
        return found
    value = asarray(value)
    weights = _compute_weights(query, key, value, options)
    kept: Tensor = dropout(weights, dropout_p, generator=generator) @ value
    return kept


def _repeat_heads(query: Any, x: Any) -> Tensor:
    """Keys or values with each head repeated for the heads of the query that it serves."""
    x, heads = asarray(x), int(asarray(query).shape[-3])
    own = int(x.shape[-3])
    if own < 1 or heads % own:
        raise ArgumentError(
            f"scaled_dot_product_attention: {own} heads of keys or values for {heads} of queries;"
            " give a number that divides it"
        )
    return x if own == heads else _core.repeat(x, heads // own, axis=-3)


def _compute_weights(query: Any, key: Any, value: Tensor, options: dict[str, Any]) -> Tensor:
    """The weights of attention: its result for unit vectors as values."""
    units = np.eye(value.shape[-2], dtype=value.dtype)
    return _operations._scaled_dot_product_attention(query, key, units, **options)


def merge_masks(
    attn_mask: Any, key_padding_mask: Any, rows: int, heads: int, dtype: Any
) -> Tensor | None:
    """One mask for (N, heads, L, S) of PyTorch's two, in which truth hides a key.

    Two boolean masks give a boolean one, in which truth shows a key, as attention takes it.
    """
    masks = []
    if attn_mask is not None:
        attn_mask = asarray(attn_mask)
        if attn_mask.ndim == 3:
            attn_mask = attn_mask.reshape((rows, heads, *attn_mask.shape[1:]))
        masks.append(attn_mask)
    if key_padding_mask is not None:
        key_padding_mask = asarray(key_padding_mask)
        masks.append(key_padding_mask.reshape((rows, 1, 1, key_padding_mask.shape[-1])))
    if not masks:
        return None
    if all(mask.dtype.kind == "b" for mask in masks):
        hidden = masks[0] if len(masks) == 1 else masks[0] | masks[1]
        return ~hidden
    zero = creation.zeros((), dtype=dtype)
    added = [_core.where(mask, -np.inf, zero) if mask.dtype.kind == "b" else mask for mask in masks]
    return added[0] if len(added) == 1 else added[0] + added[1]


def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    dropout_p: float,
    need_weights: bool,
    generator: Source = None,
) -> tuple[Tensor, Tensor | None]:
    """Attention of (N, heads, L, E), and its weights (N, heads, L, S) if they are needed."""
    options: dict[str, Any] = {"attn_mask": mask, "is_causal": is_causal, "scale": None}
    if not need_weights:
        out = scaled_dot_product_attention(
            query, key, value, mask, dropout_p, is_causal, generator=generator
        )
        return out, None
    weights = _compute_weights(query, key, value, options)
    weights = dropout(weights, dropout_p, generator=generator)
    return weights @ value, weights


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(N, L, E) as (N, heads, L, E / heads)."""
    n, length, size = (int(k) for k in x.shape)
    if size % heads:
        raise ShapeError(
            f"attention: {size} features and {heads} heads; give a multiple of {heads}"
        )
    return x.reshape((n, length, heads, size // heads)).permute((0, 2, 1, 3))


def join_heads(x: Tensor) -> Tensor:
    """(N, heads, L, E) as (N, L, heads E)."""
    n, heads, length, size = (int(k) for k in x.shape)
    return x.permute((0, 2, 1, 3)).reshape((n, length, heads * size))


def check_is_causal(op: str, attn_mask: Any, is_causal: bool) -> None:
    """A hint of causality needs the mask it speaks of, as in PyTorch."""
    if is_causal and attn_mask is None:
        raise ArgumentError(
            f"{op}: is_causal=True without attn_mask; pass the causal mask, such as"
            " nn.Transformer.generate_square_subsequent_mask(L)"
        )
