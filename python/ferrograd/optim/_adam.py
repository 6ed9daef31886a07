"""`Adam` and `AdamW`.

Owns: both classes. Invariant: a step equals PyTorch's to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ferrograd._core import Tensor, maximum, sqrt, zeros_like
from ferrograd.optim._optimizer import Group, Optimizer, at_least, betas


class Adam(Optimizer):
    """Adam: `p -= lr m / (1 - β1^t) / (√v / √(1 - β2^t) + eps)`.

    `m = β1 m + (1 - β1) g` and `v = β2 v + (1 - β2) g²`, with `g += weight_decay p`. With `amsgrad`
    the largest v so far is used.
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

    decoupled = False
    decay = 0.0

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | None = None,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "betas": tuple(betas),
            "eps": eps,
            "weight_decay": self.decay if weight_decay is None else weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
        }
        super().__init__(params, options)

    def _check(self, group: Group) -> None:
        op = type(self).__name__
        for name in ("lr", "eps", "weight_decay"):
            at_least(op, name, group[name])
        betas(op, group["betas"])

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: Group) -> Tensor:
        beta1: float
        beta2: float
        beta1, beta2 = group["betas"]
        lr: float = group["lr"]
        decay: float = group["weight_decay"]
        if group["maximize"]:
            grad = -grad
        if decay != 0 and self.decoupled:
            p = p * (1.0 - lr * decay)
        elif decay != 0:
            grad = grad + decay * p
        if not state:
            state.update(step=0, exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(p)
        state["step"] += 1
        mean: Tensor = state["exp_avg"] + (1.0 - beta1) * (grad - state["exp_avg"])
        square: Tensor = state["exp_avg_sq"] * beta2 + (1.0 - beta2) * grad * grad
        state.update(exp_avg=mean, exp_avg_sq=square)
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"] = maximum(state["max_exp_avg_sq"], square)
        count: int = state["step"]
        step_size = lr / (1.0 - beta1**count)
        scale = math.sqrt(1.0 - beta2**count)
        eps: float = group["eps"]
        return p - step_size * mean / (sqrt(square) / scale + eps)


class AdamW(Adam):
    """Adam whose weight decay (0.01 by default) acts on the parameter: `p *= 1 - lr weight_decay`.

    Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019.
    """

    decoupled = True
    decay = 0.01
