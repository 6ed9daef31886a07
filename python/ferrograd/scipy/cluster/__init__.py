"""`scipy.cluster`: clusters of points, differentiable by the points."""

from ferrograd.scipy._library import rest_of as _rest_of
from ferrograd.scipy.cluster import vq as vq

__getattr__ = _rest_of("cluster")
