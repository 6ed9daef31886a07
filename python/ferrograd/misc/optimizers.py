"""`ferrograd.misc.optimizers`: the name under which programs for HIPS autograd import it."""

from ferrograd.hips.misc.optimizers import *  # noqa: F403
