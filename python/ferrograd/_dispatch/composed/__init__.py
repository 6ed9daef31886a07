"""NumPy functions that are compositions of our operations, by NumPy's function."""

from ferrograd._dispatch.composed import (
    calculus as calculus,
    in_place as in_place,
    linear_algebra as linear_algebra,
    moments as moments,
    nan_reductions as nan_reductions,
    non_differentiable as non_differentiable,
    polynomials as polynomials,
    rearrangement as rearrangement,
)
