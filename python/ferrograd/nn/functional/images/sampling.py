"""Sampling of images and volumes at positions between their elements.

Invariant: a position has a number from -1 to 1 for each axis, the last axis first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray
from ferrograd.errors import ShapeError


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The positions of the elements of images of size (N, C, H, W) after affine maps (N, 2, 3).

    For volumes, pass maps (N, 3, 4) and sizes (N, C, D, H, W). The result is (N, H, W, 2) or (N, D,
    H, W, 3), for `grid_sample`. With `align_corners`, -1 and 1 are the first and last elements,
    else the outer edges. Errors: `ShapeError` for others.

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
    lines = [_compute_grid_coordinates(int(n), bool(align_corners)) for n in reversed(size[2:])]
    places = np.meshgrid(*reversed(lines), indexing="ij")[::-1]
    base = np.stack([*places, np.ones_like(places[0])], -1).reshape(-1, axes + 1)
    grid = asarray(base).astype(maps.dtype) @ maps.swapaxes(1, 2)
    return grid.reshape((size[0], *size[2:], axes))


def _compute_grid_coordinates(count: int, corners: bool) -> np.ndarray:
    """The positions of the elements of an axis, between -1 and 1."""
    if corners:
        return np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(1)
    return (2 * np.arange(count) + 1) / count - 1
