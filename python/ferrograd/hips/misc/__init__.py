"""Helpers around derivatives: flattening, optimisers of nested values, fixed points."""

from ferrograd.hips.misc.flatten import flatten as flatten
from ferrograd.hips.misc.tracers import const_graph as const_graph
