"""NumPy functions that are compositions of our operations, by NumPy's function."""

from ferrograd._composed import (
    calculus as calculus,
    linear as linear,
    plain as plain,
    polynomials as polynomials,
    rearranging as rearranging,
    statistics as statistics,
    writing as writing,
)
from ferrograd._composed._table import COMPOSED as COMPOSED, REASONS as REASONS
