"""`ferrograd.wrap_util`: the name under which programs for HIPS autograd import it."""

from ferrograd.hips.wrap_util import *  # noqa: F403
