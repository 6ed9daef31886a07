"""Recursive filters along an axis: `lfilter`.

SciPy computes the recursion. Invariant: the cost of a derivative is linear in the length.
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.extend import Primitive
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import as_floats, detach
from ferrograd.scipy._scipy_primitives import get_scipy_function, make_scipy_primitive


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
        return get_scipy_function("signal.lfilter")(b, a, x, axis, zi)
    b, a, x = as_floats(b), as_floats(a), as_floats(x)
    for name, taps in (("b", b), ("a", a)):
        if np.ndim(taps) > 1 or np.shape(taps) == (0,):
            raise ShapeError(
                f"lfilter: {name} has shape {np.shape(taps)}; give a vector with elements"
            )
    if not np.ndim(x):
        raise ShapeError("lfilter: x has no axis; give at least a vector")
    b, a = np.reshape(b, -1), np.reshape(a, -1)
    if detach(a)[0] == 0:
        raise ArgumentError("lfilter: a[0] is 0; divide by the first coefficient that is not")
    x = np.moveaxis(x, axis, -1)
    y = _lfilter(b, a, x)
    if zi is None:
        return np.moveaxis(y, -1, axis)
    delays = max(np.shape(a)[0], np.shape(b)[0]) - 1
    zi = np.moveaxis(as_floats(zi), axis, -1)
    if np.shape(zi)[-1] != delays:
        raise ShapeError(
            f"lfilter: zi has {np.shape(zi)[-1]} elements along the axis, and the filter {delays}"
            " delays; give one for each"
        )
    zi = np.broadcast_to(zi, (*np.shape(x)[:-1], delays))
    y = y + _compute_zi_response(a, zi, np.shape(x)[-1])
    return np.moveaxis(y, -1, axis), np.moveaxis(_compute_final_state(b, a, x, y, zi), -1, axis)


def lfilter_zi(b: Any, a: Any) -> Any:
    """The state of `lfilter` for a step that has lasted forever, differentiable by `b` and `a`.

    >>> from ferrograd.scipy import signal
    >>> signal.lfilter_zi([1.0], [1.0, -0.5]).tolist()
    [1.0]
    """
    b, a = as_floats(b), as_floats(a)
    first = int(np.asarray(detach(a) != 0).argmax())
    a = a[first:]
    b, a = b / a[0], a / a[0]
    count = max(np.shape(a)[0], np.shape(b)[0])
    b, a = _pad_taps(b, count), _pad_taps(a, count)
    rest = b[1:] - a[1:] * b[0]
    start = np.sum(rest) / np.sum(a)
    return np.cumsum(a)[:-1] * start - (np.cumsum(rest) - rest)


def _pad_taps(taps: Any, count: int) -> Any:
    return np.pad(taps, (0, count - np.shape(taps)[0]))


def _apply_transposed_filter(b: Any, a: Any, g: Any) -> Any:
    """Applies the transposed filter: it filters the reversed sequence and reverses the result."""
    return np.flip(_lfilter(b, a, np.flip(g, -1)), -1)


def _correlate_lags(q: Any, x: Any, count: int) -> Any:
    """`Σ q[n] x[n - k]` for each `k`."""
    length = np.shape(x)[-1]
    return np.stack([np.sum(q[..., k:] * x[..., : max(length - k, 0)]) for k in range(count)])


def _apply_transposed_poles(a: Any, g: Any) -> Any:
    return _apply_transposed_filter(np.ones(1, a.dtype), a, g)


def _b_vjp(ans: Any, b: Any, a: Any, x: Any) -> Any:
    return lambda g: _correlate_lags(_apply_transposed_poles(a, g), x, np.shape(b)[0])


def _a_vjp(ans: Any, b: Any, a: Any, x: Any) -> Any:
    return lambda g: -_correlate_lags(_apply_transposed_poles(a, g), ans, np.shape(a)[0])


def _x_vjp(ans: Any, b: Any, a: Any, x: Any) -> Any:
    return lambda g: _apply_transposed_filter(b, a, g)


#: The filter along the last axis.
_lfilter: Primitive = make_scipy_primitive("signal.lfilter", _b_vjp, _a_vjp, _x_vjp)


def _compute_zi_response(a: Any, zi: Any, length: int) -> Any:
    """The contribution of the initial state of the delays to the output."""
    delays = np.shape(zi)[-1]
    wide = [(0, 0)] * (np.ndim(zi) - 1) + [(0, max(length - delays, 0))]
    return _lfilter(a[:1], a, np.pad(zi, wide)[..., :length])


def _compute_final_state(b: Any, a: Any, x: Any, y: Any, zi: Any) -> Any:
    """The delays after the last sample: `Σ b[k] x[N + i - k] - Σ a[k] y[N + i - k]`, `k > i`."""
    delays, length = np.shape(zi)[-1], np.shape(x)[-1]
    b, a = _pad_taps(b / a[0], 2 * delays + 1), _pad_taps(a / a[0], 2 * delays + 1)
    before = [(0, 0)] * (np.ndim(x) - 1) + [(delays, 0)]
    lags = [range(i + 1, i + 1 + delays) for i in range(delays)]
    rows = [[k if k <= delays else 2 * delays for k in row] for row in lags]
    if not delays:
        return zi
    late_x = np.flip(np.pad(x, before)[..., -delays:], -1)
    late_y = np.flip(np.pad(y, before)[..., -delays:], -1)
    kept = np.pad(zi[..., length:], [(0, 0)] * (np.ndim(zi) - 1) + [(0, min(length, delays))])
    return late_x @ b[rows].T - late_y @ a[rows].T + kept
