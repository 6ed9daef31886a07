"""Functions of neural networks: the operations under PyTorch's names.

Owns: the namespace; every function is an operation of the core.
Invariant: weights are [in, out], and every loss multiplies by the gradient that arrives.
"""

from ferrograd._core import (
    cross_entropy as cross_entropy,
    gelu as gelu,
    log_softmax as log_softmax,
    relu as relu,
    sigmoid as sigmoid,
    softmax as softmax,
    tanh as tanh,
)
from ferrograd.nn._operations import *  # noqa: F403 - the registry lists them
