"""Dropout: the operation of the core with a mask drawn for it.

Owns: `dropout`. The core never draws; the package's generator does.
Invariant: the same seed gives the same mask, and evaluation leaves the input as it is.
"""

from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray, tensor
from ferrograd._random import Generator, source
from ferrograd.errors import ArgumentError
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
    dropped: Tensor = dropout_mask(given, tensor(source(generator).random(given.shape) >= p), p)
    return dropped
