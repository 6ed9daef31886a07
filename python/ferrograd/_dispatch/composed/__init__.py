"""NumPy functions that are compositions of our operations, by NumPy's function."""

from ferrograd._dispatch.composed import (
    calculus as calculus,
    in_place as writing,
    linear_algebra as linear,
    moments as moments,
    non_differentiable as plain,
    polynomials as polynomials,
    rearrangement as rearranging,
    statistics as statistics,
)
