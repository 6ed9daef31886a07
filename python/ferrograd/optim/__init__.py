"""Optimisers: they change parameters in place from their gradients."""

import typing as _typing

from ferrograd._inspect import hints as _hints
from ferrograd.optim._adam import Adam as Adam, AdamW as AdamW
from ferrograd.optim._optimizer import Optimizer as Optimizer
from ferrograd.optim._sgd import SGD as SGD

if not _typing.TYPE_CHECKING:
    __getattr__ = _hints.getter("optim")
