"""Neural networks: modules, parameters, losses, and the functions behind them."""

import typing as _typing

from ferrograd._inspect import hints as _hints
from ferrograd.nn import functional as functional, init as init
from ferrograd.nn._activation import (
    ELU as ELU,
    GELU as GELU,
    Activation as Activation,
    Identity as Identity,
    LeakyReLU as LeakyReLU,
    LogSoftmax as LogSoftmax,
    ReLU as ReLU,
    ReLU6 as ReLU6,
    Sigmoid as Sigmoid,
    SiLU as SiLU,
    Softmax as Softmax,
    Softplus as Softplus,
    Tanh as Tanh,
)
from ferrograd.nn._container import (
    ModuleDict as ModuleDict,
    ModuleList as ModuleList,
    Sequential as Sequential,
)
from ferrograd.nn._linear import MLP as MLP, Linear as Linear
from ferrograd.nn._loss import CrossEntropyLoss as CrossEntropyLoss, MSELoss as MSELoss
from ferrograd.nn._module import Module as Module
from ferrograd.nn._parameter import Parameter as Parameter
from ferrograd.nn._state import LoadReport as LoadReport

if not _typing.TYPE_CHECKING:
    __getattr__ = _hints.getter("nn")
