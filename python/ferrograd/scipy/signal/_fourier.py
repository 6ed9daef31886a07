"""Functions of spectra: `fftconvolve`, `oaconvolve`, `hilbert`.

Invariant: real operands give real results.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, DTypeError, ShapeError
from ferrograd.scipy import fft
from ferrograd.scipy._conversions import as_floats


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """The convolution of two arrays of as many axes, by products of their spectra.

    `mode` is 'full', 'valid' or 'same': the middle of 'full', as large as `in1`. `axes` are those
    that are convolved, all by default; along the others the sizes broadcast. Derivatives of every
    order by both. Errors: `ShapeError` for sizes that do not fit, `ArgumentError` for a mode.
    The work grows as `n log n` of the sizes, so that it pays for long operands.

    >>> import ferrograd as fg
    >>> from ferrograd.scipy import signal
    >>> signal.fftconvolve([1.0, 2.0, 3.0], [0.0, 1.0]).round(12).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    return _convolve_fft("fftconvolve", in1, in2, mode, axes)


def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """The convolution that SciPy computes by overlapping blocks, here as `fftconvolve` does.

    The values, arguments, derivatives and errors are those of `fftconvolve`.

    >>> from ferrograd.scipy import signal
    >>> signal.oaconvolve(np.ones(4), [1.0, 1.0]).round(6).tolist()
    [1.0, 2.0, 2.0, 2.0, 1.0]
    """
    return _convolve_fft("oaconvolve", in1, in2, mode, axes)


def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    """The analytic signal of a real one: twice its positive frequencies, none of the negative.

    `N` is the length of the transform, which cuts the signal or pads it with zeros. Its magnitude
    is the envelope of the signal. Derivatives of every order. Errors: `DTypeError` for complex
    signals, `ArgumentError` for an N below 1.

    >>> import ferrograd as fg
    >>> from ferrograd.scipy import signal
    >>> signal.hilbert([1.0, 0.0, -1.0, 0.0]).tolist()
    [(1+0j), 1j, (-1+0j), -1j]
    """
    x = as_floats(x)
    if np.iscomplexobj(x):
        raise DTypeError(f"hilbert: x is {x.dtype}; give a real signal")
    length = np.shape(x)[axis] if N is None else N
    if length < 1:
        raise ArgumentError(f"hilbert: N is {length}; give at least 1")
    weight = numpy.zeros(length, x.dtype)
    weight[: (length + 1) // 2] = 2
    weight[0] = 1
    if length % 2 == 0:
        weight[length // 2] = 1
    spectrum = fft.fft(x, length, axis)
    shape = [1] * np.ndim(x)
    shape[axis] = length
    return fft.ifft(spectrum * weight.reshape(shape), length, axis)


def _convolve_fft(name: str, in1: Any, in2: Any, mode: str, axes: Any) -> Any:
    if mode not in ("full", "valid", "same"):
        raise ArgumentError(f"{name}: mode is {mode!r}; give 'full', 'valid' or 'same'")
    in1, in2 = as_floats(in1), as_floats(in2)
    if np.ndim(in1) != np.ndim(in2):
        raise ShapeError(
            f"{name}: in1 and in2 have {np.ndim(in1)} and {np.ndim(in2)} axes; give as many"
        )
    s1, s2 = np.shape(in1), np.shape(in2)
    chosen = _check_axes(name, axes, s1, s2)
    if 0 in s1 or 0 in s2:
        return in1[:0].reshape(0)
    if mode == "valid" and _is_second_larger(name, s1, s2, chosen):
        in1, in2, s1, s2 = in2, in1, s2, s1
    shape = [
        a + b - 1 if k in chosen else max(a, b) for k, (a, b) in enumerate(zip(s1, s2, strict=True))
    ]
    full = _multiply_transforms(in1, in2, chosen, shape)
    if mode == "full" or not chosen:
        return full
    if mode == "same":
        want = [s1[k] for k in range(len(s1))]
    else:
        want = [s1[k] - s2[k] + 1 if k in chosen else n for k, n in enumerate(shape)]
    starts = [(have - n) // 2 for have, n in zip(shape, want, strict=True)]
    middle = tuple(slice(at, at + n) for at, n in zip(starts, want, strict=True))
    return full[middle]


def _check_axes(name: str, axes: Any, s1: Any, s2: Any) -> list[int]:
    """The convolved axes, counted from the front; those of size 1 only broadcast."""
    given = list(range(len(s1))) if axes is None else [axes] if np.ndim(axes) == 0 else list(axes)
    if axes is not None and not given:
        raise ArgumentError(f"{name}: axes is empty; name at least one, or leave it out")
    for axis in given:
        if not -len(s1) <= axis < len(s1):
            raise ArgumentError(f"{name}: axes has {axis} for {len(s1)} axes; name existing ones")
    positive = [axis % len(s1) for axis in given]
    if len(set(positive)) != len(positive):
        raise ArgumentError(f"{name}: axes is {tuple(given)}; name every axis once")
    chosen = sorted(k for k in positive if s1[k] != 1 and s2[k] != 1)
    for k, (a, b) in enumerate(zip(s1, s2, strict=True)):
        if k not in chosen and a != b and 1 not in (a, b):
            raise ShapeError(
                f"{name}: the shapes are {s1} and {s2}, which do not broadcast along axis {k};"
                " name it in axes to convolve along it"
            )
    return chosen


def _is_second_larger(name: str, s1: Any, s2: Any, chosen: list[int]) -> bool:
    """Whether the second operand is the larger one; raises if neither is."""
    if all(s1[k] >= s2[k] for k in chosen):
        return False
    if all(s2[k] >= s1[k] for k in chosen):
        return True
    raise ShapeError(
        f"{name}: the shapes are {s1} and {s2}; in mode 'valid' one must be at least as large as"
        " the other along every axis"
    )


def _multiply_transforms(in1: Any, in2: Any, chosen: list[int], shape: list[int]) -> Any:
    if not chosen:
        return in1 * in2
    real = "c" not in (in1.dtype.kind, in2.dtype.kind)
    there, back = (fft.rfftn, fft.irfftn) if real else (fft.fftn, fft.ifftn)
    sizes = [fft.next_fast_len(shape[k], real) for k in chosen]
    made = back(there(in1, sizes, chosen) * there(in2, sizes, chosen), sizes, chosen)
    return made[tuple(slice(n) for n in shape)]
