"""`SGD`, `ASGD` and `Rprop`: gradient descent with momentum, with averages, by signs.

Invariant: a step equals PyTorch's to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError
from ferrograd.optim._check_options import check_at_least, check_flags, check_pair
from ferrograd.optim._optimizer import Group
from ferrograd.optim._option_tensors import Number
from ferrograd.optim._rule_optimizer import RuleOptimizer, Slots


class SGD(RuleOptimizer):
    """`p -= lr d` with `g += weight_decay p`, `v = momentum v + (1 - dampening) g`.

    d is g without momentum, v with it, and `g + momentum v` with nesterov. The first v is g. `lr`
    may be a tensor without axes, which is read at every step.
    Errors: `ArgumentError` for negative options, and for nesterov without momentum or with
    dampening.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.8]
    """

    counters = ()

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        options = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            **check_flags("SGD", foreach=foreach, differentiable=differentiable, fused=fused),
        }
        super().__init__(params, options)

    def _check_group(self, group: Group) -> None:
        for name in ("lr", "momentum", "weight_decay"):
            check_at_least("SGD", name, group[name])
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ArgumentError("SGD: nesterov needs a momentum above 0 and a dampening of 0")

    def _get_rule(self, group: Group) -> str:
        if group["momentum"] == 0:
            return "plain"
        return "nesterov" if group["nesterov"] else "sgd"

    def _get_state_slots(self, group: Group) -> Slots:
        return (("momentum_buffer", 0.0),) if group["momentum"] != 0 else ()

    def _get_hyperparameters(self, group: Group, fresh: bool) -> tuple[Number, ...]:
        if group["momentum"] == 0:
            return (group["lr"],)
        keep = 1.0 if fresh else 1.0 - group["dampening"]
        return group["lr"], group["momentum"], keep


class ASGD(RuleOptimizer):
    """`p = (1 - lambd η) p - η g`, and `ax`, the average of p from step `t0` on.

    `η = lr / (1 + lambd lr t)^alpha`, with `g += weight_decay p`; `state[p]["ax"]` is the average.
    Errors: `ArgumentError` for a negative `lr` or `weight_decay`.
    Source: Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, 1992.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.ASGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 6)
    0.79999
    """

    counters = (("step", 0.0), ("eta", 0.0), ("mu", 1.0))

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "maximize": maximize,
            **check_flags(
                "ASGD", foreach=foreach, differentiable=differentiable, capturable=capturable
            ),
        }
        super().__init__(params, options)

    def _check_group(self, group: Group) -> None:
        for name in ("lr", "weight_decay"):
            check_at_least("ASGD", name, group[name])

    def _get_state_slots(self, group: Group) -> Slots:
        return (("ax", 0.0),)

    def _get_hyperparameters(self, group: Group, fresh: bool) -> tuple[Number, ...]:
        return group["lr"], group["lambd"], group["alpha"], group["t0"]


class Rprop(RuleOptimizer):
    """`p -= sign(g) s`: s grows by `etas[1]` while the sign of g stays, shrinks by `etas[0]` else.

    Where the sign has changed, p rests for a step. s begins with `lr` and stays in `step_sizes`.
    Errors: `ArgumentError` for a negative `lr`, and for etas that are not below and above 1.
    Source: Riedmiller and Braun, A Direct Adaptive Method for Faster Backpropagation
    Learning, 1993.

    >>> import ferrograd as fg
    >>> w = fg.tensor([1.0], requires_grad=True)
    >>> optimizer = fg.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 6)
    0.9
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "etas": check_pair(type(self).__name__, "etas", etas),
            "step_sizes": check_pair(type(self).__name__, "step_sizes", step_sizes),
            "maximize": maximize,
            **check_flags(
                "Rprop", foreach=foreach, differentiable=differentiable, capturable=capturable
            ),
        }
        super().__init__(params, options)

    def _check_group(self, group: Group) -> None:
        check_at_least("Rprop", "lr", group["lr"])
        down, up = check_pair("Rprop", "etas", group["etas"])
        check_pair("Rprop", "step_sizes", group["step_sizes"])
        if not 0.0 < down < 1.0 < up:
            raise ArgumentError(f"Rprop: etas are {down, up}; give one below 1 and one above")

    def _get_state_slots(self, group: Group) -> Slots:
        return ("prev", 0.0), ("step_size", group["lr"])

    def _get_hyperparameters(self, group: Group, fresh: bool) -> tuple[Number, ...]:
        return (*group["etas"], *group["step_sizes"])
