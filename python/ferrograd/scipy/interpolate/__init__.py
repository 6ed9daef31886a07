"""`scipy.interpolate`: piecewise polynomials and grids, differentiable by everything they take."""

from ferrograd.scipy._scipy_primitives import make_scipy_getattr as _make_scipy_getattr
from ferrograd.scipy.interpolate._cubic import CubicSpline as CubicSpline
from ferrograd.scipy.interpolate._grid import (
    RegularGridInterpolator as RegularGridInterpolator,
    interpn as interpn,
)
from ferrograd.scipy.interpolate._interp1d import interp1d as interp1d
from ferrograd.scipy.interpolate._local_cubics import (
    Akima1DInterpolator as Akima1DInterpolator,
    CubicHermiteSpline as CubicHermiteSpline,
    PchipInterpolator as PchipInterpolator,
)
from ferrograd.scipy.interpolate._piecewise import PPoly as PPoly

__getattr__ = _make_scipy_getattr("interpolate")
