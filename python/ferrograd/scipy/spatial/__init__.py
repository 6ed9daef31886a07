"""`scipy.spatial`: distances between points, differentiable."""

from ferrograd.scipy._computed_by_scipy import rest_of as _rest_of
from ferrograd.scipy.spatial import distance as distance

__getattr__ = _rest_of("spatial")
