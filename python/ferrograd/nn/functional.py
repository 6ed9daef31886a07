"""Functions of neural networks: the operations under PyTorch's names.

Owns: nothing; each is an operation of the core.
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
