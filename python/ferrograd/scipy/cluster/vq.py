"""`scipy.cluster.vq`: centroids and distances, differentiable by the points."""

from __future__ import annotations

import warnings as _warnings
from copy import deepcopy as _deepcopy
from typing import Any

import numpy as _numpy

import ferrograd.numpy as np
from ferrograd._core import is_grad_enabled as _is_grad_enabled
from ferrograd._dispatch.detach import detach_tensors as _detached
from ferrograd.errors import (
    ArgumentError as _ArgumentError,
    NotDifferentiableError as _NotDifferentiableError,
)
from ferrograd.numpy._tensor_arguments import holds_tensor as _holds_tensor
from ferrograd.scipy._conversions import as_floats as _as_floats
from ferrograd.scipy._scipy_primitives import (
    get_scipy_function as _get_scipy_function,
    make_scipy_getattr as _make_scipy_getattr,
)

__getattr__ = _make_scipy_getattr("cluster.vq")


def whiten(obs: Any, check_finite: bool = True) -> Any:
    """The observations, `(n, k)` or `(n,)`, over their standard deviations.

    `obs / std(obs, axis=0)`; columns that do not vary stay, with SciPy's warning. Errors:
    `ValueError` for NaN and infinities, unless `check_finite=False`.

    >>> from ferrograd.scipy.cluster import vq
    >>> vq.whiten(fg.tensor([[1.0], [3.0]])).tolist()
    [[1.0], [3.0]]
    """
    if not _holds_tensor([obs]):
        return _get_scipy_function("cluster.vq.whiten")(obs, check_finite)
    known = _get_scipy_function("cluster.vq.whiten")(_to_array(obs), check_finite)
    x = _as_floats(obs)
    deviation = np.std(x, axis=0)
    same = _to_array(deviation) == 0
    return x * 1.0 if known.size == 0 else x / np.where(same, 1.0, deviation)


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The nearest row of `code_book`, `(c, k)`, to each of `obs`, `(n, k)`, and its distance.

    Returns `(codes, distances)`, both `(n,)`, the codes as an array of int32. The distances are
    differentiable by both arguments, 0 where an observation is its code. Errors: SciPy's
    `ValueError` for shapes that do not fit.

    >>> from ferrograd.scipy.cluster import vq
    >>> codes, distances = vq.vq(fg.tensor([[1.0, 1.0]]), fg.tensor([[0.0, 1.0], [5.0, 5.0]]))
    >>> codes.tolist(), distances.tolist()
    ([0], [1.0])
    """
    if not _holds_tensor([obs, code_book]):
        plain: tuple[Any, Any] = _get_scipy_function("cluster.vq.vq")(obs, code_book, check_finite)
        return plain
    codes, _ = _get_scipy_function("cluster.vq.vq")(
        _to_array(obs), _to_array(code_book), check_finite
    )
    return codes, _compute_distances(_as_floats(obs), _as_floats(code_book)[codes])


def kmeans(
    obs: Any,
    k_or_guess: Any,
    iter: int = 20,
    thresh: float = 1e-5,
    check_finite: bool = True,
    *,
    rng: Any = None,
    seed: Any = None,
) -> tuple[Any, Any]:
    """The centroids of `k` clusters of `obs`, `(n, k)`, and the mean distance from them: k-means.

    Arguments are SciPy's. A guess of the centroids is used once; for a number of centroids there
    are `iter` runs from observations chosen by `rng`. Differentiable by `obs`. The mean distance,
    which SciPy computes from the centroids before the last step, may also depend on the guess.
    Errors: `ArgumentError`, SciPy's `ValueError`.

    >>> from ferrograd.scipy.cluster import vq
    >>> x = fg.tensor([[0.0], [1.0], [8.0], [10.0]], requires_grad=True)
    >>> centroids, distortion = vq.kmeans(x, [[0.0], [9.0]])
    >>> centroids.tolist(), distortion.item()
    ([[0.5], [9.0]], 0.75)
    """
    given = {"rng": rng} if seed is None else {"seed": seed}
    if np.size(thresh) == 1 and not np.all(_to_array(thresh) >= 0):
        # SciPy would never stop.
        raise _ArgumentError(
            f"kmeans: thresh is {thresh!r}; give the smallest change that counts, 0 or more"
        )
    if not _holds_tensor([obs, k_or_guess]):
        plain: tuple[Any, Any] = _get_scipy_function("cluster.vq.kmeans")(
            obs, k_or_guess, iter, thresh, check_finite, **given
        )
        return plain
    x, points = _as_floats(obs), _to_array(_as_floats(obs))
    if np.size(k_or_guess) != 1:
        start = _as_floats(k_or_guess)
        _get_scipy_function("cluster.vq.kmeans")(
            points, _to_array(start), iter, thresh, check_finite
        )
        return _run_lloyd(x, points, start, thresh)
    count = int(_to_array(k_or_guess))
    if count != _to_array(k_or_guess) or count < 1 or iter < 1:
        raise _ArgumentError(
            f"kmeans: k_or_guess is {k_or_guess!r} and iter {iter!r}; give a number of centroids,"
            " or a guess of them, and at least one iteration"
        )
    choose = _make_rng(rng, seed)
    tries = (
        _run_lloyd(x, points, x[choose.choice(points.shape[0], size=count, replace=False)], thresh)
        for _ in range(iter)
    )
    best: tuple[Any, Any] = min(tries, key=lambda found: float(_to_array(found[1])))
    return best


def kmeans2(
    data: Any,
    k: Any,
    iter: int = 10,
    thresh: float = 1e-5,
    minit: str = "random",
    missing: str = "warn",
    check_finite: bool = True,
    *,
    rng: Any = None,
    seed: Any = None,
) -> tuple[Any, Any]:
    """The centroids of `data`, `(n, k)` or `(n,)`, after `iter` steps, and the last labels.

    Arguments, values and errors are SciPy's. Returns `(centroids, labels)`, the labels as an array.
    Differentiable by `data`: each centroid is the mean of its observations; one that has lost them
    is that of the last step in which it had some, or `k`'s from the start. Errors:
    `NotDifferentiableError` where a random one never has any and `data` requires grad.

    >>> from ferrograd.scipy.cluster import vq
    >>> x = fg.tensor([0.0, 1.0, 8.0, 10.0], requires_grad=True)
    >>> centroids, labels = vq.kmeans2(x, [0.0, 9.0], minit="matrix")
    >>> centroids.tolist(), labels.tolist()
    ([0.5, 9.0], [0, 0, 1, 1])
    """
    given: dict[str, Any] = {"rng": rng} if seed is None else {"seed": seed}
    find = _get_scipy_function("cluster.vq.kmeans2")
    if not _holds_tensor([data, k]):
        found: tuple[Any, Any] = find(data, k, iter, thresh, minit, missing, check_finite, **given)
        return found
    x = _as_floats(data)
    start = _to_array(k) if np.ndim(k) else int(_to_array(k))
    options = (thresh, minit, missing, check_finite)

    def run(steps: int, draws: dict[str, Any]) -> tuple[Any, Any]:
        centres, labels = find(_to_array(x), start, steps, *options, **draws)
        return centres, labels

    if _is_grad_enabled() and given == {"rng": None}:
        given = {"rng": _numpy.random.default_rng()}
    again = _deepcopy(given)
    book, labels = run(iter, given)
    counts = _numpy.bincount(labels, minlength=len(book))
    centroids = _compute_means(x, labels, len(book))
    if counts.all():
        return centroids, labels
    if not _is_grad_enabled() or not any(getattr(v, "requires_grad", False) for v in (x, k)):
        return np.asarray(book) + np.zeros_like(centroids), labels
    with _warnings.catch_warnings():
        _warnings.simplefilter("ignore")  # of the empty cluster, as reported by the first run
        for steps in range(iter - 1, 0, -1):
            _, before = run(steps, _deepcopy(again))
            centroids = _keep_empty_centroids(
                centroids, counts, _compute_means(x, before, len(book))
            )
            counts = counts + _numpy.bincount(before, minlength=len(book))
    if not counts.all():
        centroids = _keep_empty_centroids(
            centroids, counts, _initial_centroids(x, k, book, minit, counts)
        )
    return centroids, labels


def _keep_empty_centroids(centroids: Any, counts: Any, earlier: Any) -> Any:
    """Replaces the centroids of empty clusters by those of an earlier step."""
    empty = (counts == 0).reshape((-1,) + (1,) * (np.ndim(centroids) - 1))
    return np.where(empty, earlier, centroids)


def _initial_centroids(x: Any, k: Any, book: Any, minit: str, counts: Any) -> Any:
    """The initial positions of centroids that never had an observation."""
    if np.ndim(k):
        return np.asarray(k)
    if minit == "random":
        raise _NotDifferentiableError(
            f"kmeans2: cluster {int(_numpy.argmin(counts))} never has an observation, and its"
            " random centroid has no derivative; begin elsewhere (k, minit, rng)"
        )
    # The others are observations.
    points = _to_array(x).reshape(len(_to_array(x)), -1)
    apart = _numpy.abs(points - book.reshape(len(book), 1, -1)).sum(-1)
    return x[_numpy.argmin(apart, axis=1)]


def _run_lloyd(x: Any, points: Any, start: Any, thresh: float) -> tuple[Any, Any]:
    """The centroids when the mean distance changes by no more than `thresh`, and that distance."""
    assign = _get_scipy_function("cluster.vq.vq")
    book, known, last = start, _to_array(start), _numpy.inf
    while True:
        codes, distances = assign(points, known, check_finite=False)
        mean = distances.mean(axis=-1)
        before = book, codes
        used = _numpy.unique(codes)
        book = _compute_means(x, _numpy.searchsorted(used, codes), len(used))
        known = _to_array(book)
        if abs(last - mean) <= thresh:
            break
        last = mean
    return book, np.mean(_compute_distances(x, before[0][before[1]]))


def _compute_means(x: Any, labels: Any, count: int) -> Any:
    """The mean of the rows of each label; 0 for a label without rows."""
    member = _numpy.equal.outer(_numpy.arange(count), labels).astype(x.dtype)
    return np.matmul(member / _numpy.maximum(member.sum(axis=1, keepdims=True), 1), x)


def _to_array(value: Any) -> Any:
    return _numpy.asarray(_detached(value))


def _compute_distances(x: Any, y: Any) -> Any:
    if np.ndim(x) == 1:
        return np.abs(x - y)
    return np.linalg.norm(x - y, axis=-1)


def _make_rng(rng: Any, seed: Any) -> Any:
    if seed is None:
        return _numpy.random.default_rng(rng)
    return _get_scipy_function("_lib._util.check_random_state")(seed)
