"""Optimisers: they update parameters in place from their gradients."""

import typing as _typing

from ferrograd._inspect import missing_name_errors as _missing_name_errors
from ferrograd.optim import lr_scheduler as lr_scheduler, swa_utils as swa_utils
from ferrograd.optim._adagrad import Adadelta as Adadelta, Adagrad as Adagrad, RMSprop as RMSprop
from ferrograd.optim._adam import (
    Adam as Adam,
    Adamax as Adamax,
    AdamW as AdamW,
    NAdam as NAdam,
    RAdam as RAdam,
)
from ferrograd.optim._lbfgs import LBFGS as LBFGS
from ferrograd.optim._muon import Muon as Muon
from ferrograd.optim._optimizer import Optimizer as Optimizer
from ferrograd.optim._sgd import ASGD as ASGD, SGD as SGD, Rprop as Rprop

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name_errors.make_module_getattr("optim")
