"""Schedules of learning rates, with the names and the arguments of `torch.optim.lr_scheduler`.

A schedule writes `lr` into the groups of an optimiser: when it is made those of epoch 0, and with
each `step()`, after the optimiser's, those of the next epoch.
"""

from ferrograd.optim.lr_scheduler._chains import (
    ChainedScheduler as ChainedScheduler,
    SequentialLR as SequentialLR,
)
from ferrograd.optim.lr_scheduler._cycles import (
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
    CyclicLR as CyclicLR,
    OneCycleLR as OneCycleLR,
)
from ferrograd.optim.lr_scheduler._factors import (
    ConstantLR as ConstantLR,
    CosineAnnealingLR as CosineAnnealingLR,
    ExponentialLR as ExponentialLR,
    LambdaLR as LambdaLR,
    LinearLR as LinearLR,
    MultiplicativeLR as MultiplicativeLR,
    MultiStepLR as MultiStepLR,
    PolynomialLR as PolynomialLR,
    StepLR as StepLR,
)
from ferrograd.optim.lr_scheduler._plateau import ReduceLROnPlateau as ReduceLROnPlateau
from ferrograd.optim.lr_scheduler._schedule import LRScheduler as LRScheduler
