"""`scipy.cluster`: clusters of points, differentiable by the points."""

from ferrograd.scipy._computed_by_scipy import rest_of as _rest_of
from ferrograd.scipy.cluster import vq as vq

__getattr__ = _rest_of("cluster")
