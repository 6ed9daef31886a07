"""Differentiable functions of SciPy.

They return arrays for arrays and tensors for tensors. SciPy is loaded only by functions that need
it.
"""

from ferrograd.scipy import (
    cluster as cluster,
    fft as fft,
    integrate as integrate,
    interpolate as interpolate,
    linalg as linalg,
    misc as misc,
    ndimage as ndimage,
    optimize as optimize,
    signal as signal,
    sparse as sparse,
    spatial as spatial,
    special as special,
    stats as stats,
)
