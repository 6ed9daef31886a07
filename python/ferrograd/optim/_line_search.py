"""The line search of `LBFGS`: a step that satisfies the strong Wolfe conditions.

Invariant: the returned point was evaluated. Source: Nocedal and Wright, Numerical
Optimization, algorithms 3.5 and 3.6, as PyTorch has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ferrograd._core import Tensor


class Point(NamedTuple):
    """A step length with the loss, its gradient and its slope along the direction there."""

    t: float
    loss: float
    grad: Tensor
    slope: float


def interpolate_cubic(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """The minimum of the cubic through two points with slopes, within bounds."""
    lower, upper = bounds or (min(a.t, b.t), max(a.t, b.t))
    left, right = (a, b) if a.t <= b.t else (b, a)
    d1 = a.slope + b.slope - 3.0 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0.0:
        return (lower + upper) / 2.0
    d2 = math.sqrt(square)
    share = (right.slope + d2 - d1) / (right.slope - left.slope + 2.0 * d2)
    return min(max(right.t - (right.t - left.t) * share, lower), upper)


def strong_wolfe(
    evaluate: Callable[[float], Point],
    t: float,
    start: Point,
    length: float,
    tolerance: float,
    most: int,
    c1: float = 1e-4,
    c2: float = 0.9,
) -> tuple[Point, int]:
    """A point that satisfies the conditions, or the best one found, and how many were evaluated.

    `length` is the largest entry of the direction; a bracket shorter than `tolerance` is the end.
    """
    before, point = start, evaluate(t)
    count = 0
    while count < most:
        if _violates_decrease(point, start, c1) or (count > 1 and point.loss >= before.loss):
            break
        if abs(point.slope) <= -c2 * start.slope:
            return point, count + 1
        if point.slope >= 0.0:
            break
        bounds = point.t + 0.01 * (point.t - before.t), point.t * 10.0
        before, point = point, evaluate(interpolate_cubic(before, point, bounds))
        count += 1
    else:
        before = start
    return _zoom(evaluate, [before, point], start, length, tolerance, most, count, (c1, c2))


def _violates_decrease(point: Point, start: Point, c1: float) -> bool:
    """Whether the loss violates the condition of sufficient decrease."""
    return point.loss > start.loss + c1 * point.t * start.slope


def _zoom(
    evaluate: Callable[[float], Point],
    bracket: list[Point],
    start: Point,
    length: float,
    tolerance: float,
    most: int,
    count: int,
    constants: tuple[float, float],
) -> tuple[Point, int]:
    """Narrows a bracket until its better end satisfies the conditions."""
    c1, c2 = constants
    low = 0 if bracket[0].loss <= bracket[1].loss else 1
    stalled = done = False
    while not done and count < most:
        ends = bracket[0].t, bracket[1].t
        if abs(ends[1] - ends[0]) * length < tolerance:
            break
        t, stalled = _keep_inside(
            interpolate_cubic(bracket[0], bracket[1]), min(ends), max(ends), stalled
        )
        point = evaluate(t)
        count += 1
        if _violates_decrease(point, start, c1) or point.loss >= bracket[low].loss:
            bracket[1 - low] = point
            low = 0 if bracket[0].loss <= bracket[1].loss else 1
            continue
        if abs(point.slope) <= -c2 * start.slope:
            done = True
        elif point.slope * (bracket[1 - low].t - bracket[low].t) >= 0.0:
            bracket[1 - low] = bracket[low]
        bracket[low] = point
    return bracket[low], count + 1


def _keep_inside(t: float, least: float, most: float, stalled: bool) -> tuple[float, bool]:
    """Keeps a step away from the ends if two in a row are near; also whether it is near."""
    margin = 0.1 * (most - least)
    if min(most - t, t - least) >= margin:
        return t, False
    if not stalled and least < t < most:
        return t, True
    return (most - margin if abs(t - most) < abs(t - least) else least + margin), False
