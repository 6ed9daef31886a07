"""`ferrograd.differential_operators`: the name under which programs for HIPS autograd import it."""

from ferrograd.hips.differential_operators import *  # noqa: F403
