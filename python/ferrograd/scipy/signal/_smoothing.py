"""Trends and local polynomials: `detrend`, `savgol_filter`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.ndimage._correlate import convolve1d
from ferrograd.scipy.signal._spectral import _detrend_segments


def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    """The data without their mean or line along an axis, in the parts that begin at `bp`.

    Derivatives of every order by `data`. Errors: `ArgumentError` for other types or breaks.

    >>> from ferrograd.scipy import signal
    >>> signal.detrend(fg.tensor([1.0, 2.0, 4.0]), type="constant").round(4).tolist()
    [-1.3333, -0.3333, 1.6667]
    """
    kinds = {"linear": "linear", "l": "linear", "constant": "constant", "c": "constant"}
    if type not in kinds:
        raise ArgumentError(f"detrend: type is {type!r}; give 'linear' or 'constant'")
    if not holds_tensor(data):
        return get_scipy_function("signal.detrend")(data, axis, type, bp, overwrite_data)
    x = np.moveaxis(as_floats(data), axis, -1)
    length = np.shape(x)[-1]
    breaks = [0, length] if type[0] == "c" else sorted({0, length, *numpy.ravel(bp).tolist()})
    if breaks[0] < 0 or breaks[-1] > length:
        raise ArgumentError(f"detrend: bp is {bp} for {length} samples; give places among these")
    parts = [
        _detrend_segments("detrend", x[..., low:high], kinds[type])
        for low, high in pairwise(breaks)
    ]
    return np.moveaxis(np.concatenate(parts, -1), -1, axis)


def _compute_edge_matrix(length: int, order: int, deriv: int, delta: float) -> Any:
    """The matrix from a window to the `deriv`-th derivatives of its polynomial at its points."""
    places = numpy.arange(length) - (length - 1) / 2
    powers = numpy.arange(order + 1)
    slopes = numpy.zeros((length, order + 1))
    for power in powers[deriv:]:
        factor = numpy.prod(numpy.arange(power - deriv + 1.0, power + 1.0))
        slopes[:, power] = factor * places ** (power - deriv)
    return slopes @ numpy.linalg.pinv(places[:, None] ** powers) / delta**deriv


def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    """The values or derivatives of polynomials that are fitted around each sample, as SciPy's.

    Derivatives of every order by `x`. Errors: `ArgumentError` for a window longer than the data.

    >>> from ferrograd.scipy import signal
    >>> signal.savgol_filter(fg.tensor([1.0, 2.0, 5.0, 10.0, 17.0]), 5, 2).round(9).tolist()
    [1.0, 2.0, 5.0, 10.0, 17.0]
    """
    if not holds_tensor(x):
        return get_scipy_function("signal.savgol_filter")(
            x, window_length, polyorder, deriv, delta, axis, mode, cval
        )
    weights = get_scipy_function("signal.savgol_coeffs")(
        window_length, polyorder, deriv=deriv, delta=delta
    )
    x = np.moveaxis(as_floats(x), axis, -1)
    weights = weights.astype(x.dtype)
    if mode != "interp":
        return np.moveaxis(convolve1d(x, weights, -1, None, mode, cval), -1, axis)
    if window_length > np.shape(x)[-1]:
        raise ArgumentError(
            f"savgol_filter: window_length is {window_length} for {np.shape(x)[-1]} samples; give"
            " a shorter one, or another mode"
        )
    made = convolve1d(x, weights, -1, None, "constant")
    half, matrix = window_length // 2, _compute_edge_matrix(window_length, polyorder, deriv, delta)
    matrix = matrix.astype(x.dtype)
    first = x[..., :window_length] @ matrix[:half].T
    last = x[..., -window_length:] @ matrix[window_length - half :].T
    middle = made[..., half : np.shape(x)[-1] - half]
    return np.moveaxis(np.concatenate([first, middle, last], -1), -1, axis)
