"""Helpers around derivatives: flattening, optimisers of nested values, fixed points."""

from ferrograd.misc.flatten import flatten as flatten
from ferrograd.misc.tracers import const_graph as const_graph
