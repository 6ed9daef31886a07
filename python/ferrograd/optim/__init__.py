"""Optimisers: they change parameters in place from their gradients."""

from ferrograd.optim._adam import Adam as Adam, AdamW as AdamW
from ferrograd.optim._optimizer import Optimizer as Optimizer
from ferrograd.optim._sgd import SGD as SGD
