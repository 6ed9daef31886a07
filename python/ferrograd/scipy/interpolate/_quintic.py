"""Splines of the fifth degree on a regular grid.

Knots are samples ("not-a-knot"). Source: C. de Boor, A Practical Guide to Splines, 2001, chapter X.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.scipy._conversions import detach, to_float_array
from ferrograd.scipy.interpolate._knots import append_axes

DEGREE = 5


def interpolate_quintic(grid: Any, values: Any, places: list[Any]) -> Any:
    """The values at points, one variable after the other."""
    found: Any = np.tensordot(_compute_weights(grid[0], places[0]), values, 1)
    for own, place in zip(grid[1:], places[1:], strict=True):
        found = np.sum(append_axes(_compute_weights(own, place), found) * found, 1)
    return found


def _compute_weights(x: Any, places: Any) -> Any:
    """The weight of each sample at each point, `(points, samples)`."""
    ends = [np.stack([end] * (DEGREE + 1)) for end in (x[0], x[-1])]
    knots = np.concatenate([ends[0], x[3:-3], ends[1]])
    return np.linalg.solve(_evaluate_basis(knots, x).T, _evaluate_basis(knots, places).T).T


def _evaluate_basis(knots: Any, x: Any) -> Any:
    """All B-splines at points, `(points, splines)`; the last pieces extend beyond the ends."""
    known, count = to_float_array(knots), np.shape(knots)[0]
    place = np.searchsorted(detach(knots), detach(x), side="right") - 1
    place = np.clip(place, DEGREE, count - DEGREE - 2)
    found = (to_float_array(place)[:, None] == numpy.arange(count - 1)).astype(knots.dtype)
    at = np.reshape(x, (-1, 1))
    for degree in range(1, DEGREE + 1):
        share = (at - knots[:-degree]) / _knot_distances(knots, known, degree)
        found = share[:, :-1] * found[:, :-1] + (1.0 - share[:, 1:]) * found[:, 1:]
    return found


def _knot_distances(knots: Any, known: Any, degree: int) -> Any:
    """The distances of knots; 1 for equal knots, whose splines are zero."""
    same = known[degree:] == known[:-degree]
    return np.where(same, 1.0, knots[degree:] - knots[:-degree])
