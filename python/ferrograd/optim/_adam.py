"""`Adam` and its variants: `AdamW`, `NAdam`, `RAdam`, `Adamax`.

Invariant: a step equals PyTorch's to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd._core import Tensor
from ferrograd.optim._check_options import (
    check_at_least,
    check_betas,
    check_flags,
    check_pair,
)
from ferrograd.optim._optimizer import Group
from ferrograd.optim._option_tensors import Number
from ferrograd.optim._rule_optimizer import RuleOptimizer, Slots

_MOMENT_SLOTS: Slots = (("exp_avg", 0.0), ("exp_avg_sq", 0.0))


class _AdamBase(RuleOptimizer):
    """Base of the optimisers with two decay rates."""

    def _check_group(self, group: Group) -> None:
        op = type(self).__name__
        for name in ("lr", "eps", "weight_decay"):
            check_at_least(op, name, group[name])
        check_betas(op, group["betas"])

    def _get_state_slots(self, group: Group) -> Slots:
        return _MOMENT_SLOTS

    def _is_decoupled(self, group: Group) -> bool:
        return bool(group.get("decoupled_weight_decay", False))

    def _get_hyperparameters(self, group: Group, fresh: bool) -> tuple[Number, ...]:
        decay = group["weight_decay"] if self._is_decoupled(group) else 0.0
        return group["lr"], *group["betas"], group["eps"], decay


class Adam(_AdamBase):
    """Adam: `p -= lr m / (1 - β1^t) / (√v / √(1 - β2^t) + eps)`.

    `m = β1 m + (1 - β1) g` and `v = β2 v + (1 - β2) g²`, with `g += weight_decay p`, or, with
    `decoupled_weight_decay`, `p *= 1 - lr weight_decay` first. With `amsgrad` the largest v so far
    is used. A complex parameter is treated as a pair of real ones. `lr` may be a tensor without
    axes, which is read at every step.
    Errors: `ArgumentError` for negative options and betas outside [0, 1).
    Source: Kingma and Ba, Adam, 2015.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 6)
    0.9
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "betas": check_pair(type(self).__name__, "betas", betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
            **check_flags(
                type(self).__name__,
                foreach=foreach,
                capturable=capturable,
                differentiable=differentiable,
                fused=fused,
            ),
        }
        super().__init__(params, options)

    def _get_rule(self, group: Group) -> str:
        return "amsgrad" if group["amsgrad"] else "adam"

    def _get_state_slots(self, group: Group) -> Slots:
        return (*_MOMENT_SLOTS, ("max_exp_avg_sq", 0.0)) if group["amsgrad"] else _MOMENT_SLOTS


class AdamW(Adam):
    """Adam whose weight decay (0.01 by default) acts on the parameter: `p *= 1 - lr weight_decay`.

    Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.AdamW([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 6)
    0.899
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


class NAdam(_AdamBase):
    """Adam with Nesterov momentum: `p -= lr ((1 - μ) g / (1 - Πμ) + μ' m / (1 - μ' Πμ)) / d`.

    `d = √(v / (1 - β2^t)) + eps`; `μ = β1 (1 - 0.96^(t momentum_decay) / 2)`, μ' is that of the
    next step, and Πμ the product of all so far. m and v are those of `Adam`.
    Errors: `ArgumentError` for negative options and betas outside [0, 1).
    Source: Dozat, Incorporating Nesterov Momentum into Adam, 2016.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 6)
    0.894355
    """

    counters = (("step", 0.0), ("mu_product", 1.0))

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "betas": check_pair(type(self).__name__, "betas", betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            **check_flags(
                "NAdam", foreach=foreach, capturable=capturable, differentiable=differentiable
            ),
        }
        super().__init__(params, options)

    def _check_group(self, group: Group) -> None:
        super()._check_group(group)
        check_at_least("NAdam", "momentum_decay", group["momentum_decay"])

    def _get_hyperparameters(self, group: Group, fresh: bool) -> tuple[Number, ...]:
        return *super()._get_hyperparameters(group, fresh), group["momentum_decay"]


class RAdam(_AdamBase):
    """Adam with a rectified rate: `p -= lr m / (1 - β1^t) r √(1 - β2^t) / (√v + eps)`.

    r² is the quotient of variances that the paper derives; in the first steps, where
    `ρ = ρ∞ - 2 t β2^t / (1 - β2^t)` with `ρ∞ = 2 / (1 - β2) - 1` is at most 5, the step is
    `p -= lr m / (1 - β1^t)`. m and v are those of `Adam`.
    Errors: `ArgumentError` for negative options and betas outside [0, 1).
    Source: Liu et al., On the Variance of the Adaptive Learning Rate and Beyond, 2020.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 6)
    0.8
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "betas": check_pair(type(self).__name__, "betas", betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            **check_flags(
                "RAdam", foreach=foreach, capturable=capturable, differentiable=differentiable
            ),
        }
        super().__init__(params, options)


class Adamax(_AdamBase):
    """Adam with the largest gradient: `u = max(β2 u, |g| + eps)`, `p -= lr m / (1 - β1^t) / u`.

    m is that of `Adam`, with `g += weight_decay p`.
    Errors: `ArgumentError` for negative options and betas outside [0, 1).
    Source: Kingma and Ba, Adam, 2015.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 6)
    0.9
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "betas": check_pair(type(self).__name__, "betas", betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            **check_flags(
                "Adamax", foreach=foreach, differentiable=differentiable, capturable=capturable
            ),
        }
        super().__init__(params, options)

    def _get_state_slots(self, group: Group) -> Slots:
        return ("exp_avg", 0.0), ("exp_inf", 0.0)

    def _get_hyperparameters(self, group: Group, fresh: bool) -> tuple[Number, ...]:
        return group["lr"], *group["betas"], group["eps"]
