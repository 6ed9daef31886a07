"""NumPy functions that are compositions of our operations, by NumPy's function."""

from ferrograd._dispatch.composed import (
    calculus as calculus,
    linear as linear,
    moments as moments,
    plain as plain,
    polynomials as polynomials,
    rearranging as rearranging,
    statistics as statistics,
    writing as writing,
)
