"""`ferrograd.misc.flatten`: the name under which programs for HIPS autograd import it."""

from ferrograd.hips.misc.flatten import *  # noqa: F403
