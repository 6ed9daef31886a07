"""`LBFGS`: quasi-Newton steps from the last gradients.

Invariant: iterations are PyTorch's, on one vector of all parameters. It reads values, so its step
is not compiled; the closure may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ferrograd._core import (
    Tensor,
    concatenate,
    dot,
    tensor,
    view_as_complex,
    view_as_real,
)
from ferrograd._tensor.creation import zeros_like
from ferrograd._tensor.modes import enable_grad
from ferrograd.errors import ArgumentError, ArgumentTypeError
from ferrograd.optim._check_options import check_at_least, check_choice
from ferrograd.optim._line_search import Point, strong_wolfe
from ferrograd.optim._optimizer import Group, Optimizer
from ferrograd.optim._state_dict import State


class LBFGS(Optimizer):
    """L-BFGS: up to `max_iter` iterations in each `step(closure)`.

    `closure()` clears gradients, computes the loss and its gradients, and returns the loss. The
    direction is computed from the last `history_size` differences of gradients. The step size is
    `lr`, or, with `line_search_fn="strong_wolfe"`, the result of a line search that starts with
    `lr`. The iteration ends if the largest gradient is at most `tolerance_grad`, if steps or losses
    change by less than `tolerance_change`, or after `max_eval` calls of the closure (by default
    `1.25 max_iter`). There can be only one group of parameters. The step reads losses, so it cannot
    be compiled; the closure can be.
    Errors: `ArgumentError` for more groups, unknown searches, and a step without a closure.
    Source: Liu and Nocedal, On the Limited Memory BFGS Method, 1989.

    >>> import ferrograd as fg
    >>> w = fg.tensor([-1.5, 2.0], requires_grad=True)
    >>> optimizer = fg.optim.LBFGS([w], line_search_fn="strong_wolfe", max_iter=100)
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1.0 - w[0]) ** 2 + 100.0 * (w[1] - w[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure)
    >>> [round(x, 4) for x in w.tolist()]
    [1.0, 1.0]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        options = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, options)

    def _check_group(self, group: Group) -> None:
        check_at_least("LBFGS", "lr", group["lr"])
        check_choice("LBFGS", "line_search_fn", group["line_search_fn"], (None, "strong_wolfe"))

    def add_param_group(self, param_group: Group) -> None:
        """Adds the only group of parameters."""
        if self.param_groups:
            raise ArgumentError("LBFGS: there is one group of parameters; list all of them in it")
        super().add_param_group(param_group)

    def _step_impl(self, closure: Callable[[], Any] | None = None) -> Any:
        if closure is None:
            raise ArgumentError("LBFGS.step: there is no closure; pass one that gives the loss")
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        given, loss, grad = self._evaluate(closure)
        state["func_evals"] += 1
        if _max_abs(grad) <= group["tolerance_grad"]:
            return given
        calls = 1
        for i in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = state["d"] = _update_direction(state, grad, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = grad.clone(), loss
            rate = float(group["lr"])
            first = min(1.0, 1.0 / abs(grad).sum().item()) if state["n_iter"] == 1 else 1.0
            t = state["t"] = first * rate
            slope = _dot(grad, d)
            if slope > -group["tolerance_change"]:
                break
            used = 0
            if group["line_search_fn"] is not None:
                start = Point(0.0, loss, grad, slope)
                point, used = self._line_search(closure, d, t, start, group["max_eval"] - calls)
                t, loss, grad = point.t, point.loss, point.grad
                state["t"] = t
                self._add_to_params(t, d)
            else:
                self._add_to_params(t, d)
                if i != group["max_iter"]:
                    _, loss, grad = self._evaluate(closure)
                    used = 1
            calls += used
            state["func_evals"] += used
            if calls >= group["max_eval"] or _has_converged(group, grad, d, t, loss, state):
                break
        return given

    def _evaluate(self, closure: Callable[[], Any]) -> tuple[Any, float, Tensor]:
        """The loss as a number, and the gradients as one vector."""
        with enable_grad():
            given = closure()
        parts = []
        for p in self.param_groups[0]["params"]:
            grad = zeros_like(p.detach()) if p.grad is None else p.grad.detach()
            parts.append((view_as_real(grad) if p.dtype.kind == "c" else grad).reshape(-1))
        if given is None:
            raise ArgumentTypeError("LBFGS.step: the closure gave None; let it return the loss")
        value = given.item() if isinstance(given, Tensor) else given
        return given, float(value), concatenate(parts).clone()

    def _line_search(
        self, closure: Callable[[], Any], d: Tensor, t: float, start: Point, most: int
    ) -> tuple[Point, int]:
        """A line search; parameters keep their values."""
        params = self.param_groups[0]["params"]
        kept = [p.detach().clone() for p in params]

        def evaluate(t: float) -> Point:
            self._add_to_params(t, d)
            _, loss, grad = self._evaluate(closure)
            for p, value in zip(params, kept, strict=True):
                p.copy_(value)
            return Point(t, loss, grad, _dot(grad, d))

        tolerance = 1e-9
        return strong_wolfe(evaluate, t, start, _max_abs(d), tolerance, most)

    def _add_to_params(self, t: float, d: Tensor) -> None:
        """Adds `t d` to the parameters."""
        offset = 0
        for p in self.param_groups[0]["params"]:
            paired = p.dtype.kind == "c"
            count = p.size * (2 if paired else 1)
            part = d[offset : offset + count] * t
            part = view_as_complex(part.reshape((*p.shape, 2))) if paired else part.reshape(p.shape)
            p.add_(part.astype(p.dtype))
            offset += count

    def _load_value(self, op: str, key: str, value: Any, p: Tensor) -> Any:
        if isinstance(value, list | tuple):
            return [self._load_value(op, key, v, p) for v in value]
        if not hasattr(value, "shape"):
            return value
        if tuple(value.shape) == ():
            return float(value)
        return tensor(value, dtype=p.real.dtype if p.dtype.kind == "c" else p.dtype)


def _max_abs(x: Tensor) -> float:
    return float(abs(x).max().item())


def _dot(x: Tensor, y: Tensor) -> float:
    return float(dot(x, y).item())


def _update_direction(state: State, grad: Tensor, history: int) -> Tensor:
    """Adds the last change of the gradient to the history; returns the quasi-Newton direction."""
    if state["n_iter"] == 1:
        state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
        return -grad
    changes, steps, inverse = state["old_dirs"], state["old_stps"], state["ro"]
    y, s = grad - state["prev_flat_grad"], state["d"] * state["t"]
    ys = _dot(y, s)
    if ys > 1e-10:
        if len(changes) == history:
            for kept in (changes, steps, inverse):
                kept.pop(0)
        changes.append(y)
        steps.append(s)
        inverse.append(1.0 / ys)
        state["H_diag"] = ys / _dot(y, y)
    q = -grad
    weights = []
    for y, s, r in reversed(list(zip(changes, steps, inverse, strict=True))):
        weights.append(_dot(s, q) * r)
        q = q - weights[-1] * y
    d: Tensor = q * state["H_diag"]
    for y, s, r in zip(changes, steps, inverse, strict=True):
        d = d + (weights.pop() - _dot(y, d) * r) * s
    return d


def _has_converged(
    group: Group, grad: Tensor, d: Tensor, t: float, loss: float, state: State
) -> bool:
    """Whether the changes of loss, parameters and gradients are below the tolerances."""
    tolerance = group["tolerance_change"]
    still = abs(loss - state["prev_loss"]) < tolerance or _max_abs(d * t) <= tolerance
    return bool(still or _max_abs(grad) <= group["tolerance_grad"])
