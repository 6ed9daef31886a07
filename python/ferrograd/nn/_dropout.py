"""Dropout: the operation of the core with a mask drawn for it, also within attention.

Owns: `dropout`, and `scaled_dot_product_attention` with dropped weights. The core
never draws; the package's generator does.
Invariant: the same seed gives the same mask, and evaluation leaves the input as it is.
"""

from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray
from ferrograd._tensor.generator import Generator, drawn
from ferrograd.errors import ArgumentError
from ferrograd.nn import _operations
from ferrograd.nn._operations import dropout_mask


def dropout(
    x: Any,
    p: float = 0.5,
    training: bool = True,
    *,
    generator: Generator | np.random.Generator | None = None,
) -> Tensor:
    """Zero with probability `p`, else `x / (1 - p)`; `x` itself when not training.

    Shapes: any, kept. dx = `g / (1 - p)` where `x` was kept, 0 elsewhere.
    Errors: `ArgumentError` for a probability outside 0..1.

    >>> import ferrograd as fg
    >>> g = fg.Generator(0)
    >>> sorted(set(fg.nn.functional.dropout(fg.ones(100), 0.5, generator=g).tolist()))
    [0.0, 2.0]
    """
    if not 0.0 <= p <= 1.0:
        raise ArgumentError(f"dropout: p={p}; give a probability from 0 to 1")
    given: Tensor = asarray(x)
    if not training or p == 0.0:
        return given
    shape = given.shape
    dropped: Tensor = dropout_mask(given, drawn(generator, lambda rng: rng.random(shape) >= p), p)
    return dropped


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    generator: Generator | np.random.Generator | None = None,
) -> Tensor:
    """`softmax(q kᵀ scale + mask) v`, with a share `dropout_p` of the weights dropped.

    Shapes: query (…, L, E), key (…, S, E), value (…, S, V); result (…, L, V). A boolean mask says
    which keys are seen, a float one is added; is_causal shows the keys up to the query's position.
    `scale` is 1/sqrt(E) unless given. The derivatives are those of the parts.
    Errors: `ShapeError` for shapes that do not fit, `DTypeError` for a mask of integers,
    `ArgumentError` for a probability outside 0..1.

    >>> import ferrograd as fg
    >>> q, k, v = fg.ones(2, 4), fg.ones(3, 4), fg.ones(3, 5)
    >>> fg.nn.functional.scaled_dot_product_attention(q, k, v).shape
    (2, 5)
    """
    options: dict[str, Any] = {"attn_mask": attn_mask, "is_causal": is_causal, "scale": scale}
    if dropout_p == 0.0:
        found: Tensor = _operations.scaled_dot_product_attention(query, key, value, **options)
        return found
    value = asarray(value)
    # Attention to the unit vectors gives the weights themselves.
    units = np.eye(value.shape[-2], dtype=value.dtype)
    weights = _operations.scaled_dot_product_attention(query, key, units, **options)
    kept: Tensor = dropout(weights, dropout_p, generator=generator) @ value
    return kept
