"""`ferrograd.misc.tracers`: the name under which programs for HIPS autograd import it."""

from ferrograd.hips.misc.tracers import *  # noqa: F403
