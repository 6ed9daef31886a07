"""Distances of vectors along the last axis, with broadcasting.

Invariant: the distance of two equal vectors has the derivative 0, which is between its one-sided
derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.scipy.special import rel_entr

Metric = Callable[..., Any]


def _safe_power(total: Any, power: float = 0.5) -> Any:
    """A power below 1 of a sum that may be 0."""
    there = ~(total <= 0)  # NaN stays NaN
    return np.where(there, np.where(there, total, 1.0) ** power, 0.0)


def _safe_divide(over: Any, under: Any) -> Any:
    there = under != 0
    return np.where(there, over / np.where(there, under, 1.0), 0.0)


def _weighted_sum(terms: Any, w: Any) -> Any:
    return np.sum(terms if w is None else w * terms, -1)


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return _safe_power(_weighted_sum((u - v) ** 2, w))


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    return _weighted_sum((u - v) ** 2, w)


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return _weighted_sum(np.abs(u - v), w)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    far = np.abs(u - v)
    if not np.shape(far)[-1]:
        return np.sum(far, -1)
    return np.max(far if w is None else far * (w > 0), -1)


def _minkowski(u: Any, v: Any, p: float = 2.0, w: Any = None) -> Any:
    if p == numpy.inf:
        return _chebyshev(u, v, w)
    far = np.abs(u - v)
    # A power between 0 and 2 of 0 has no second derivative; the term is constant there.
    there = far != 0
    return _safe_power(
        _weighted_sum(np.where(there, np.where(there, far, 1.0) ** p, 0.0), w), 1 / p
    )


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    return _weighted_sum(_safe_divide(np.abs(u - v), np.abs(u) + np.abs(v)), w)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return _safe_divide(_weighted_sum(np.abs(u - v), w), _weighted_sum(np.abs(u + v), w))


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    lengths = np.sqrt(_weighted_sum(u * u, w)) * np.sqrt(_weighted_sum(v * v, w))
    return 1.0 - _weighted_sum(u * v, w) / lengths


def _correlation(u: Any, v: Any, w: Any = None) -> Any:
    if w is not None:
        w = w / np.sum(w)
        return _cosine(u - _weighted_sum(u, w)[..., None], v - _weighted_sum(v, w)[..., None], w)
    return _cosine(u - np.mean(u, -1, keepdims=True), v - np.mean(v, -1, keepdims=True))


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    return _safe_power(np.sum((u - v) ** 2 / V, -1))


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    apart = u - v
    return _safe_power(np.sum((apart @ VI) * apart, -1))


def _jensenshannon(u: Any, v: Any) -> Any:
    totals = np.sum(u, -1, keepdims=True), np.sum(v, -1, keepdims=True)
    empty = (totals[0] == 0) | (totals[1] == 0)
    p, q = (x / np.where(empty, 1.0, total) for x, total in zip((u, v), totals, strict=True))
    middle = (p + q) / 2
    apart = np.sum(rel_entr(p, middle) + rel_entr(q, middle), -1) / 2
    # A vector without mass is not a distribution: its distance from every distribution is infinite.
    return np.where(empty[..., 0], numpy.inf, _safe_power(apart))


METRICS: dict[str, Metric] = {
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "chebyshev": _chebyshev,
    "cityblock": _cityblock,
    "correlation": _correlation,
    "cosine": _cosine,
    "euclidean": _euclidean,
    "jensenshannon": _jensenshannon,
    "mahalanobis": _mahalanobis,
    "minkowski": _minkowski,
    "seuclidean": _seuclidean,
    "sqeuclidean": _sqeuclidean,
}
