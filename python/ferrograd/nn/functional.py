"""Functions of neural networks: the operations under PyTorch's names.

Owns: the namespace; every function is an operation of the core, with a mask drawn for it where
something is dropped.
Invariant: weights are [in, out], and every loss multiplies by the gradient that arrives.
"""

import typing as _typing

from ferrograd._core import (
    celu as celu,
    cross_entropy as cross_entropy,
    elu as elu,
    embedding as embedding,
    gelu as gelu,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    leaky_relu as leaky_relu,
    log_softmax as log_softmax,
    logsigmoid as logsigmoid,
    mish as mish,
    one_hot as one_hot,
    relu as relu,
    relu6 as relu6,
    selu as selu,
    sigmoid as sigmoid,
    silu as silu,
    softmax as softmax,
    softplus as softplus,
    softsign as softsign,
    tanh as tanh,
)
from ferrograd._inspect import hints as _hints
from ferrograd.nn._operations import *  # noqa: F403 - the registry lists them

# isort: split
from ferrograd.nn._dropout import (  # type: ignore[assignment]
    dropout as dropout,
    scaled_dot_product_attention as scaled_dot_product_attention,
)

if not _typing.TYPE_CHECKING:
    __getattr__ = _hints.getter("nn.functional")
