"""`Muon`: orthogonalised momentum for matrices.

Invariant: a step equals PyTorch's with its bfloat16 arithmetic replaced by that of the parameter's
dtype.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any

from ferrograd._core import Tensor, maximum, sqrt
from ferrograd._tensor.creation import zeros_like
from ferrograd.errors import ArgumentError
from ferrograd.optim._check_options import check_at_least, check_choice
from ferrograd.optim._optimizer import Group, Optimizer, ParamsWithGrads
from ferrograd.optim._option_tensors import as_tensor
from ferrograd.optim._state_dict import load_param_value


class Muon(Optimizer):
    """`p = (1 - lr weight_decay) p - lr s O`, O the momentum with singular values of 1.

    `b = momentum b + (1 - momentum) g`; O is found from b, or with `nesterov` from
    `(1 - momentum) g + momentum b`, by `ns_steps` steps of a Newton-Schulz iteration of fifth
    order. s is `√max(1, rows / columns)`, or, with `adjust_lr_fn="match_rms_adamw"`,
    `0.2 √max(rows, columns)`. For matrices only: train other parameters with `AdamW`. The
    iteration is computed in the dtype of the parameter, where PyTorch's rounds to bfloat16.
    Errors: `ArgumentError` for parameters that are not real matrices, and negative options.
    Source: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024; Liu et
    al., Muon is Scalable for LLM Training, 2025.

    >>> import ferrograd as fg
    >>> w = fg.ones((2, 2)).requires_grad_()
    >>> optimizer = fg.optim.Muon([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        options = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            # One more than allowed, so that an endless iterator is not consumed.
            "ns_coefficients": tuple(islice(ns_coefficients, 4)),
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, options)

    def _check_group(self, group: Group) -> None:
        for name in ("lr", "weight_decay", "momentum"):
            check_at_least("Muon", name, group[name])
        check_choice(
            "Muon", "adjust_lr_fn", group["adjust_lr_fn"], (None, "original", "match_rms_adamw")
        )
        if len(group["ns_coefficients"]) != 3:
            raise ArgumentError(f"Muon: ns_coefficients are {group['ns_coefficients']}; give three")
        if not 0 <= group["ns_steps"] < 100:
            raise ArgumentError(f"Muon: ns_steps is {group['ns_steps']}; give at most 99")
        for i, p in enumerate(group["params"]):
            if p.ndim != 2 or p.dtype.kind == "c":
                raise ArgumentError(
                    f"Muon: parameter {i} is {p.dtype} of shape {tuple(p.shape)}; "
                    "give real matrices, and others to AdamW"
                )

    def _load_value(self, op: str, key: str, value: Any, p: Tensor) -> Any:
        return load_param_value(op, key, value, p)

    def _step_group(self, group: Group, ready: ParamsWithGrads) -> None:
        momentum: float = group["momentum"]
        for p, grad in ready:
            state = self.state[p]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = zeros_like(p.detach())
            grad = grad.detach()
            buffer.lerp_(grad, 1.0 - momentum)
            update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
            update = orthogonalize(
                update, group["ns_coefficients"], group["ns_steps"], group["eps"]
            )
            rows, columns = p.shape
            scale = math.sqrt(max(1.0, rows / columns))
            if group["adjust_lr_fn"] == "match_rms_adamw":
                scale = 0.2 * math.sqrt(max(rows, columns))
            p *= as_tensor(1.0 - group["lr"] * group["weight_decay"], p.dtype)
            p -= as_tensor(group["lr"] * scale, p.dtype) * update


def orthogonalize(
    x: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """An approximation of the factor U Vᵀ of a matrix `U S Vᵀ`: singular values are near 1."""
    a, b, c = coefficients
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / maximum(sqrt((x * x).sum()), eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.T if tall else x
