"""Connectionist temporal classification.

Source: Graves et al., 2006. Invariant: the derivative is that of the recursion with respect to the
given log-probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray, where
from ferrograd._tensor import creation
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn.functional._arguments import check_integer, check_reduction

#: The logarithm of an impossible path: finite, so that no derivative is NaN.
_LOG_ZERO = -1e30


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability of a label sequence, summed over all its alignments in time.

    Shapes: log_probs (T, N, C) or (T, C); targets (N, S), or all labels one after another;
    lengths (N). The mean divides each loss by its number of labels (at least 1) first. A sequence
    that is too short for its labels has an infinite loss, or with `zero_infinity` 0 and no
    gradient. Lengths and concatenated targets are read when the function is recorded.
    PyTorch's gradient by `log_probs` is that of logits in front of `log_softmax`; by these logits
    both are the same.
    Errors: `ShapeError` and `ArgumentError` for lengths and labels that do not fit.

    >>> import ferrograd as fg
    >>> log_probs = fg.log_softmax(fg.zeros(2, 1, 2), -1)
    >>> loss = fg.nn.functional.ctc_loss(log_probs, fg.tensor([[1]]), [2], [1])
    >>> round(fg.exp(-loss).item(), 4)
    0.75
    """
    check_reduction("ctc_loss", reduction)
    x = asarray(log_probs)
    if x.ndim == 2:
        x = x.unsqueeze(1)
        single = reduction == "none"
    else:
        single = False
    if x.ndim != 3:
        raise ShapeError(f"ctc_loss: log_probs of shape {tuple(x.shape)}; give (T, N, C)")
    steps, labels, counts = _parse_arguments(x, targets, input_lengths, target_lengths, blank)
    losses = -_log_likelihood(x, steps, labels, counts, blank)
    impossible = losses.detach() > -0.5 * _LOG_ZERO
    losses = where(impossible, 0.0 if zero_infinity else np.inf, losses)
    if reduction == "sum":
        return losses.sum()
    if reduction == "mean":
        return (losses / np.maximum(counts, 1).astype(x.dtype)).mean()
    return losses[0] if single else losses


def _convert_lengths(what: str, values: Any, rows: int) -> np.ndarray:
    given = values.detach().numpy() if isinstance(values, Tensor) else np.asarray(values)
    given = given.reshape(-1)
    if given.dtype.kind not in "iu" or given.size != rows:
        raise ArgumentError(f"ctc_loss: {what} is {values!r}; give {rows} integers")
    return given.astype(np.int64)


def _parse_arguments(
    x: Tensor, targets: Any, input_lengths: Any, target_lengths: Any, blank: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lengths in time, padded labels (N, S), lengths in labels."""
    time, rows, classes = (int(n) for n in x.shape)
    steps = _convert_lengths("input_lengths", input_lengths, rows)
    counts = _convert_lengths("target_lengths", target_lengths, rows)
    given = targets.detach().numpy() if isinstance(targets, Tensor) else np.asarray(targets)
    if not 0 <= check_integer("ctc_loss", "blank", blank, 0) < classes:
        raise ArgumentError(f"ctc_loss: blank is {blank}; give a class from 0 to {classes - 1}")
    if (steps < 0).any() or (steps > time).any():
        raise ArgumentError(f"ctc_loss: input_lengths {steps.tolist()}; they are at most {time}")
    longest = int(counts.max(initial=0))
    labels = np.zeros((rows, longest), np.int64)
    if given.ndim == 1 and given.size == counts.sum():
        for row, part in enumerate(np.split(given, np.cumsum(counts)[:-1])):
            labels[row, : len(part)] = part
    elif given.ndim == 2 and len(given) == rows and given.shape[1] >= longest:
        for row, count in enumerate(counts):
            labels[row, :count] = given[row, :count]
    else:
        raise ShapeError(
            f"ctc_loss: targets of shape {given.shape} with target_lengths {counts.tolist()};"
            f" give ({rows}, {longest}) or ({int(counts.sum())},)"
        )
    wrong = labels[(labels < 0) | (labels >= classes)]
    if wrong.size:
        raise ArgumentError(
            f"ctc_loss: the target {wrong[0]} is outside the classes 0 to {classes - 1}; give class"
            " numbers from these"
        )
    return steps, labels, counts


def _log_likelihood(
    x: Tensor, steps: np.ndarray, labels: np.ndarray, counts: np.ndarray, blank: int
) -> Tensor:
    """The logarithm of the probability of each row's labels."""
    rows, longest = labels.shape
    states = np.full((rows, 2 * longest + 1), blank)
    states[:, 1::2] = labels
    # A state may be reached by skipping one, if its label is not blank and not the previous label.
    skips = np.zeros(states.shape, bool)
    skips[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    ends = np.arange(states.shape[1])
    emitted = _core.unbind(_core.take_along_axis(x, states[None], -1))
    # Transitions from the same state and from one and two states before; others are impossible.
    barred = np.zeros((*states.shape, 3), x.dtype)
    barred[..., 0] = np.where(skips, 0.0, _LOG_ZERO)
    before = creation.full((rows, 2), _LOG_ZERO, dtype=x.dtype)
    alpha = where(ends < 2, emitted[0], _LOG_ZERO)
    for t in range(1, int(x.shape[0])):
        three = _core.sliding_window_view(_core.concatenate((before, alpha), 1), 3, 1)
        # A path below this bound is impossible.
        reached = _core.clip(_core.logsumexp(three + barred, -1) + emitted[t], _LOG_ZERO, None)
        ended = t >= steps
        alpha = where(ended[:, None], alpha, reached) if ended.any() else reached
    last = (ends == 2 * counts[:, None]) | (ends == 2 * counts[:, None] - 1)
    likelihood = _core.logsumexp(where(last, alpha, _LOG_ZERO), 1)
    # Without a step, only no labels at all are certain.
    return where(steps > 0, likelihood, np.where(counts == 0, 0.0, _LOG_ZERO).astype(x.dtype))
