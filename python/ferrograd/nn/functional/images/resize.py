"""Images made larger, smaller, or rearranged.

Invariant: interpolation works along one axis after the other, with positions computed once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn._operations import _adaptive_avg_pool2d, interpolate_axis
from ferrograd.nn.functional._arguments import Sizes, check_integer, check_ndim
from ferrograd.nn.functional.images.pooling import adaptive_avg_pool1d
from ferrograd.nn.functional.images.volume_pooling import adaptive_avg_pool3d

#: Number of axes that a mode interpolates over; None for any.
_MODE_AXES = {
    "nearest": None,
    "nearest-exact": None,
    "linear": 1,
    "bilinear": 2,
    "bicubic": 2,
    "trilinear": 3,
    "area": None,
}

Scales = float | Sequence[float] | None


def interpolate(
    x: Any,
    size: Sizes | None = None,
    scale_factor: Scales = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resizes the axes after (N, C): to `size`, or by `scale_factor`.

    `mode` is "nearest", "nearest-exact", "linear" (N, C, L), "bilinear" or "bicubic" (N, C, H, W),
    "trilinear" (N, C, D, H, W) or "area". With `align_corners` the first and last elements keep
    their positions, else the outer edges of the elements do. With `antialias` ("bilinear",
    "bicubic") an element of a smaller image is a weighted mean of all elements that it covers.
    Derivative: the transposed weights of `g`. Errors: `ArgumentError` for both or neither of size
    and factor, and for a mode that does not fit.

    >>> import ferrograd as fg
    >>> x = fg.tensor([[[0.0, 1.0]]])
    >>> fg.nn.functional.interpolate(x, 3, mode="linear", align_corners=True).tolist()
    [[[0.0, 0.5, 1.0]]]
    """
    x = check_ndim("interpolate", x, (3, 4, 5), "(N, C, …)")
    given = list(x.shape[2:])
    _check_mode(mode, len(given), align_corners, antialias)
    sizes, scales = _compute_sizes(given, size, scale_factor, bool(recompute_scale_factor))
    if mode == "area":
        return _interpolate_area(x, sizes)
    nearest, floats = mode.startswith("nearest"), x.dtype.kind == "f"
    for axis in _sort_axes(given, sizes):
        old, new, scale = given[axis - 2], sizes[axis - 2], scales[axis - 2]
        if nearest and floats:
            x = interpolate_axis(x, axis, new, scale, mode)
        elif nearest:
            x = _core.index_select(
                x, axis, _compute_nearest_indices(old, new, scale, mode == "nearest-exact")
            )
        elif old == new and (mode != "bicubic" or antialias):
            continue
        elif antialias:
            step = scale
            if align_corners:
                step = (old - 1) / (new - 1) if new > 1 else 0.0
            weights = _compute_antialias_weights(old, new, step, mode == "bicubic").astype(x.dtype)
            x = _core.moveaxis(_core.tensordot(x, weights, ([axis], [1])), -1, axis)
        elif old != new or not (align_corners or scale == 1.0):
            kind = "cubic" if mode == "bicubic" else "linear"
            x = interpolate_axis(x, axis, new, scale, kind, bool(align_corners))
    return x


upsample = interpolate


def _sort_axes(given: list[int], sizes: list[int]) -> list[int]:
    """The order of the axes: first those that become smaller, then those that become larger.

    Of the latter, the last axis comes first, because its elements are gathered one by one.
    """
    axes = range(len(given))
    first = [k + 2 for k in axes if sizes[k] <= given[k]]
    return first + [k + 2 for k in reversed(axes) if sizes[k] > given[k]]


def _check_mode(mode: str, axes: int, align_corners: bool | None, antialias: bool) -> None:
    if mode not in _MODE_AXES:
        raise ArgumentError(f"interpolate: mode={mode!r}; use one of {', '.join(_MODE_AXES)}")
    if _MODE_AXES[mode] not in (None, axes):
        raise ArgumentError(
            f"interpolate: mode={mode!r} with {axes} axes behind (N, C); it takes"
            f" {_MODE_AXES[mode]}"
        )
    if _MODE_AXES[mode] is None and align_corners is not None:
        raise ArgumentError(f"interpolate: align_corners with mode={mode!r}; leave it out")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError(
            f'interpolate: antialias=True with mode={mode!r}; use "bilinear" or "bicubic"'
        )


def _compute_sizes(
    given: list[int], size: Any, factor: Any, recompute: bool
) -> tuple[list[int], list[float]]:
    """The new sizes, and how many elements of the old axis one of the new spans."""
    if (size is None) == (factor is None):
        raise ArgumentError(
            f"interpolate: size={size!r} and scale_factor={factor!r}; give one of them"
        )
    wanted = factor if size is None else size
    each = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted] * len(given)
    if len(each) != len(given):
        raise ArgumentError(f"interpolate: {len(each)} sizes for {len(given)} axes; give one each")
    if size is not None:
        if min(each) < 1:
            raise ArgumentError(f"interpolate: size={size!r}; give at least 1 for each axis")
        return [int(n) for n in each], [old / n for old, n in zip(given, each, strict=True)]
    sizes = [math.floor(old * f) if f > 0 else 0 for old, f in zip(given, each, strict=True)]
    if min(sizes) < 1 <= min(given):
        raise ArgumentError(
            f"interpolate: scale_factor={factor!r} of axes of {given} elements; give a factor that"
            " leaves at least 1"
        )
    if recompute:
        return sizes, [old / n for old, n in zip(given, sizes, strict=True)]
    return sizes, [1.0 / f for f in each]


