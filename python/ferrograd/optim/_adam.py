"""`Adam` and `AdamW`.

Owns: both classes. Invariant: a step equals PyTorch's to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd._core import Tensor, sqrt, tensor, view_as_complex, view_as_real, zeros_like
from ferrograd.optim._numbers import as_tensor
from ferrograd.optim._optimizer import Group, Optimizer, Ready, State, at_least, betas

#: What a step needs of the count of steps.
Corrections = tuple[Tensor, Tensor, Tensor | None]


class Adam(Optimizer):
    """Adam: `p -= lr m / (1 - β1^t) / (√v / √(1 - β2^t) + eps)`.

    `m = β1 m + (1 - β1) g` and `v = β2 v + (1 - β2) g²`, with `g += weight_decay p`. With `amsgrad`
    the largest v so far is used. A complex parameter is a pair of real ones. `lr` may be a tensor
    of no axes, whose value of the moment counts.
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
        lr: float | Tensor = 1e-3,
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

    def _step_group(self, group: Group, ready: Ready) -> None:
        beta1, beta2 = group["betas"]
        eps: float = group["eps"]
        decay: float = group["weight_decay"]
        decoupled = self.decoupled and decay != 0
        # What a step needs beside gradients, for each count and dtype.
        corrections: dict[Any, Corrections] = {}
        for (p, grad), state in zip(ready, self._counted(group, ready), strict=True):
            paired = p.dtype.kind == "c"
            dtype = state["exp_avg"].dtype
            key = id(state["step"]), dtype
            found = corrections.get(key)
            if found is None:
                found = corrections[key] = _corrections(group, state["step"], dtype, decoupled)
            scale, inverse_rate, shrink = found
            if group["maximize"]:
                grad = -grad
            if shrink is not None:
                p.mul_(shrink)
            elif decay != 0:
                grad = grad + decay * p.detach()
            if paired:
                grad = view_as_real(grad)
            mean = state["exp_avg"].lerp_(grad, 1.0 - beta1)
            square = state["exp_avg_sq"]
            square *= beta2
            square.addcmul_(grad, grad, 1.0 - beta2)
            if group["amsgrad"]:
                square = state["max_exp_avg_sq"].maximum_(square)
            below = sqrt(square)
            below *= scale
            below += eps
            # Divided by the rate, which may be 0, only where eps has been added.
            below *= inverse_rate
            if paired:
                p.sub_(view_as_complex(mean / below))
            else:
                p.addcdiv_(mean, below, -1.0)

    def _counted(self, group: Group, ready: Ready) -> list[State]:
        """The states of the parameters, with the number of their steps, this one included.

        Parameters of a group that have made the same steps share one count.
        """
        start = None
        for p, _ in ready:
            if not self.state.get(p):
                start = tensor(0.0, dtype="float64") if start is None else start
                own = view_as_real(p.detach()) if p.dtype.kind == "c" else p
                state: State = {
                    "step": start,
                    "exp_avg": zeros_like(own),
                    "exp_avg_sq": zeros_like(own),
                }
                if group["amsgrad"]:
                    state["max_exp_avg_sq"] = zeros_like(own)
                self.state[p] = state
        states = [self.state[p] for p, _ in ready]
        resting: set[int] = set()
        if len(ready) < len(group["params"]):
            moving = {id(state) for state in states}
            others = [self.state[p] for p in group["params"] if p in self.state]
            resting = {id(other["step"]) for other in others if id(other) not in moving}
        counts: dict[int, Tensor] = {}
        for state in states:
            known = id(state["step"])
            if known not in counts:
                count = state["step"].clone() if known in resting else state["step"]
                counts[known] = count.add_(1.0)
            state["step"] = counts[known]
        return states

    def _share(self, group: Group, loaded: dict[Tensor, State]) -> None:
        """Counts of steps, which may be numbers in older states, become tensors."""
        counts: dict[float, Tensor] = {}
        for p in group["params"]:
            state = loaded.get(p)
            if state and "step" in state:
                number = float(state["step"])
                if number not in counts:
                    counts[number] = tensor(number, dtype="float64")
                state["step"] = counts[number]


def _corrections(group: Group, count: Tensor, dtype: Any, decoupled: bool) -> Corrections:
    """`1 / √(1 - β2^t)`, `(1 - β1^t) / lr` and, for a decoupled decay, `1 - lr weight_decay`."""
    beta1, beta2 = group["betas"]
    inverse_rate = (1.0 - beta1**count) / group["lr"]
    scale = 1.0 / sqrt(1.0 - beta2**count)
    if dtype != count.dtype:
        scale, inverse_rate = scale.astype(dtype), inverse_rate.astype(dtype)
    if not decoupled:
        return scale, inverse_rate, None
    return scale, inverse_rate, as_tensor(1.0 - group["lr"] * group["weight_decay"], dtype)


class AdamW(Adam):
    """Adam whose weight decay (0.01 by default) acts on the parameter: `p *= 1 - lr weight_decay`.

    Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019.
    """

    decoupled = True
    decay = 0.01
