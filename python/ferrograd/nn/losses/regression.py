"""Losses of numbers: differences, counts, distributions of one value.

Formulas and derivatives: `nn.functional`. Invariant: options have PyTorch's order, without its
deprecated ones.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ferrograd.nn.losses._base import Loss


class L1Loss(Loss):
    """`mean |input - target|`; the derivative at 0 is 0.

    >>> import ferrograd as fg
    >>> fg.nn.L1Loss()(fg.tensor([1.0, 3.0]), fg.tensor([1.0, 1.0])).item()
    1.0
    """

    function = "l1_loss"


class MSELoss(Loss):
    """`mean((input - target)²)`; reduction "mean", "sum" or "none".

    >>> import ferrograd as fg
    >>> fg.nn.MSELoss()(fg.tensor([1.0, 3.0]), fg.tensor([1.0, 1.0])).item()
    2.0
    """

    function = "mse_loss"


class SmoothL1Loss(Loss):
    """`d² / (2 beta)` below `beta`, `|d| - beta / 2` beyond. Source: Girshick, arXiv:1504.08083.

    >>> import ferrograd as fg
    >>> fg.nn.SmoothL1Loss()(fg.tensor([3.0]), fg.tensor([1.0])).item()
    1.5
    """

    function = "smooth_l1_loss"
    defaults: ClassVar[dict[str, Any]] = {"reduction": "mean", "beta": 1.0}


class HuberLoss(Loss):
    """`d² / 2` up to `delta`, `delta (|d| - delta / 2)` beyond. Source: Huber, 1964.

    >>> import ferrograd as fg
    >>> fg.nn.HuberLoss(delta=2.0)(fg.tensor([4.0]), fg.tensor([1.0])).item()
    4.0
    """

    function = "huber_loss"
    defaults: ClassVar[dict[str, Any]] = {"reduction": "mean", "delta": 1.0}


class PoissonNLLLoss(Loss):
    """`e^x - t x` for a count `t` and the logarithm `x` of its rate, or the rate itself.

    The latter with `log_input=False`; `full` adds Stirling's approximation of `ln t!`.

    >>> import ferrograd as fg
    >>> fg.nn.PoissonNLLLoss()(fg.tensor([0.0]), fg.tensor([3.0])).item()
    1.0
    """

    function = "poisson_nll_loss"
    defaults: ClassVar[dict[str, Any]] = {
        "log_input": True,
        "full": False,
        "eps": 1e-8,
        "reduction": "mean",
    }


class GaussianNLLLoss(Loss):
    """`½ (ln v + (x - t)² / v)` of an input, a target and a variance.

    >>> import ferrograd as fg
    >>> fg.nn.GaussianNLLLoss()(fg.tensor([1.0]), fg.tensor([3.0]), fg.tensor([1.0])).item()
    2.0
    """

    function = "gaussian_nll_loss"
    defaults: ClassVar[dict[str, Any]] = {"full": False, "eps": 1e-6, "reduction": "mean"}