def _compute_nearest_indices(old: int, new: int, scale: float, exact: bool) -> np.ndarray:
    # PyTorch computes these positions in single precision, which decides some of them.
    places = np.arange(new, dtype=np.float32) + np.float32(0.5 if exact else 0.0)
    return np.minimum(np.floor(places * np.float32(scale)).astype(np.int64), old - 1)


def _compute_antialias_weights(old: int, new: int, scale: float, cubic: bool) -> np.ndarray:
    """Weights (new, old) of the elements around new positions, as wide as the new elements.

    Triangles, or cubic convolution with the factor -0.5, cut at the borders; rows sum to 1.
    """
    wide = max(scale, 1.0)
    reach = (2 if cubic else 1) * wide
    centres = (np.arange(new)[:, None] + 0.5) * scale
    places = np.arange(old)
    begin = np.maximum((centres - reach + 0.5).astype(np.int64), 0)
    end = np.minimum((centres + reach + 0.5).astype(np.int64), old)
    d = np.abs((places - centres + 0.5) / wide)
    if cubic:
        near, far = (1.5 * d - 2.5) * d * d + 1, -0.5 * (((d - 5) * d + 8) * d - 4)
        weights = np.where(d < 1, near, np.where(d < 2, far, 0.0))
    else:
        weights = np.maximum(1.0 - d, 0.0)
    weights = np.where((places >= begin) & (places < end), weights, 0.0)
    shares: np.ndarray = weights / weights.sum(1, keepdims=True)
    return shares


def _interpolate_area(x: Tensor, sizes: list[int]) -> Tensor:
    if len(sizes) == 1:
        return adaptive_avg_pool1d(x, sizes)
    return _adaptive_avg_pool2d(x, sizes) if len(sizes) == 2 else adaptive_avg_pool3d(x, sizes)


def pixel_shuffle(x: Any, upscale_factor: int) -> Tensor:
    """(…, C r², H, W) rearranged to (…, C, H r, W r). Source: Shi et al., arXiv:1609.05158.

    >>> import ferrograd as fg
    >>> fg.nn.functional.pixel_shuffle(fg.arange(4.0).reshape(4, 1, 1), 2).tolist()
    [[[0.0, 1.0], [2.0, 3.0]]]
    """
    x, r = asarray(x), check_integer("pixel_shuffle", "upscale_factor", upscale_factor)
    if x.ndim < 3 or r < 1 or x.shape[-3] % (r * r):
        raise ShapeError(
            f"pixel_shuffle: an input of shape {tuple(x.shape)} and a factor of {r}; give"
            f" (…, a multiple of {r * r}, H, W)"
        )
    *front, c, h, w = (int(n) for n in x.shape)
    n = len(front)
    parts = x.reshape((*front, c // (r * r), r, r, h, w))
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return parts.permute(order).reshape((*front, c // (r * r), h * r, w * r))


def pixel_unshuffle(x: Any, downscale_factor: int) -> Tensor:
    """(…, C, H r, W r) rearranged to (…, C r², H, W): the inverse of `pixel_shuffle`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.pixel_unshuffle(fg.arange(4.0).reshape(1, 2, 2), 2).reshape(-1).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    x, r = asarray(x), check_integer("pixel_unshuffle", "downscale_factor", downscale_factor)
    if x.ndim < 3 or r < 1 or x.shape[-1] % r or x.shape[-2] % r:
        raise ShapeError(
            f"pixel_unshuffle: an input of shape {tuple(x.shape)} and a factor of {r}; give"
            f" (…, C, H, W) with multiples of {r}"
        )
    *front, c, h, w = (int(n) for n in x.shape)
    n = len(front)
    parts = x.reshape((*front, c, h // r, r, w // r, r))
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return parts.permute(order).reshape((*front, c * r * r, h // r, w // r))


def channel_shuffle(x: Any, groups: int) -> Tensor:
    """The channels (axis 1) of `groups` groups interleaved. Source: arXiv:1707.01083.

    >>> import ferrograd as fg
    >>> fg.nn.functional.channel_shuffle(fg.arange(4.0).reshape(1, 4), 2).tolist()
    [[0.0, 2.0, 1.0, 3.0]]
    """
    x, groups = asarray(x), check_integer("channel_shuffle", "groups", groups)
    if x.ndim < 2 or x.shape[1] % groups:
        raise ShapeError(
            f"channel_shuffle: an input of shape {tuple(x.shape)} and {groups} groups; give"
            f" (N, a multiple of {groups}, …)"
        )
    parts = x.reshape((x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    return parts.swapaxes(1, 2).reshape(x.shape)
