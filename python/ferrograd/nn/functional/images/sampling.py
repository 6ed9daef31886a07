"""Images and volumes read at places between their elements.

Owns: `affine_grid` and `grid_sample`. Never loops over places: each corner of a cell is one choice
of elements. Invariant: a place is a number from -1 to 1 along each axis, the last axis first.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn.functional._shared import ranked


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places to which affine maps (N, 2, 3) take the elements of images of size (N, C, H, W).

    Maps (N, 3, 4) and sizes (N, C, D, H, W) are volumes'. The result is (N, H, W, 2) or
    (N, D, H, W, 3), as `grid_sample` takes it. With `align_corners`, -1 and 1 are the first and
    last elements, else the outer edges. Errors: `ShapeError` for others.

    >>> import ferrograd as fg
    >>> theta = fg.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> fg.nn.functional.affine_grid(theta, (1, 1, 1, 2))[0, 0].tolist()
    [[-0.5, 0.0], [0.5, 0.0]]
    """
    maps, axes = asarray(theta), len(size) - 2
    if axes not in (2, 3) or tuple(maps.shape) != (size[0], axes, axes + 1):
        raise ShapeError(
            f"affine_grid: maps of shape {tuple(maps.shape)} and a size of {tuple(size)}; give"
            " (N, 2, 3) and (N, C, H, W), or (N, 3, 4) and (N, C, D, H, W)"
        )
    lines = [_elements(int(n), bool(align_corners)) for n in reversed(size[2:])]
    places = np.meshgrid(*reversed(lines), indexing="ij")[::-1]
    base = np.stack([*places, np.ones_like(places[0])], -1).reshape(-1, axes + 1)
    grid = asarray(base).astype(maps.dtype) @ maps.swapaxes(1, 2)
    return grid.reshape((size[0], *size[2:], axes))


def _elements(count: int, corners: bool) -> np.ndarray:
    """Where the elements of an axis lie between -1 and 1."""
    if corners:
        return np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(1)
    return (2 * np.arange(count) + 1) / count - 1


def grid_sample(
    x: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Images (N, C, H, W) at the places of a grid (N, h, w, 2): (N, C, h, w).

    Also volumes (N, C, D, H, W) with a grid (N, d, h, w, 3). `mode` is "bilinear" or "nearest".
    Outside, `padding_mode` "zeros" has zeros, "border" the nearest element, "reflection" the
    mirrored image. Derivatives: by the image, the weights of `g`; by the grid, the slopes between
    elements. Errors: `ArgumentError` for other modes, `ShapeError` for shapes that do not fit.

    >>> import ferrograd as fg
    >>> x = fg.tensor([[[[0.0, 1.0, 2.0]]]])
    >>> places = fg.tensor([[[[0.5, 0.0]]]])
    >>> fg.nn.functional.grid_sample(x, places, align_corners=True).item()
    1.5
    """
    x = ranked("grid_sample", x, (4, 5), "(N, C, H, W) or (N, C, D, H, W)")
    grid, axes = asarray(grid), x.ndim - 2
    if grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or grid.shape[-1] != axes:
        raise ShapeError(
            f"grid_sample: an input of shape {tuple(x.shape)} and a grid of shape"
            f" {tuple(grid.shape)}; give (N, C, H, W) and (N, h, w, 2), or (N, C, D, H, W) and"
            " (N, d, h, w, 3)"
        )
    if mode not in ("bilinear", "nearest") or padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentError(
            f"grid_sample: mode={mode!r} and padding_mode={padding_mode!r}; use the mode"
            ' "bilinear" or "nearest", and pad with "zeros", "border" or "reflection"'
        )
    sizes = [int(n) for n in x.shape[2:]]
    places = [
        _place(grid[..., axes - 1 - axis], n, padding_mode, bool(align_corners))
        for axis, n in enumerate(sizes)
    ]
    flat = x.reshape((*x.shape[:2], -1))
    if mode == "nearest":
        return _chosen(flat, [_core.round(p.detach()) for p in places], sizes)
    below = [_core.floor(p.detach()) for p in places]
    total: Any = 0.0
    for corner in itertools.product((0, 1), repeat=axes):
        weight: Any = 1.0
        for p, low, up in zip(places, below, corner, strict=True):
            weight = weight * ((p - low) if up else (low + 1.0 - p))
        at = [low + float(up) for low, up in zip(below, corner, strict=True)]
        total = total + _chosen(flat, at, sizes) * weight.unsqueeze(1)
    found: Tensor = total
    return found


def _place(p: Tensor, n: int, padding: str, corners: bool) -> Tensor:
    """A place between -1 and 1 as a number of an element."""
    at = (p + 1.0) * ((n - 1) / 2) if corners else ((p + 1.0) * n - 1.0) / 2
    if padding == "reflection":
        low, span = (0.0, float(n - 1)) if corners else (-0.5, float(n))
        if span == 0:
            return at * 0.0
        away = _core.remainder(at - low, 2 * span)
        at = _core.where(away > span, 2 * span - away, away) + low
    return at if padding == "zeros" else _core.clip(at, 0.0, float(n - 1))


def _chosen(flat: Tensor, at: list[Tensor], sizes: list[int]) -> Tensor:
    """The elements (N, C, …) at whole numbers (N, …) of each axis, zeros outside."""
    inside: Any = True
    number: Any = 0
    for place, n in zip(at, sizes, strict=True):
        inside = (place >= 0) & (place <= n - 1) & inside
        number = number * n + _core.clip(place, 0, n - 1).astype(np.int64)
    shape = tuple(at[0].shape)
    rows = number.reshape((shape[0], 1, -1))
    rows = _core.broadcast_to(rows, (shape[0], flat.shape[1], rows.shape[-1]))
    found = _core.take_along_axis(flat, rows, -1).reshape((*flat.shape[:2], *shape[1:]))
    return _core.where(inside.unsqueeze(1), found, 0.0)
