"""`ferrograd.util`: the name under which programs for HIPS autograd import it."""

from ferrograd.hips.util import *  # noqa: F403
