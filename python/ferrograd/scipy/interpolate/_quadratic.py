"""Quadratic splines through samples, with knots halfway between these.

Source: C. de Boor, A Practical Guide to Splines, 2001, chapter XIII.
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as np
from ferrograd.scipy._conversions import detach
from ferrograd.scipy.interpolate._knots import take_elements
from ferrograd.scipy.linalg import solve_banded


class QuadraticSpline:
    """The spline through three samples or more, along the first axis of `y`."""

    def __init__(self, x: Any, y: Any) -> None:
        self._count = np.shape(x)[0]
        halves = (x[1:] + x[:-1]) / 2
        ends = [np.stack([end] * 3) for end in (x[0], x[-1])]
        self._knots = np.concatenate([ends[0], halves[1:-1], ends[1]])
        inner = np.arange(2, self._count)
        low, middle, high = self._evaluate_basis(x[1:-1], inner)
        none, one = np.zeros(1, x.dtype), np.ones(1, x.dtype)
        upper = np.concatenate([none, none, high])
        diagonal = np.concatenate([one, middle, one])
        lower = np.concatenate([low, none, none])
        table = np.reshape(y, (self._count, -1))
        solved = solve_banded((1, 1), np.stack([upper, diagonal, lower]), table)
        self._coefficients = np.reshape(solved, np.shape(y))

    def _evaluate_basis(self, x: Any, m: Any) -> tuple[Any, Any, Any]:
        """The three B-splines that live between the knots `m` and `m + 1`."""
        t = self._knots
        before, start, end, after = (take_elements(t, m + k) for k in (-1, 0, 1, 2))
        low = (end - x) ** 2 / ((end - start) * (end - before))
        high = (x - start) ** 2 / ((end - start) * (after - start))
        return low, 1.0 - low - high, high

    def __call__(self, x: Any) -> Any:
        """The values at points, whose axes come first; the last piece extends outside."""
        place = np.searchsorted(detach(self._knots), detach(x), side="right") - 1
        m = np.clip(place, 2, self._count - 1)
        c = self._coefficients
        wide = (*np.shape(x), *(1,) * (np.ndim(c) - 1))
        parts = [
            take_elements(c, m + k) * np.reshape(base, wide)
            for k, base in zip((-2, -1, 0), self._evaluate_basis(x, m), strict=True)
        ]
        return parts[0] + parts[1] + parts[2]
