"""The rules: how an element of a parameter changes by that of its gradient and its state.

Owns: one function for each rule, on real tensors. Never makes state.
Invariant: a rule changes its first argument and the state in place and reads the gradient; numbers
are floats, or tensors of no axes in the dtype of the parameter.
"""

from __future__ import annotations

from collections.abc import Callable

from ferrograd._core import Tensor, sign, sqrt, where

#: A number, or a tensor of one.
Number = float | Tensor


def sgd(
    p: Tensor, g: Tensor, v: Tensor, lr: Number, momentum: float, keep: float, nesterov: float
) -> None:
    """`v = momentum v + keep g`, `p -= lr v`, or of `g + momentum v`."""
    v *= momentum
    v += g if keep == 1.0 else keep * g
    p -= lr * (g + momentum * v if nesterov else v)


def plain(p: Tensor, g: Tensor, lr: Number) -> None:
    """`p -= lr g`."""
    p -= lr * g


def _moments(m: Tensor, v: Tensor, g: Tensor, beta1: float, beta2: float) -> None:
    m.lerp_(g, 1.0 - beta1)
    v *= beta2
    v.addcmul_(g, g, 1.0 - beta2)


def adam(
    p: Tensor,
    g: Tensor,
    m: Tensor,
    v: Tensor,
    shrink: Number,
    beta1: float,
    beta2: float,
    rate: Number,
    scale: Number,
    eps: float,
) -> None:
    """`p = shrink p - rate m / (scale √v + eps)`."""
    _moments(m, v, g, beta1, beta2)
    _shrunk(p, shrink)
    p -= rate * m / (sqrt(v) * scale + eps)


def amsgrad(
    p: Tensor,
    g: Tensor,
    m: Tensor,
    v: Tensor,
    largest: Tensor,
    shrink: Number,
    beta1: float,
    beta2: float,
    rate: Number,
    scale: Number,
    eps: float,
) -> None:
    """Adam with the largest v so far."""
    _moments(m, v, g, beta1, beta2)
    _shrunk(p, shrink)
    largest.maximum_(v)
    p -= rate * m / (sqrt(largest) * scale + eps)


def _shrunk(p: Tensor, shrink: Number) -> None:
    if not isinstance(shrink, float) or shrink != 1.0:
        p *= shrink


def nadam(
    p: Tensor,
    g: Tensor,
    m: Tensor,
    v: Tensor,
    shrink: Number,
    beta1: float,
    beta2: float,
    now: Number,
    after: Number,
    correction: Number,
    eps: float,
) -> None:
    """`p = shrink p - (now g + after m) / (√(v / correction) + eps)`."""
    _moments(m, v, g, beta1, beta2)
    _shrunk(p, shrink)
    below = sqrt(v / correction) + eps
    p -= now * g / below
    p -= after * m / below


def radam(
    p: Tensor,
    g: Tensor,
    m: Tensor,
    v: Tensor,
    shrink: Number,
    beta1: float,
    beta2: float,
    rate: Number,
    rectified: Number,
    eps: float,
) -> None:
    """`p = shrink p - rate m w`, w is `rectified / (√v + eps)`, 1 if that number is below 0."""
    _moments(m, v, g, beta1, beta2)
    _shrunk(p, shrink)
    p -= rate * m * where(rectified >= 0.0, rectified / (sqrt(v) + eps), 1.0)


def adamax(
    p: Tensor, g: Tensor, m: Tensor, u: Tensor, beta1: float, beta2: float, rate: Number, eps: float
) -> None:
    """`u = max(beta2 u, |g| + eps)`, `p -= rate m / u`."""
    m.lerp_(g, 1.0 - beta1)
    u *= beta2
    u.maximum_(abs(g) + eps)
    p -= rate * m / u


def adagrad(p: Tensor, g: Tensor, total: Tensor, rate: Number, eps: float) -> None:
    """`total += g²`, `p -= rate g / (√total + eps)`."""
    total.addcmul_(g, g, 1.0)
    p -= rate * g / (sqrt(total) + eps)


def adadelta(
    p: Tensor, g: Tensor, v: Tensor, moved: Tensor, lr: Number, rho: float, eps: float
) -> None:
    """`d = g √(moved + eps) / √(v + eps)`, `p -= lr d`; both are averages of squares."""
    v *= rho
    v.addcmul_(g, g, 1.0 - rho)
    d = sqrt(moved + eps) / sqrt(v + eps) * g
    moved *= rho
    moved.addcmul_(d, d, 1.0 - rho)
    p -= lr * d


def rmsprop(
    p: Tensor,
    g: Tensor,
    v: Tensor,
    momenta: Tensor | None,
    centre: Tensor | None,
    lr: Number,
    alpha: float,
    eps: float,
    momentum: float,
) -> None:
    """`p -= lr d`, where `d = g / (√(v - centre²) + eps)`, or its accumulation with momentum."""
    v *= alpha
    v.addcmul_(g, g, 1.0 - alpha)
    spread = v
    if centre is not None:
        centre.lerp_(g, 1.0 - alpha)
        spread = v - centre * centre
    d = g / (sqrt(spread) + eps)
    if momenta is not None:
        momenta *= momentum
        momenta += d
        d = momenta
    p -= lr * d


def asgd(p: Tensor, g: Tensor, mean: Tensor, eta: Number, shrink: Number, weight: Number) -> None:
    """`p = shrink p - eta g`, and `mean += weight (p - mean)`, which is p where the weight is 1."""
    p *= shrink
    p -= eta * g
    mean.copy_(where(weight == 1.0, p, mean + (p - mean) * weight))


def rprop(
    p: Tensor,
    g: Tensor,
    before: Tensor,
    size: Tensor,
    down: float,
    up: float,
    least: float,
    most: float,
) -> None:
    """Steps of `size`, which grows while the sign of g stays and shrinks when it changes."""
    agree = g * before
    size *= where(agree > 0.0, up, where(agree < 0.0, down, 1.0))
    size.clip_(least, most)
    before.copy_(where(agree < 0.0, 0.0, g))
    p -= sign(before) * size


RULES: dict[str, Callable[..., None]] = {
    "plain": plain,
    "sgd": sgd,
    "adam": adam,
    "amsgrad": amsgrad,
    "nadam": nadam,
    "radam": radam,
    "adamax": adamax,
    "adagrad": adagrad,
    "adadelta": adadelta,
    "rmsprop": lambda p, g, v, *rest: rmsprop(p, g, v, None, None, *rest),
    "rmsprop_momentum": lambda p, g, v, b, *rest: rmsprop(p, g, v, b, None, *rest),
    "rmsprop_centered": lambda p, g, v, c, *rest: rmsprop(p, g, v, None, c, *rest),
    "rmsprop_centered_momentum": rmsprop,
    "asgd": asgd,
    "rprop": rprop,
}
