"""`scipy.cluster`: clusters of points, differentiable by the points."""

from ferrograd.scipy._scipy_primitives import make_scipy_getattr as _make_scipy_getattr
from ferrograd.scipy.cluster import vq as vq

__getattr__ = _make_scipy_getattr("cluster")
