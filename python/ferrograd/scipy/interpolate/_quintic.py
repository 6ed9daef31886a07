"""Splines of the fifth degree on a regular grid.

Knots are samples ("not-a-knot"). Source: C. de Boor, A Practical Guide to Splines, 2001, chapter X.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.scipy._closed_over import fixed, plain
from ferrograd.scipy.interpolate._knots import column

DEGREE = 5


def quintic(grid: Any, values: Any, places: list[Any]) -> Any:
    """The values at points, one variable after the other."""
    found: Any = np.tensordot(_weights(grid[0], places[0]), values, 1)
    for own, place in zip(grid[1:], places[1:], strict=True):
        found = np.sum(column(_weights(own, place), found) * found, 1)
    return found


def _weights(x: Any, places: Any) -> Any:
    """The weight of each sample at each point, `(points, samples)`."""
    ends = [np.stack([end] * (DEGREE + 1)) for end in (x[0], x[-1])]
    knots = np.concatenate([ends[0], x[3:-3], ends[1]])
    return np.linalg.solve(_splines(knots, x).T, _splines(knots, places).T).T


def _splines(knots: Any, x: Any) -> Any:
    """All B-splines at points, `(points, splines)`; the last pieces extend beyond the ends."""
    known, count = plain(knots), np.shape(knots)[0]
    place = np.searchsorted(fixed(knots), fixed(x), side="right") - 1
    place = np.clip(place, DEGREE, count - DEGREE - 2)
    found = (plain(place)[:, None] == numpy.arange(count - 1)).astype(knots.dtype)
    at = np.reshape(x, (-1, 1))
    for degree in range(1, DEGREE + 1):
        share = (at - knots[:-degree]) / _apart(knots, known, degree)
        found = share[:, :-1] * found[:, :-1] + (1.0 - share[:, 1:]) * found[:, 1:]
    return found


def _apart(knots: Any, known: Any, degree: int) -> Any:
    """The distances of knots; 1 for equal knots, whose splines are zero."""
    same = known[degree:] == known[:-degree]
    return np.where(same, 1.0, knots[degree:] - knots[:-degree])
