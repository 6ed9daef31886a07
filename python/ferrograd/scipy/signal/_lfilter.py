"""Recursive filters along an axis: `lfilter`.

SciPy computes the recursion. Invariant: the cost of a derivative is linear in the length.
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.extend import Primitive
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._closed_over import fixed, floats
from ferrograd.scipy._computed_by_scipy import library, of_scipy


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The filter `a[0] y[n] = Σ b[k] x[n - k] - Σ a[k] y[n - k]` along an axis.

    `b` and `a` are vectors. `zi` is the initial state of the delays, with the shape of `x` and
    `max(len(a), len(b)) - 1` elements along the axis; with it the result is `(y, zf)`.
    Differentiable to any order by all of them. With `A y = B x`, triangular matrices of constant
    diagonals, and `q = A⁻ᵀ g`, which is the recursion over the reversed sequence, the derivatives
    are `Bᵀ q` by `x`, `Σ q[n] x[n - k]` by `b[k]` and `-Σ q[n] y[n - k]` by `a[k]`. Errors:
    `ArgumentError` if `a[0]` is 0, `ShapeError`.

    >>> from ferrograd.scipy import signal
    >>> decay = lambda r: signal.lfilter([1.0], np.array([1.0, -r]), [1.0, 0, 0, 0])[3]
    >>> float(decay(0.5)), fg.grad(decay)(0.5)  # r³
    (0.125, 0.75)
    """
    if not holds_tensor([b, a, x, zi]):
        return library("signal.lfilter")(b, a, x, axis, zi)
    b, a, x = floats(b), floats(a), floats(x)
    for name, taps in (("b", b), ("a", a)):
        if np.ndim(taps) > 1 or np.shape(taps) == (0,):
            raise ShapeError(
                f"lfilter: {name} has shape {np.shape(taps)}; give a vector with elements"
            )
    if not np.ndim(x):
        raise ShapeError("lfilter: x has no axis; give at least a vector")
    b, a = np.reshape(b, -1), np.reshape(a, -1)
    if fixed(a)[0] == 0:
        raise ArgumentError("lfilter: a[0] is 0; divide by the first coefficient that is not")
    x = np.moveaxis(x, axis, -1)
    y = _filtered(b, a, x)
    if zi is None:
        return np.moveaxis(y, -1, axis)
    delays = max(np.shape(a)[0], np.shape(b)[0]) - 1
    zi = np.moveaxis(floats(zi), axis, -1)
    if np.shape(zi)[-1] != delays:
        raise ShapeError(
            f"lfilter: zi has {np.shape(zi)[-1]} elements along the axis, and the filter {delays}"
            " delays; give one for each"
        )
    zi = np.broadcast_to(zi, (*np.shape(x)[:-1], delays))
    y = y + _response(a, zi, np.shape(x)[-1])
    return np.moveaxis(y, -1, axis), np.moveaxis(_state(b, a, x, y, zi), -1, axis)


def lfilter_zi(b: Any, a: Any) -> Any:
    """The state of `lfilter` for a step that has lasted forever, differentiable by `b` and `a`.

    >>> from ferrograd.scipy import signal
    >>> signal.lfilter_zi([1.0], [1.0, -0.5]).tolist()
    [1.0]
    """
    b, a = floats(b), floats(a)
    first = int(np.asarray(fixed(a) != 0).argmax())
    a = a[first:]
    b, a = b / a[0], a / a[0]
    count = max(np.shape(a)[0], np.shape(b)[0])
    b, a = _longer(b, count), _longer(a, count)
    rest = b[1:] - a[1:] * b[0]
    start = np.sum(rest) / np.sum(a)
    return np.cumsum(a)[:-1] * start - (np.cumsum(rest) - rest)


def _longer(taps: Any, count: int) -> Any:
    return np.pad(taps, (0, count - np.shape(taps)[0]))


def _backwards(b: Any, a: Any, g: Any) -> Any:
    """The transposed filter: over the reversed sequence, reversed."""
    return np.flip(_filtered(b, a, np.flip(g, -1)), -1)


def _lagged(q: Any, x: Any, count: int) -> Any:
    """`Σ q[n] x[n - k]` for each `k`."""
    length = np.shape(x)[-1]
    return np.stack([np.sum(q[..., k:] * x[..., : max(length - k, 0)]) for k in range(count)])


def _poles(a: Any, g: Any) -> Any:
    return _backwards(np.ones(1, a.dtype), a, g)


def _by_b(ans: Any, b: Any, a: Any, x: Any) -> Any:
    return lambda g: _lagged(_poles(a, g), x, np.shape(b)[0])


def _by_a(ans: Any, b: Any, a: Any, x: Any) -> Any:
    return lambda g: -_lagged(_poles(a, g), ans, np.shape(a)[0])


def _by_x(ans: Any, b: Any, a: Any, x: Any) -> Any:
    return lambda g: _backwards(b, a, g)


#: The filter along the last axis.
_filtered: Primitive = of_scipy("signal.lfilter", _by_b, _by_a, _by_x)


def _response(a: Any, zi: Any, length: int) -> Any:
    """The contribution of the initial state, which enters one delay after the other."""
    delays = np.shape(zi)[-1]
    wide = [(0, 0)] * (np.ndim(zi) - 1) + [(0, max(length - delays, 0))]
    return _filtered(a[:1], a, np.pad(zi, wide)[..., :length])


def _state(b: Any, a: Any, x: Any, y: Any, zi: Any) -> Any:
    """The delays after the last sample: `Σ b[k] x[N + i - k] - Σ a[k] y[N + i - k]`, `k > i`."""
    delays, length = np.shape(zi)[-1], np.shape(x)[-1]
    b, a = _longer(b / a[0], 2 * delays + 1), _longer(a / a[0], 2 * delays + 1)
    before = [(0, 0)] * (np.ndim(x) - 1) + [(delays, 0)]
    lags = [range(i + 1, i + 1 + delays) for i in range(delays)]
    rows = [[k if k <= delays else 2 * delays for k in row] for row in lags]
    if not delays:
        return zi
    late_x = np.flip(np.pad(x, before)[..., -delays:], -1)
    late_y = np.flip(np.pad(y, before)[..., -delays:], -1)
    kept = np.pad(zi[..., length:], [(0, 0)] * (np.ndim(zi) - 1) + [(0, min(length, delays))])
    return late_x @ b[rows].T - late_y @ a[rows].T + kept
