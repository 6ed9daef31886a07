"""`ferrograd.builtins`: the name under which programs for HIPS autograd import it."""

from ferrograd.hips.builtins import *  # noqa: F403
