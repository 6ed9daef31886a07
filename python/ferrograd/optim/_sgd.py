"""`SGD`: gradient descent with momentum.

Owns: that class. Invariant: a step equals PyTorch's, operation for operation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError
from ferrograd.optim._numbers import as_tensor
from ferrograd.optim._optimizer import Group, Optimizer, Ready, at_least


class SGD(Optimizer):
    """`p -= lr d` with `g += weight_decay p`, `v = momentum v + (1 - dampening) g`.

    d is g without momentum, v with it, and `g + momentum v` with nesterov. The first v is g. `lr`
    may be a tensor of no axes, whose value of the moment counts.
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
    ) -> None:
        options = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, options)

    def _check(self, group: Group) -> None:
        for name in ("lr", "momentum", "weight_decay"):
            at_least("SGD", name, group[name])
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ArgumentError("SGD: nesterov needs a momentum above 0 and a dampening of 0")

    def _step_group(self, group: Group, ready: Ready) -> None:
        momentum: float = group["momentum"]
        keep: float = 1.0 - group["dampening"]
        decay: float = group["weight_decay"]
        dtype: Any = None
        for p, grad in ready:
            if p.dtype is not dtype:
                dtype = p.dtype
                rate, one = as_tensor(group["lr"], dtype), as_tensor(1.0, dtype)
            if group["maximize"]:
                grad = -grad
            if decay != 0:
                grad = grad + decay * p.detach()
            if momentum != 0:
                state = self.state.setdefault(p, {})
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = grad.detach().clone()
                else:
                    buffer *= momentum
                    if keep == 1.0:
                        buffer += grad
                    else:
                        buffer.addcmul_(grad, one, keep)
                grad = grad + momentum * buffer if group["nesterov"] else buffer
            p.addcmul_(grad, rate, -1.0)
