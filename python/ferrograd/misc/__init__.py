"""`ferrograd.misc`: the name under which programs for HIPS autograd import it."""

from ferrograd.misc.flatten import flatten as flatten
from ferrograd.misc.tracers import const_graph as const_graph
