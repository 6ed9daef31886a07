"""`ferrograd.test_util`: the name under which programs for HIPS autograd import it."""

from ferrograd.hips.test_util import *  # noqa: F403
