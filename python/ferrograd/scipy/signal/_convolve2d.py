"""Convolution of images: `convolve2d` and `correlate2d`.

The sums are those of `correlate_valid`.
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.scipy._correlate_valid import correlate_valid

_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "circular": "wrap", "symm": "symmetric"}


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """`Σ in1[k - i, l - j] in2[i, j]` of two matrices.

    Args:
        mode: "full", "valid" (where one lies inside the other) or "same": the middle of "full", as
            large as `in1`.
        boundary: the values around `in1`: "fill" (`fillvalue`), "wrap" or "symm".

    Differentiable by both. Errors: `ShapeError` for other arrays than matrices, `ArgumentError` for
    unknown modes.

    >>> from ferrograd.scipy import signal
    >>> signal.convolve2d(np.eye(2), np.array([[1.0, 2.0]])).tolist()
    [[1.0, 2.0, 0.0], [0.0, 1.0, 2.0]]
    """
    return _convolve_padded("convolve2d", in1, in2, mode, boundary, fillvalue, True)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """`Σ in1[k + i, l + j] conj(in2[i, j])` of two matrices, with the arguments of `convolve2d`.

    >>> from ferrograd.scipy import signal
    >>> signal.correlate2d(np.eye(2), np.array([[1.0, 2.0]]), "valid").tolist()
    [[1.0], [2.0]]
    """
    return _convolve_padded("correlate2d", in1, in2, mode, boundary, fillvalue, False)


def _convolve_padded(
    name: str, in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, turned: bool
) -> Any:
    if mode not in ("full", "valid", "same"):
        raise ArgumentError(f"{name}: mode is {mode!r}; give 'full', 'valid' or 'same'")
    if boundary not in _BOUNDARIES:
        raise ArgumentError(f"{name}: boundary is {boundary!r}; give 'fill', 'wrap' or 'symm'")
    image, kernel = np.asarray(in1), np.asarray(in2)
    if np.ndim(image) != 2 or np.ndim(kernel) != 2 or 0 in (*np.shape(image), *np.shape(kernel)):
        raise ShapeError(
            f"{name}: the arrays have shapes {np.shape(image)} and {np.shape(kernel)}; give two"
            " matrices with elements"
        )
    swapped = False
    if mode == "valid":
        swapped = all(a <= b for a, b in zip(np.shape(image), np.shape(kernel), strict=True))
        if swapped:
            image, kernel = kernel, image
        if any(a < b for a, b in zip(np.shape(image), np.shape(kernel), strict=True)):
            raise ShapeError(
                f"{name}: the shapes are {np.shape(in1)} and {np.shape(in2)}; in mode 'valid' one"
                " must be at least as large as the other on both axes"
            )
    else:
        image = _pad_image(image, np.shape(kernel), mode, boundary, fillvalue, turned)
    made = correlate_valid(image, np.flip(kernel) if turned else np.conj(kernel))
    return np.flip(made) if swapped and not turned else made


def _pad_image(
    image: Any, kernel: tuple[int, ...], mode: str, boundary: str, value: Any, turned: bool
) -> Any:
    """The image, padded for the mode; of an odd padding, the larger half is before it."""
    width = [(size - 1, size - 1) for size in kernel]
    if mode == "same":
        width = [(size // 2, (size - 1) // 2) for size in kernel]
        if not turned:
            width = [(after, before) for before, after in width]
    if boundary == "fill":
        return np.pad(image, width, constant_values=value)
    return np.pad(image, width, mode=_BOUNDARIES[boundary])
