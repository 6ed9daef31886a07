"""Distances of all pairs of rows.

Owns: `cdist`, and a Euclidean one for many pairs that keeps no differences. Never multiplies rows
out in place of their differences. Invariant: equal rows have the distance 0, and no derivative.
"""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core as core
from ferrograd._core import Function, Tensor, asarray
from ferrograd._pytorch.checks import real
from ferrograd.errors import ArgumentError, ShapeError

#: From so many differences on they are not laid out at once.
_MANY = 8192
#: PyTorch's words for how; there is one way here.
_MODES = (
    None,
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)
#: How many distances are computed together.
_BLOCK = 32768


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """Distances of all pairs of rows, `(Σ |x1_i - x2_j|^p)^(1/p)`.

    Shapes: (…, n, d) and (…, m, d) to (…, n, m).
    p may be 0 (how many differ) and infinite. The derivative at equal rows is 0. `compute_mode`
    changes nothing: differences are computed as they are. Errors: `ShapeError` for rows of
    different lengths and leading axes that do not broadcast, `ArgumentError` for p < 0.

    >>> import ferrograd as fg
    >>> fg.cdist(fg.zeros(1, 2), [[3.0, 4.0]]).tolist()
    [[5.0]]
    """
    x1, x2 = asarray(x1), asarray(x2)
    _check_rows(tuple(x1.shape), tuple(x2.shape))
    if compute_mode not in _MODES:
        raise ArgumentError(
            f"cdist: compute_mode is {compute_mode!r}; leave it out, or give one of {_MODES[1:]}"
        )
    if not real("cdist", "p", p) >= 0:
        raise ArgumentError(f"cdist: p is {p}; give at least 0")
    plain = p == 2 and x1.dtype == x2.dtype and x1.dtype.char in "fd"
    if plain and x1.size * x2.shape[-2] >= _MANY:
        many: Tensor = _Euclidean.apply(x1, x2)
        return many
    apart: Tensor = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    if apart.shape[-1] == 0 and math.isinf(p):
        return apart.sum(-1)
    return core.norm(apart, p, -1)


def _check_rows(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    fault = ""
    if len(first) < 2 or len(second) < 2:
        fault = "are no matrices"
    elif first[-1] != second[-1]:
        fault = "have rows of different lengths"
    elif any(a != b != 1 != a for a, b in zip(first[-3::-1], second[-3::-1], strict=False)):
        fault = "have leading axes that do not broadcast together"
    if fault:
        raise ShapeError(f"cdist: {first} and {second} {fault}; give (…, n, d) and (…, m, d)")


class _Euclidean(Function):
    """Distances that keep (n, m) numbers for the derivative, not (n, m, d).

    Derivatives: with `w = g / distance`, and 0 where that is 0, `(Σ_j w_ij) x1_i - Σ_j w_ij x2_j`
    of rows counted from the mean of `x2`, and the same for the other side.
    """

    @staticmethod
    def forward(ctx: Any, x1: Tensor, x2: Tensor) -> Tensor:
        columns = x2.mT.contiguous()
        per = max(1, _BLOCK // max(1, x2.size // x2.shape[-1]))
        starts = range(0, int(x1.shape[-2]), per)
        found = core.concatenate([_block(x1[..., k : k + per, :], columns) for k in starts], -2)
        ctx.save_for_backward(x1, x2, found)
        return found

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x1, x2, found = ctx.saved_tensors
        none = found == 0
        w = core.where(none, 0.0, g / core.where(none, 1.0, found))
        # A long way from the origin the two terms would cancel.
        middle = x2.detach().mean(-2, keepdims=True)
        a, b = x1 - middle, x2 - middle
        first = second = None
        if ctx.needs_input_grad[0]:
            first = (a * w.sum(-1).unsqueeze(-1) - w @ b).sum_to_size(x1.shape)
        if ctx.needs_input_grad[1]:
            second = (b * w.sum(-2).unsqueeze(-1) - w.mT @ a).sum_to_size(x2.shape)
        return first, second


def _block(rows: Tensor, columns: Tensor) -> Tensor:
    """The distances of some rows (…, k, d) from all columns (…, d, m)."""
    total = core.square(rows[..., :1] - columns[..., :1, :])
    for k in range(1, int(rows.shape[-1])):
        apart = rows[..., k : k + 1] - columns[..., k : k + 1, :]
        total.addcmul_(apart, apart)
    return total.sqrt_()
