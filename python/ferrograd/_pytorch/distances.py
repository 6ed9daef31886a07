"""Distances of all pairs of rows.

Invariant: equal rows have the distance 0, and no derivative.
"""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core as core
from ferrograd._core import Tensor, asarray
from ferrograd._pytorch.validate import check_real
from ferrograd.errors import ArgumentError, ShapeError

_euclidean = core._namespaces["nn.functional"]["euclidean_distances"]
#: PyTorch's names of methods; there is only one method here.
_MODES = (
    None,
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """Distances of all pairs of rows, `(Σ |x1_i - x2_j|^p)^(1/p)`.

    Shapes: (…, n, d) and (…, m, d) to (…, n, m). p may be 0 (the number of differing elements) or
    infinite. The derivative at equal rows is 0. `compute_mode` has no effect: differences are
    always computed directly. Errors: `ShapeError` for rows of different lengths and leading axes
    that do not broadcast, `ArgumentError` for p < 0.

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
    if not check_real("cdist", "p", p) >= 0:
        raise ArgumentError(f"cdist: p is {p}; give at least 0")
    if p == 2 and x1.dtype.char in "efd" and x2.dtype.char in "efd":
        found: Tensor = _euclidean(x1, x2)
        return found
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
