"""Values and directional derivatives of a function of arrays, by differences of its values.

Invariant: an answer is given only where two step sizes agree, so a program near a kink, a tie or a
jump has none.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

#: How far two numbers may differ, relative to one more than their size.
VALUE, SLOPE, CURVE = 1e-9, 1e-5, 1e-3
Function = Callable[..., Any]


class UnreliableError(Exception):
    """The program has no value, or no derivative that differences can find."""


def near(a: Any, b: Any, tolerance: float, scale: float = 0.0) -> bool:
    """Whether two numbers are equal as far as can be told."""
    return bool(abs(a - b) <= tolerance * (1.0 + abs(b) + scale))


def moved(arguments: list[Any], direction: list[Any], step: float) -> list[Any]:
    """New arguments, a step away."""
    pairs = zip(arguments, direction, strict=True)
    return [a + step * d if type(a) is float else np.asarray(a + step * d) for a, d in pairs]


def value_of(function: Function, arguments: list[Any]) -> float:
    """The value of the function, which may not write to what is given here."""
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        try:
            value = float(function(*moved(arguments, [0.0] * len(arguments), 0.0)))
        except Exception as error:  # moved arguments may lead elsewhere
            raise UnreliableError(f"raises {error}") from error
    if not abs(value) < 1e6:
        raise UnreliableError(f"the value is {value}")
    return value


def slope_of(function: Function, arguments: list[Any], direction: list[Any], value: float) -> float:
    """The derivative along a direction, of a function that has this value."""
    h = 1e-4
    steps = (-4, -2, -1, 1, 2, 4)
    at = {k: value_of(function, moved(arguments, direction, k * h)) for k in steps}
    at[0] = value
    d1, d2, d4 = ((at[k] - at[-k]) / (2 * k * h) for k in (1, 2, 4))
    fine, coarse = (4 * d1 - d2) / 3, (4 * d2 - d4) / 3
    # One-sided derivatives differ by the second difference over h: by 0 as h goes to 0, or a kink.
    c1, c2 = ((at[k] - 2 * at[0] + at[-k]) / (k * h) for k in (1, 2))
    if not near(fine, coarse, SLOPE / 10) or not near(2 * c1 - c2, 0.0, SLOPE, abs(fine)):
        raise UnreliableError(f"differences give {fine} and {coarse}, a kink of {2 * c1 - c2}")
    return float(fine)


def curve_of(function: Function, arguments: list[Any], direction: list[Any]) -> float:
    """The second derivative along a direction."""
    h = 2e-3
    at = [value_of(function, moved(arguments, direction, k * h)) for k in range(-4, 5)]
    f = dict(zip(range(-4, 5), at, strict=True))
    d1, d2, d4 = ((f[k] - 2 * f[0] + f[-k]) / (k * h) ** 2 for k in (1, 2, 4))
    fine, coarse = (4 * d1 - d2) / 3, (4 * d2 - d4) / 3
    if not near(fine, coarse, CURVE / 10):
        raise UnreliableError(f"second differences give {fine} and {coarse}")
    return float(fine)
