"""Dropout: the operation of the core with a random mask.

The core draws no random numbers; the package's generator draws the mask. Invariant: the same seed
gives the same mask, and evaluation does not change the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray, where
from ferrograd._tensor.generator import Generator, draw_tensor
from ferrograd.errors import ShapeError
from ferrograd.nn._operations import dropout_mask
from ferrograd.nn.functional._arguments import check_not_inplace, check_probability

Source = Generator | np.random.Generator | None

#: The value that a dropped unit of SELU networks takes, `-scale alpha` of `selu`.
_ALPHA_PRIME = -1.7580993408473766


def dropout(
    x: Any,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Source = None,
) -> Tensor:
    """Zero with probability `p`, else `x / (1 - p)`; `x` itself when not training.

    Shapes: any, kept. dx = `g / (1 - p)` where `x` was kept, 0 elsewhere.
    Errors: `ArgumentError` for a probability outside 0..1.

    >>> import ferrograd as fg
    >>> g = fg.Generator(0)
    >>> sorted(set(fg.nn.functional.dropout(fg.ones(100), 0.5, generator=g).tolist()))
    [0.0, 2.0]
    """
    check_not_inplace("dropout", inplace, "x = F.dropout(x)")
    check_probability("dropout", p)
    given: Tensor = asarray(x)
    if not training or p == 0.0:
        return given
    return dropout_mask(given, _draw_mask(given.shape, p, generator), p)


def _draw_mask(shape: Sequence[int], p: float, generator: Source) -> Tensor:
    """Truth with probability `1 - p`."""
    return draw_tensor(generator, lambda rng: rng.random(shape) >= p)


def _channel_mask_shape(op: str, x: Tensor, spatial: int) -> tuple[int, ...]:
    """The shape of a mask with one element for each channel of each row."""
    if spatial == 2 and x.ndim in (2, 3):
        # As in PyTorch: rows of channels without the second axis, or without the first.
        return (*x.shape[:2], *(1,) * (x.ndim - 2))
    if x.ndim not in (spatial + 1, spatial + 2):
        raise ShapeError(
            f"{op}: an input of shape {tuple(x.shape)}; it needs {spatial + 1} or {spatial + 2}"
            " axes, (N, C, …) or (C, …)"
        )
    return (*x.shape[:-spatial], *(1,) * spatial)


def _channel_dropout(
    op: str, x: Any, p: float, training: bool, spatial: int, generator: Source
) -> Tensor:
    check_probability(op, p)
    given: Tensor = asarray(x)
    shape = _channel_mask_shape(op, given, spatial)
    if not training or p == 0.0:
        return given
    return dropout_mask(given, _draw_mask(shape, p, generator), p)


def dropout1d(
    x: Any,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Source = None,
) -> Tensor:
    """`dropout` of whole channels of (N, C, L) or (C, L).

    >>> import ferrograd as fg
    >>> out = fg.nn.functional.dropout1d(fg.ones(2, 3, 4))
    >>> fg.array_equal(out, out[..., :1].expand(2, 3, 4))
    True
    """
    check_not_inplace("dropout1d", inplace, "x = F.dropout1d(x)")
    return _channel_dropout("dropout1d", x, p, training, 1, generator)


def dropout2d(
    x: Any,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Source = None,
) -> Tensor:
    """`dropout` of whole channels of (N, C, H, W), (N, C, L) or (N, C).

    >>> import ferrograd as fg
    >>> fg.nn.functional.dropout2d(fg.ones(1, 2, 2, 2), training=False).shape
    (1, 2, 2, 2)
    """
    check_not_inplace("dropout2d", inplace, "x = F.dropout2d(x)")
    return _channel_dropout("dropout2d", x, p, training, 2, generator)


def dropout3d(
    x: Any,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    generator: Source = None,
) -> Tensor:
    """`dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W).

    >>> import ferrograd as fg
    >>> fg.nn.functional.dropout3d(fg.ones(1, 2, 2, 2, 2), training=False).shape
    (1, 2, 2, 2, 2)
    """
    check_not_inplace("dropout3d", inplace, "x = F.dropout3d(x)")
    return _channel_dropout("dropout3d", x, p, training, 3, generator)


def _apply_alpha_dropout(x: Tensor, kept: Tensor, p: float) -> Tensor:
    """Dropped units saturate; scale and shift keep mean 0 and variance 1."""
    q = 1.0 - p
    scale = (q * (1.0 + p * _ALPHA_PRIME**2)) ** -0.5 if q else 0.0
    return where(kept, x, _ALPHA_PRIME) * scale - scale * p * _ALPHA_PRIME


def alpha_dropout(
    x: Any,
    p: float = 0.5,
    training: bool = False,
    inplace: bool = False,
    *,
    generator: Source = None,
) -> Tensor:
    """Dropout for SELU networks: keeps mean 0 and variance 1.

    Source: Klambauer et al., arXiv:1706.02515.

    >>> import ferrograd as fg
    >>> fg.nn.functional.alpha_dropout(fg.ones(2)).tolist()
    [1.0, 1.0]
    """
    check_not_inplace("alpha_dropout", inplace, "x = F.alpha_dropout(x)")
    check_probability("alpha_dropout", p)
    given: Tensor = asarray(x)
    if not training or p == 0.0:
        return given
    return _apply_alpha_dropout(given, _draw_mask(given.shape, p, generator), p)


def feature_alpha_dropout(
    x: Any,
    p: float = 0.5,
    training: bool = False,
    inplace: bool = False,
    *,
    generator: Source = None,
) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, …).

    >>> import ferrograd as fg
    >>> fg.nn.functional.feature_alpha_dropout(fg.ones(1, 2, 2)).shape
    (1, 2, 2)
    """
    check_not_inplace("feature_alpha_dropout", inplace, "x = F.feature_alpha_dropout(x)")
    check_probability("feature_alpha_dropout", p)
    given: Tensor = asarray(x)
    if given.ndim < 2:
        raise ShapeError(
            f"feature_alpha_dropout: an input of shape {tuple(given.shape)}; it needs (N, C, …)"
        )
    if not training or p == 0.0:
        return given
    shape = (*given.shape[:2], *(1,) * (given.ndim - 2))
    return _apply_alpha_dropout(given, _draw_mask(shape, p, generator), p)
