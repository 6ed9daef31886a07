"""The functions of SciPy that people differentiate.

Arrays give arrays and tensors give tensors; SciPy itself is loaded only by what it computes.
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
