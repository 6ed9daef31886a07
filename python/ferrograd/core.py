"""`ferrograd.core`: the name under which programs for HIPS autograd import it."""

from ferrograd.hips.core import *  # noqa: F403
