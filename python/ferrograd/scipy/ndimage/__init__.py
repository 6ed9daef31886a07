"""`scipy.ndimage`: filters and interpolation of images, differentiable."""

from ferrograd.scipy._scipy_primitives import make_scipy_getattr as _make_scipy_getattr
from ferrograd.scipy.ndimage._affine import (
    affine_transform as affine_transform,
    rotate as rotate,
    shift as shift,
    zoom as zoom,
)
from ferrograd.scipy.ndimage._coordinates import map_coordinates as map_coordinates
from ferrograd.scipy.ndimage._correlate import (
    convolve as convolve,
    convolve1d as convolve1d,
    correlate as correlate,
    correlate1d as correlate1d,
)
from ferrograd.scipy.ndimage._gaussian import (
    gaussian_filter as gaussian_filter,
    gaussian_filter1d as gaussian_filter1d,
    laplace as laplace,
    sobel as sobel,
    uniform_filter as uniform_filter,
    uniform_filter1d as uniform_filter1d,
)
from ferrograd.scipy.ndimage._rank_filters import (
    maximum_filter as maximum_filter,
    median_filter as median_filter,
    minimum_filter as minimum_filter,
    percentile_filter as percentile_filter,
    rank_filter as rank_filter,
)
from ferrograd.scipy.ndimage._splines import (
    spline_filter as spline_filter,
    spline_filter1d as spline_filter1d,
)

__getattr__ = _make_scipy_getattr("ndimage")
