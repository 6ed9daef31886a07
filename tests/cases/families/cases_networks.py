"""The rows of the operation table that networks are made of: `fg.nn.functional`.

Images: `cases_images.py`. What a row says: `cases.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from case_model import A, Case, call, op

MAT, GRID = A(3, 4), A(2, 4, 3)
PART = {"low": 0.1, "high": 0.9}
#: Differences of two such arrays stay clear of 0, 0.7 and 1.
LOW, HIGH = {"low": -3.0, "high": -2.4}, {"low": -1.0, "high": -0.8}
NEAR = {"low": -0.3, "high": 0.3}
REDUCTIONS = ({}, {"reduction": "sum"}, {"reduction": "none"})

Function = Callable[..., Any]


def reduced(losses: Any, reduction: str = "mean") -> Any:
    means = {"mean": np.mean, "sum": np.sum, "none": np.asarray}
    return means[reduction](losses)


def euclidean_distances(x1: Any, x2: Any = None) -> Any:
    if x2 is None:
        return euclidean_distances(x1, x1)[np.triu_indices(len(x1), 1)]
    return np.sqrt(((x1[..., :, None, :] - x2[..., None, :, :]) ** 2).sum(-1))


def mse_loss(x: Any, target: Any, reduction: str = "mean") -> Any:
    return reduced((x - target) ** 2, reduction)


def l1_loss(x: Any, target: Any, reduction: str = "mean") -> Any:
    return reduced(np.abs(x - target), reduction)


def huber_loss(x: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    return reduced(special.huber(delta, x - target), reduction)


def smooth_l1_loss(x: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    d = np.abs(x - target)
    return reduced(special.huber(beta, d) / beta if beta else d, reduction)


def limited(p: Any) -> Any:
    return np.maximum(np.log(p), -100.0)


def binary_cross_entropy(x: Any, target: Any, weight: Any = 1.0, reduction: str = "mean") -> Any:
    return reduced(-weight * (target * limited(x) + (1 - target) * limited(1 - x)), reduction)


def binary_cross_entropy_with_logits(
    x: Any, target: Any, weight: Any = 1.0, reduction: str = "mean", pos_weight: Any = 1.0
) -> Any:
    good, bad = special.log_expit(x), special.log_expit(-x)
    return reduced(-weight * (pos_weight * target * good + (1 - target) * bad), reduction)


def kl_div(x: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    p = np.exp(target) if log_target else target
    losses = special.xlogy(p, p) - p * x
    return losses.sum() / len(x) if reduction == "batchmean" else reduced(losses, reduction)


def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    x1, x2 = np.broadcast_arrays(x1, x2)
    lengths = [np.maximum(np.linalg.norm(x, axis=axis), eps) for x in (x1, x2)]
    return (x1 * x2).sum(axis) / lengths[0] / lengths[1]


def nll_loss(
    x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    x, target = np.moveaxis(x, min(x.ndim - 1, 1), -1), np.asarray(target)
    weight = np.ones(x.shape[-1], x.dtype) if weight is None else weight
    kept = target != ignore_index
    chosen = np.where(kept, target, 0)[..., None]
    counts = np.where(kept, weight[chosen[..., 0]], 0.0).astype(x.dtype)
    losses = -np.take_along_axis(x, chosen, -1)[..., 0] * counts
    return losses.sum() / counts.sum() if reduction == "mean" else reduced(losses, reduction)


def cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    axis, target = min(x.ndim - 1, 1), np.asarray(target)
    logs, classes = special.log_softmax(x, axis=axis), x.shape[axis]
    if target.dtype.kind == "f":
        target = target * (1 - label_smoothing) + label_smoothing / classes
        shape = [-1 if a == axis else 1 for a in range(x.ndim)]
        parts = logs * target * (1.0 if weight is None else weight.reshape(shape))
        return reduced(-parts.sum(axis), reduction)
    losses = nll_loss(logs, target, weight, ignore_index, "none")
    counts = nll_loss(-np.ones_like(x), target, weight, ignore_index, "none")
    spread = np.moveaxis(logs, axis, -1) * (1.0 if weight is None else weight)
    spread = -spread.sum(-1) / classes * (target != ignore_index)
    losses = (1 - label_smoothing) * losses + label_smoothing * spread
    return losses.sum() / counts.sum() if reduction == "mean" else reduced(losses, reduction)


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    return x @ weight if bias is None else x @ weight + bias


def dropout_mask(x: Any, mask: Any, p: float = 0.5) -> Any:
    return x * np.asarray(mask) / (1 - p)


def threshold(x: Any, threshold: float, value: float) -> Any:
    return np.where(x <= threshold, value, x)


def hardshrink(x: Any, lambd: float = 0.5) -> Any:
    return np.where(abs(x) <= lambd, 0.0, x)


def softshrink(x: Any, lambd: float = 0.5) -> Any:
    return x - np.clip(x, -lambd, lambd)


def prelu(x: Any, weight: Any) -> Any:
    if np.size(weight) == 1:
        weight = np.reshape(weight, ())
    elif np.ndim(x) > 2:
        weight = np.reshape(weight, (-1,) + (1,) * (np.ndim(x) - 2))
    return np.where(x > 0, x, weight * x)


def layer_norm(x: Any, shape: Any, weight: Any = 1.0, bias: Any = 0.0, eps: float = 1e-5) -> Any:
    axes = tuple(range(-len(shape), 0))
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt(x.var(axes, keepdims=True) + eps) * weight + bias


def rms_norm(x: Any, shape: Any, weight: Any = 1.0, eps: float = 2.0**-52) -> Any:
    axes = tuple(range(-len(shape), 0))
    return x / np.sqrt((x**2).mean(axes, keepdims=True) + eps) * weight


def per_channel(x: Any, p: Any) -> Any:
    return p if np.ndim(p) == 0 else p.reshape(1, -1, *(1,) * (x.ndim - 2))


def group_norm(x: Any, groups: int, weight: Any = 1.0, bias: Any = 0.0, eps: float = 1e-5) -> Any:
    rows = x.reshape(len(x), groups, -1)
    y = layer_norm(rows, rows.shape[-1:], eps=eps).reshape(x.shape)
    return y * per_channel(x, weight) + per_channel(x, bias)


def batch_norm(
    x: Any,
    mean: Any = None,
    var: Any = None,
    weight: Any = 1.0,
    bias: Any = 0.0,
    training: bool = False,
    eps: float = 1e-5,
) -> Any:
    axes = (0, *range(2, x.ndim))
    mean, var = (x.mean(axes), x.var(axes)) if training else (mean, var)
    y = (x - per_channel(x, mean)) / np.sqrt(per_channel(x, var) + eps)
    return y * per_channel(x, weight) + per_channel(x, bias)


def attention(
    q: Any, k: Any, v: Any, attn_mask: Any = None, is_causal: bool = False, scale: Any = None
) -> Any:
    scores = q @ np.swapaxes(k, -1, -2) * (scale or q.shape[-1] ** -0.5)
    masks = [np.tri(*scores.shape[-2:], dtype=bool)] if is_causal else []
    for mask in [*masks, *([] if attn_mask is None else [np.asarray(attn_mask)])]:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return special.softmax(scores, axis=-1) @ v


def rope(x: Any, positions: Any = None, base: float = 10000.0, interleaved: bool = False) -> Any:
    pairs, length = x.shape[-1] // 2, x.shape[-2]
    at = np.arange(length) if positions is None else np.asarray(positions)
    angle = at[:, None] * base ** -(np.arange(pairs) / pairs)
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :pairs], x[..., pairs:])
    a, b = a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)
    if interleaved:
        return np.stack([a, b], -1).reshape(x.shape).astype(x.dtype)
    return np.concatenate([a, b], -1).astype(x.dtype)


def sequence(step: Function, x: Any, states: tuple[Any, ...], reverse: bool) -> list[Any]:
    """The states of a recurrent layer after every step, in the order of time."""
    after: list[Any] = []
    for row in x[::-1] if reverse else x:
        states = step(row, *states)
        after.append(states)
    after = after[::-1] if reverse else after
    return [np.stack(parts) for parts in zip(*after, strict=True)]


def lstm_sequence(x: Any, h: Any, weight: Any, c: Any, reverse: bool = False) -> Any:
    def step(row: Any, h: Any, c: Any) -> Any:
        i, f, g, o = np.split(row + h @ weight.T, 4, -1)
        c = special.expit(f) * c + special.expit(i) * np.tanh(g)
        return special.expit(o) * np.tanh(c), c

    return sequence(step, x, (h, c), reverse)


def gru_sequence(x: Any, h: Any, weight: Any, bias: Any, reverse: bool = False) -> Any:
    def step(row: Any, h: Any) -> Any:
        (r, z, n), (hr, hz, hn) = np.split(row, 3, -1), np.split(h @ weight.T, 3, -1)
        z, n = special.expit(z + hz), np.tanh(n + special.expit(r + hr) * (hn + bias))
        return ((1 - z) * n + z * h,)

    return sequence(step, x, (h,), reverse)[0]


def row(name: str, ref: Function, *calls: Any, **over: Any) -> Case:
    """A row of `fg.nn.functional`."""
    return op(name, ref, *calls, path=f"nn.functional.{name}", **{"ints": None, **over})


def nested(*values: Any) -> Any:
    """An array that is given, not made."""
    return np.array(values)


KEPT = np.array([[True, False, True, True, False], [True, True, True, True, True],
                 [False, True, True, False, True]])  # fmt: skip
NUMBERS = np.array([[3, 0, 2], [1, 2, 2]])

# fmt: off
LOSSES = (
    row("euclidean_distances", euclidean_distances, call(MAT, A(5, 4)), call(A(2, 3, 2), A(2, 4, 2)),
        call(A(2, 1, 3, 3), A(2, 1, 40, 3)), call(A(6, 3)), f32=1e-5, finite=True,
        large=(call(A(200, 9), A(150, 9)), call(A(150, 9)))),
    row("mse_loss", mse_loss, *(call(MAT, MAT, **r) for r in REDUCTIONS), call(A(), A()), order=3),
    row("l1_loss", l1_loss, *(call(A(3, 4, **LOW), A(3, 4, **HIGH), **r) for r in REDUCTIONS),
        kinks=(((1.0, 1.0), (0.0, 0.0)),)),
    row("huber_loss", huber_loss, *(call(A(3, **LOW), A(3, **HIGH), **r) for r in REDUCTIONS),
        call(A(3, 4, **NEAR), A(3, 4, **NEAR), delta=0.7),
        call(A(4, **LOW), A(4, **HIGH), delta=0.7)),
    row("smooth_l1_loss", smooth_l1_loss,
        *(call(A(3, **LOW), A(3, **HIGH), **r) for r in REDUCTIONS),
        call(A(3, 4, **NEAR), A(3, 4, **NEAR), beta=0.7), call(A(4, **LOW), A(4, **HIGH), beta=0.0)),
    row("binary_cross_entropy", binary_cross_entropy,
        *(call(A(3, 4, **PART), A(3, 4, **PART), **r) for r in REDUCTIONS),
        call(A(3, 4, **PART), A(3, 4, **PART), A(4, **PART)), f32=1e-5, finite=True),
    row("binary_cross_entropy_with_logits", binary_cross_entropy_with_logits,
        *(call(MAT, A(3, 4, **PART), **r) for r in REDUCTIONS),
        call(MAT, A(3, 4, **PART), A(4, **PART), "none", A(4, **PART)), f32=1e-5, finite=True),
    row("kl_div", kl_div, *(call(MAT, A(3, 4, **PART), **r) for r in REDUCTIONS),
        call(MAT, A(3, 4, **PART), reduction="batchmean"), call(MAT, MAT, log_target=True),
        f32=1e-5, finite=True, kinks=(((1.0, 0.0), (0.0, 0.0)),)),
    row("cosine_similarity", cosine_similarity, call(MAT, MAT), call(GRID, A(4, 3), axis=-1),
        call(MAT, A(1, 4)), f32=1e-5, finite=True,
        kinks=((([[0.0, 0.0]], [[0.0, 0.0]]), ([[0.0, 0.0]], [[0.0, 0.0]])),)),
    row("nll_loss", nll_loss, *(call(MAT, nested(3, 0, 2), **r) for r in REDUCTIONS),
        call(MAT, nested(3, -100, 2)), call(GRID, NUMBERS, A(4, **PART), 2), call(A(4), 2),
        call(GRID, NUMBERS, A(4, **PART), 2, "none"), finite=True),
    op("cross_entropy", cross_entropy, *(call(MAT, nested(3, 0, 2), **r) for r in REDUCTIONS),
       call(MAT, nested(3, -100, 2)), call(MAT, nested(3, 1, 2), ignore_index=1), call(A(4), 2),
       *(call(GRID, NUMBERS, A(4, **PART), 2, **r) for r in REDUCTIONS),
       call(GRID, NUMBERS, A(4, **PART), 2, label_smoothing=0.1),
       call(MAT, nested(3, 0, 2), label_smoothing=0.3), call(MAT, A(3, 4, **PART)),
       call(GRID, A(2, 4, 3, **PART), A(4, **PART), label_smoothing=0.1),
       call(MAT, A(3, 4, **PART), reduction="none"), call(A(2, 4, 2, 2), nested(
           [[0, 1], [2, 3]], [[3, 2], [1, 0]])), order=3, ints=None, f32=1e-5, finite=True,
       large=(call(A(300, 400), np.arange(300)),)),
)

LAYERS = (
    row("linear", linear, call(MAT, A(4, 2)), call(GRID, A(3, 2), A(2)), call(A(4), A(4, 2)),
        call(A(0, 4), A(4, 2)), f32=1e-5),
    row("dropout_mask", dropout_mask, call(MAT, nested(True, False, True, True)),
        call(MAT, nested(1, 0, 1, 1), 0.2),
        large=(call(A(200, 200), np.eye(200, dtype=bool), 0.2),)),
    row("threshold", threshold, call(MAT, 0.25, -2.0), call(A(0, 3), 1.0, 0.0)),
    row("hardshrink", hardshrink, call(MAT), call(MAT, 0.25)),
    row("softshrink", softshrink, call(MAT), call(GRID, 0.25)),
    row("prelu", prelu, call(MAT, A(4)), call(GRID, A(1)),
        large=(call(A(200, 200), A(200)),)),
    row("layer_norm", layer_norm, call(MAT, (4,)), call(MAT, (4,), A(4), A(4)),
        call(GRID, (4, 3), A(4, 3), A(4, 3), eps=1e-2), f32=1e-5, finite=True,
        large=(call(A(200, 500), (500,), A(500), A(500)),)),
    row("rms_norm", rms_norm, call(MAT, (4,), eps=1e-6), call(MAT, (4,), A(4), 1e-3),
        call(GRID, (4, 3), A(4, 3), 1e-2), f32=1e-5, finite=True,
        large=(call(A(200, 500), (500,), A(500), 1e-6),)),
    row("group_norm", group_norm, call(GRID, 2), call(GRID, 4, A(4), A(4)),
        call(A(2, 4, 2, 2), 1, A(4), eps=1e-2), f32=1e-5, finite=True),
    row("batch_norm", batch_norm, call(A(5, 4), training=True),
        call(GRID, None, None, A(4), A(4), True), call(A(2, 3, 2, 2), training=True, eps=1e-2),
        call(GRID, A(4), A(4, **PART)), call(GRID, A(4), A(4, **PART), A(4), A(4)),
        f32=1e-5, finite=True),
    row("scaled_dot_product_attention", attention, call(A(2, 3, 4), A(2, 5, 4), A(2, 5, 3)),
        call(A(2, 2, 3, 2), A(2, 2, 3, 2), A(2, 2, 3, 2), is_causal=True),
        call(A(3, 4), A(5, 4), A(5, 2), A(3, 5), scale=0.3), call(A(3, 4), A(5, 4), A(5, 2), KEPT),
        f32=1e-5, finite=True),
    row("lstm_sequence", lstm_sequence, call(A(3, 2, 8), A(2, 2), A(8, 2), A(2, 2)),
        call(A(1, 2, 4), A(2, 1), A(4, 1), A(2, 1), True),
        call(A(3, 1, 12), A(1, 3), A(12, 3), A(1, 3), reverse=True), f32=1e-5, finite=True),
    row("gru_sequence", gru_sequence, call(A(3, 2, 6), A(2, 2), A(6, 2), A(2)),
        call(A(1, 2, 3), A(2, 1), A(3, 1), A(1), True),
        call(A(3, 1, 9), A(1, 3), A(9, 3), A(3), reverse=True), f32=1e-5, finite=True),
    row("rope", rope, call(A(5, 4)), call(A(2, 3, 6), interleaved=True),
        call(A(3, 4), nested(4, 0, 7), 100.0), f32=1e-5, finite=True),
)
# fmt: on

CASES = (*LOSSES, *LAYERS)
