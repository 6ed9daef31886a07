"""`scipy.spatial`: distances between points, differentiable."""

from ferrograd.scipy._scipy_primitives import make_scipy_getattr as _make_scipy_getattr
from ferrograd.scipy.spatial import distance as distance

__getattr__ = _make_scipy_getattr("spatial")
