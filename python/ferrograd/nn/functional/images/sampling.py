"""Images and volumes read at places between their elements.

Owns: `affine_grid` and `grid_sample`. Never loops over places: all corners of all cells are one
choice of elements. Invariant: a place is a number from -1 to 1 along each axis, the last axis
first.
"""

from __future__ import annotations

import math
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
    flat = grid.reshape((grid.shape[0], math.prod(grid.shape[1:-1]), axes))
    places = [
        _place(flat[..., axes - 1 - axis], n, padding_mode, bool(align_corners))
        for axis, n in enumerate(sizes)
    ]
    corners = _nearest if mode == "nearest" else _corners
    lines = [corners(p, n) for p, n in zip(places, sizes, strict=True)]
    found = _blended(x.reshape((*x.shape[:2], math.prod(sizes))), lines, sizes)
    return found.reshape((*x.shape[:2], *grid.shape[1:-1]))


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


#: The elements around each place along an axis, (N, k, P): their numbers, whether they exist, and
#: their weights, which are one where there is none.
_Line = tuple[Tensor, Tensor, Tensor | None]


def _nearest(p: Tensor, n: int) -> _Line:
    at = _core.round(p.detach()).unsqueeze(1)
    return at, (at >= 0) & (at <= n - 1), None


def _corners(p: Tensor, n: int) -> _Line:
    low = _core.floor(p.detach())
    above = p - low
    at = _core.stack((low, low + 1.0), 1)
    return at, (at >= 0) & (at <= n - 1), _core.stack((1.0 - above, above), 1)


def _blended(flat: Tensor, lines: list[_Line], sizes: list[int]) -> Tensor:
    """The weighted sums of the elements (N, C, P) around places, zeros outside."""
    rows, channels, count = (int(n) for n in flat.shape)
    number: Any = 0
    inside: Any = True
    weight: Any = None
    for (at, exists, share), n in zip(lines, sizes, strict=True):
        at = _core.clip(at, 0, n - 1).astype(np.int64)
        number = at if isinstance(number, int) else _crossed(_core.add, number * n, at)
        inside = exists if inside is True else _crossed(_core.logical_and, inside, exists)
        weight = share if weight is None else _crossed(_core.multiply, weight, share)
    # A row of zeros behind the elements of each image stands for what is outside.
    table = _core.pad(flat.swapaxes(1, 2), ((0, 0), (0, 1), (0, 0)))
    number = _core.where(inside, number, count) + (np.arange(rows) * (count + 1))[:, None, None]
    found = _core.take(table.reshape((rows * (count + 1), channels)), number, 0)
    if weight is not None:
        found = found * weight.unsqueeze(-1)
    return found.sum(1).swapaxes(1, 2)


def _crossed(operation: Any, a: Any, b: Any) -> Tensor:
    """An operation of all pairs of corners (N, j, P) and (N, k, P): (N, j k, P)."""
    pairs: Tensor = operation(a.unsqueeze(2), b.unsqueeze(1))
    return pairs.reshape((pairs.shape[0], a.shape[1] * b.shape[1], pairs.shape[-1]))
