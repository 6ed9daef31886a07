"""`scipy.signal.convolve` of any number of axes, with axes to sum over.

The product is one contraction of windows with the reversed kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.scipy._correlate_valid import correlate_valid
from ferrograd.scipy.signal._fourier import fftconvolve

Axes = Sequence[Sequence[int]]


def convolve(
    A: Any,
    B: Any,
    axes: Axes | str | None = None,
    dot_axes: Axes | str = ((), ()),
    mode: str = "full",
    method: str = "auto",
) -> Any:
    """Convolution over axes of two arrays.

    `axes` and `dot_axes` have, for each array, the convolved axes and the summed axes; by default
    all axes are convolved. The result has the remaining axes of `A`, those of `B`, then the
    convolved ones. `mode` is 'full', 'valid' or 'same': the middle of 'full', as large as `A`; as
    in SciPy it may be the third argument. `method` is SciPy's: 'fft' convolves all axes by
    transforms, 'direct' and 'auto' by sums.

    >>> from ferrograd.scipy import signal
    >>> signal.convolve([1.0, 2.0, 3.0], [1.0, 1.0]).tolist()
    [1.0, 3.0, 5.0, 3.0]
    """
    if method not in ("auto", "direct", "fft"):
        raise ArgumentError(
            f"signal.convolve: method is {method!r}; give 'auto', 'direct' or 'fft'"
        )
    if isinstance(axes, str):
        if isinstance(dot_axes, str):
            return convolve(A, B, None, ((), ()), axes, dot_axes)
        return convolve(A, B, None, dot_axes, axes, method)
    if isinstance(dot_axes, str):
        raise ArgumentError("signal.convolve: dot_axes is a string; give method= by name")
    # Sums of integers are exact, and stay integers.
    if (
        method == "fft"
        and axes is None
        and np.result_type(np.asarray(A), np.asarray(B)).kind in "fc"
    ):
        return fftconvolve(A, B, mode)
    if mode not in ("full", "valid", "same"):
        raise ArgumentError(f"signal.convolve: mode is {mode!r}; give 'full', 'valid' or 'same'")
    axes = (range(np.ndim(A)), range(np.ndim(B))) if axes is None else axes
    return _convolve_by_sums(A, B, axes, dot_axes, mode)


def _convolve_by_sums(A: Any, B: Any, axes: Axes, dot_axes: Axes, mode: str) -> Any:
    """The convolution as sums of products."""
    pairs, dots = [_normalize_axes(axes, A, B), _normalize_axes(dot_axes, A, B)]
    if len(pairs[0]) != len(pairs[1]) or len(dots[0]) != len(dots[1]):
        raise ArgumentError(
            f"signal.convolve: axes {axes} and dot_axes {dot_axes} name different numbers of axes;"
            " name as many of A as of B"
        )
    sizes = [[np.shape(X)[k] for k in own] for X, own in zip((A, B), pairs, strict=True)]
    if (
        mode == "valid"
        and all(a <= b for a, b in zip(*sizes, strict=True))
        and sizes[0] != sizes[1]
    ):
        swapped = _convolve_by_sums(B, A, (pairs[1], pairs[0]), (dots[1], dots[0]), mode)
        return _move_remaining_axes_first(
            swapped, np.ndim(B) - len(pairs[1]) - len(dots[1]), len(pairs[0])
        )
    if mode == "valid" and any(a < b for a, b in zip(*sizes, strict=True)):
        raise ShapeError(
            f"signal.convolve: convolved sizes {sizes[0]} and {sizes[1]}; in mode 'valid' one must"
            " be at least as large as the other on every axis"
        )
    if mode != "valid":
        width = [(0, 0)] * np.ndim(A)
        for k, size in zip(pairs[0], sizes[1], strict=True):
            width[k] = (size - 1, size - 1)
        A = np.pad(A, width)
    kernel = np.flip(B, tuple(pairs[1])) if pairs[1] else B
    if pairs[1] == list(range(np.ndim(B))) and np.ndim(B):
        last = range(np.ndim(A) - np.ndim(B), np.ndim(A))
        made = correlate_valid(np.moveaxis(A, pairs[0], last), kernel)
    else:
        made = _contract_windows(A, kernel, pairs, dots, sizes[1])
    if mode == "same":
        # SciPy cuts an odd surplus at the end.
        middle = [slice((b - 1) // 2, (b - 1) // 2 + a) for a, b in zip(*sizes, strict=True)]
        made = made[(..., *middle)] if middle else made
    return made


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Cross-correlation over all axes, `Σ_l in1[l] conj(in2[l - k])`.

    It is `convolve` with `in2` reversed and conjugated.

    >>> from ferrograd.scipy import signal
    >>> signal.correlate(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0]), "valid").tolist()
    [2.0, 3.0]
    """
    in2 = np.asarray(in2)
    # NumPy's conjugates of booleans are integers.
    in2 = np.conj(in2) if np.iscomplexobj(in2) else in2
    return convolve(np.asarray(in1), np.flip(in2), mode=mode, method=method)


def _contract_windows(A: Any, kernel: Any, pairs: Any, dots: Any, sizes: list[int]) -> Any:
    """The product of windows of one array with the other, over convolved and summed axes."""
    windows = numpy.lib.stride_tricks.sliding_window_view(A, tuple(sizes), axis=tuple(pairs[0]))
    inner = range(np.ndim(A), np.ndim(A) + len(pairs[0]))
    made = np.tensordot(windows, kernel, axes=([*inner, *dots[0]], [*pairs[1], *dots[1]]))
    return _move_convolved_axes_last(made, np.ndim(A), pairs[0], dots[0])


def _normalize_axes(axes: Axes, A: Any, B: Any) -> tuple[list[int], list[int]]:
    """The axes of both arrays, counted from the front."""
    first, second = axes
    return [k % np.ndim(A) for k in first], [k % np.ndim(B) for k in second]


def _move_convolved_axes_last(made: Any, ndim: int, convolved: list[int], summed: list[int]) -> Any:
    """Moves the convolved axes of the first array to the end."""
    kept = [k for k in range(ndim) if k not in summed]
    places = [kept.index(k) for k in convolved]
    count = len(convolved)
    return np.moveaxis(made, places, range(np.ndim(made) - count, np.ndim(made)))


def _move_remaining_axes_first(made: Any, first: int, convolved: int) -> Any:
    """Moves the remaining axes of the other array to the front."""
    ndim = np.ndim(made)
    second = ndim - convolved - first
    order = [*range(first, first + second), *range(first), *range(ndim - convolved, ndim)]
    return np.transpose(made, order)
