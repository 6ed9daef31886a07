"""The frequencies of spectra, and lengths that are transformed fast.

Invariant: values are NumPy's, bit for bit.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError


def _scale_frequencies(n: Any, steps: Any, d: Any, dtype: Any) -> Tensor:
    frequencies: Tensor = _core.asarray(steps) * (1.0 / (n * d))
    return frequencies if dtype is None else frequencies.astype(dtype)


def _check_point_count(op: str, n: Any) -> int:
    try:
        points = operator.index(n)
    except TypeError:
        raise ArgumentError(f"{op}: n is {n!r}; n should be an integer") from None
    if points < 1:
        raise ArgumentError(f"{op}: n is {points}; give at least 1")
    return points


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of `fft` of `n` points with spacing `d`: `[0, 1, …, -2, -1] / (d n)`.

    `d` may be a tensor and then has a derivative. Errors: `ArgumentError` for an `n` that is no
    positive integer.

    >>> import ferrograd as fg
    >>> fg.fft.fftfreq(4, 0.5).tolist()
    [0.0, 0.5, -1.0, -0.5]
    """
    n = _check_point_count("fftfreq", n)
    half = (n - 1) // 2 + 1
    return _scale_frequencies(
        n, np.concatenate([np.arange(half), np.arange(-(n // 2), 0)]), d, dtype
    )


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of `rfft` of `n` points with spacing `d`: `[0, 1, …, n // 2] / (d n)`.

    `d` may be a tensor and then has a derivative. Errors: `ArgumentError` for an `n` that is no
    positive integer.

    >>> import ferrograd as fg
    >>> fg.fft.rfftfreq(4, 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    n = _check_point_count("rfftfreq", n)
    return _scale_frequencies(n, np.arange(n // 2 + 1), d, dtype)


def next_fast_len(target: int, real: bool = False) -> int:
    """The smallest length not below `target` that is a product of small primes.

    The primes are 2, 3, 5, 7 and 11, or with real=True 2, 3 and 5, as in SciPy's function. Pad the
    input to this length before a transform if the length is free. Errors: `ArgumentError` for a
    negative target.

    >>> import ferrograd as fg
    >>> fg.fft.next_fast_len(10007)
    10080
    """
    target = operator.index(target)
    if target < 0:
        raise ArgumentError(f"next_fast_len: target is {target}; give a length")
    primes = (2, 3, 5) if real else (2, 3, 5, 7, 11)
    while True:
        rest = max(target, 1)
        for prime in primes:
            while rest % prime == 0:
                rest //= prime
        if rest == 1 or target == 0:
            return target
        target += 1
