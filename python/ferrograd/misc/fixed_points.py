"""`ferrograd.misc.fixed_points`: the name under which programs for HIPS autograd import it."""

from ferrograd.hips.misc.fixed_points import *  # noqa: F403
