"""The functions of SciPy that people differentiate.

Arrays give arrays and tensors give tensors; SciPy itself is loaded only by what it computes.
"""

from ferrograd.scipy import (
    fft as fft,
    integrate as integrate,
    linalg as linalg,
    misc as misc,
    signal as signal,
    special as special,
    stats as stats,
)
