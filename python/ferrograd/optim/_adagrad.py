"""`Adagrad`, `Adadelta` and `RMSprop`: rates from squares of gradients.

Invariant: a step equals PyTorch's to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError
from ferrograd.optim._check_options import check_at_least, check_flags
from ferrograd.optim._optimizer import Group
from ferrograd.optim._option_tensors import Number
from ferrograd.optim._rule_optimizer import RuleOptimizer, Slots


class Adagrad(RuleOptimizer):
    """`s += g²`, `p -= lr / (1 + (t - 1) lr_decay) g / (√s + eps)`, with `g += weight_decay p`.

    s begins with `initial_accumulator_value`.
    Errors: `ArgumentError` for negative options.
    Source: Duchi, Hazan and Singer, Adaptive Subgradient Methods, 2011.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 6)
    0.9
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        options = {
            "lr": lr,
            "lr_decay": lr_decay,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "eps": eps,
            "maximize": maximize,
            **check_flags("Adagrad", foreach=foreach, differentiable=differentiable, fused=fused),
        }
        super().__init__(params, options)

    def _check_group(self, group: Group) -> None:
        for name in ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"):
            check_at_least("Adagrad", name, group[name])

    def _get_state_slots(self, group: Group) -> Slots:
        return (("sum", group["initial_accumulator_value"]),)

    def _get_hyperparameters(self, group: Group, fresh: bool) -> tuple[Number, ...]:
        return group["lr"], group["lr_decay"], group["eps"]


class Adadelta(RuleOptimizer):
    """`d = g √(a + eps) / √(v + eps)`, `p -= lr d`, with `g += weight_decay p`.

    v and a are running averages of g² and d²: `v = rho v + (1 - rho) g²`.
    Errors: `ArgumentError` for negative options and a rho above 1.
    Source: Zeiler, ADADELTA, 2012.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.Adadelta([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 6)
    0.999684
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            **check_flags(
                "Adadelta", foreach=foreach, capturable=capturable, differentiable=differentiable
            ),
        }
        super().__init__(params, options)

    def _check_group(self, group: Group) -> None:
        for name in ("lr", "rho", "eps", "weight_decay"):
            check_at_least("Adadelta", name, group[name])
        if group["rho"] > 1.0:
            raise ArgumentError(f"Adadelta: rho is {group['rho']}; give a number from 0 to 1")

    def _get_state_slots(self, group: Group) -> Slots:
        return ("square_avg", 0.0), ("acc_delta", 0.0)

    def _get_hyperparameters(self, group: Group, fresh: bool) -> tuple[Number, ...]:
        return group["lr"], group["rho"], group["eps"]


class RMSprop(RuleOptimizer):
    """`p -= lr d` with `d = g / (√v + eps)`, `v = alpha v + (1 - alpha) g²`.

    With `momentum`, `b = momentum b + d` replaces d; with `centered`, `v - c²` replaces v, where c
    is the running average of g. `g += weight_decay p` comes first.
    Errors: `ArgumentError` for negative options.
    Source: Hinton, Neural Networks for Machine Learning, lecture 6; Graves, Generating Sequences
    with Recurrent Neural Networks, 2013, for the centred form.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.RMSprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 6)
    0.0
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
            "maximize": maximize,
            **check_flags(
                "RMSprop", capturable=capturable, foreach=foreach, differentiable=differentiable
            ),
        }
        super().__init__(params, options)

    def _check_group(self, group: Group) -> None:
        for name in ("lr", "alpha", "eps", "weight_decay", "momentum"):
            check_at_least("RMSprop", name, group[name])

    def _get_rule(self, group: Group) -> str:
        centred = "_centered" if group["centered"] else ""
        return f"rmsprop{centred}{'_momentum' if group['momentum'] > 0 else ''}"

    def _get_state_slots(self, group: Group) -> Slots:
        slots: Slots = (("square_avg", 0.0),)
        if group["momentum"] > 0:
            slots += (("momentum_buffer", 0.0),)
        if group["centered"]:
            slots += (("grad_avg", 0.0),)
        return slots

    def _get_hyperparameters(self, group: Group, fresh: bool) -> tuple[Number, ...]:
        return group["lr"], group["alpha"], group["eps"], group["momentum"]
