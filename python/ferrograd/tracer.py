"""`ferrograd.tracer`: the name under which programs for HIPS autograd import it."""

from ferrograd.hips.tracer import *  # noqa: F403
