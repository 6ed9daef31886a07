"""Means of spectra over segments: `welch`, `csd`, `coherence`, `spectrogram`.

Windows, factors and transforms are those of `_spectral`.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy.signal._spectral import (
    _check_nfft,
    _check_noverlap,
    _compute_scale,
    _compute_spectra,
    _detrend_segments,
    _get_window,
    _make_last_axis_width,
)


class _Segments:
    """The segments, windows and transforms, which are the same for both signals of a pair."""

    def __init__(
        self,
        name: str,
        length: int,
        fs: float,
        window: Any,
        nperseg: int | None,
        noverlap: int | None,
        nfft: int | None,
        detrend: Any,
        scaling: str,
    ) -> None:
        self.name, self.fs, self._detrend = name, fs, detrend
        self._values = _get_window(name, window, nperseg, length)
        self.size = self._values.size
        self.step = self.size - _check_noverlap(name, noverlap, self.size)
        self.points = _check_nfft(name, nfft, self.size)
        self._values = self._values / numpy.sqrt(_compute_scale(name, scaling, self._values, fs))
        self.times = numpy.arange(self.size / 2, length - self.size / 2 + 1, self.step) / float(fs)

    def compute_spectra(self, x: Any, onesided: bool) -> tuple[Any, Any]:
        """The spectra (…, segments, frequencies) of the last axis, and the frequencies."""
        view = numpy.lib.stride_tricks.sliding_window_view
        parts = view(x, self.size, axis=-1)[..., :: self.step, :]
        parts = _detrend_segments(self.name, parts, self._detrend) * self._values
        found, frequencies = _compute_spectra(parts, self.points, onesided)
        return found, frequencies * self.fs

    def to_one_sided(self, power: Any, onesided: bool) -> Any:
        """Doubles the powers of a one-sided spectrum, except at zero and the Nyquist frequency."""
        if not onesided:
            return power
        factors = numpy.full(np.shape(power)[-1], 2.0)
        factors[0] = 1.0
        if self.points % 2 == 0:
            factors[-1] = 1.0
        return power * factors


def _average_segments(name: str, power: Any, average: str) -> Any:
    """The mean or median over segments, the last axis but one."""
    if average == "mean":
        return np.mean(power, -2)
    if average != "median":
        raise ArgumentError(f"{name}: average is {average!r}; give 'mean' or 'median'")
    count = np.shape(power)[-2]
    even = 2 * numpy.arange(1.0, (count - 1) // 2 + 1)
    bias = 1 + numpy.sum(1.0 / (even + 1) - 1.0 / even)
    if not numpy.iscomplexobj(power):
        return np.median(power, -2) / bias
    return (np.median(np.real(power), -2) + 1j * np.median(np.imag(power), -2)) / bias


def _prepare_pair(x: Any, y: Any, axis: int) -> tuple[Any, Any]:
    """Both signals along the last axis, the shorter one padded with zeros."""
    x, y = np.moveaxis(as_floats(x), axis, -1), np.moveaxis(as_floats(y), axis, -1)
    short = np.shape(x)[-1] - np.shape(y)[-1]
    if short > 0:
        y = np.pad(y, _make_last_axis_width(y, 0, short))
    elif short < 0:
        x = np.pad(x, _make_last_axis_width(x, 0, -short))
    return x, y


def csd(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """`(f, p)`: the cross power spectrum of two signals by Welch's method, complex.

    Derivatives of every order by both signals. Errors: `ArgumentError` for lengths that do not fit.

    >>> from ferrograd.scipy import signal
    >>> t = np.arange(64) / 64
    >>> x = np.sin(16 * np.pi * t)
    >>> f, p = signal.csd(x, x, 64.0, nperseg=32)
    >>> float(f[abs(p).argmax()])
    8.0
    """
    same = x is y
    x, y = _prepare_pair(x, y, axis)
    given = (fs, window, nperseg, noverlap, nfft, detrend, scaling)
    cut = _Segments("csd", np.shape(x)[-1], *given)
    onesided = return_onesided and x.dtype.kind != "c" and y.dtype.kind != "c"
    first, frequencies = cut.compute_spectra(x, onesided)
    second = first if same else cut.compute_spectra(y, onesided)[0]
    power = _average_segments("csd", cut.to_one_sided(np.conj(first) * second, onesided), average)
    return frequencies, np.moveaxis(power, -1, axis)


def welch(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """`(f, p)`: the power spectrum as the mean over overlapping segments, as SciPy's.

    Derivatives of every order by `x`. Errors: `ArgumentError` for lengths that do not fit.

    >>> from ferrograd.scipy import signal
    >>> x = fg.tensor([0.0, 1.0, 0.0, -1.0] * 8)
    >>> f, p = signal.welch(x, nperseg=16)
    >>> f[int(p.argmax())].item()
    0.25
    """
    x = np.moveaxis(as_floats(x), axis, -1)
    cut = _Segments("welch", np.shape(x)[-1], fs, window, nperseg, noverlap, nfft, detrend, scaling)
    onesided = return_onesided and x.dtype.kind != "c"
    found, frequencies = cut.compute_spectra(x, onesided)
    power = cut.to_one_sided(np.real(found) ** 2 + np.imag(found) ** 2, onesided)
    return frequencies, np.moveaxis(_average_segments("welch", power, average), -1, axis)


def coherence(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    axis: int = -1,
) -> tuple[Any, Any]:
    """`(f, c)`: how far two signals are in a linear relation at each frequency, from 0 to 1.

    >>> from ferrograd.scipy import signal
    >>> t = np.arange(64) / 64
    >>> x = np.sin(16 * np.pi * t)
    >>> f, c = signal.coherence(x, 2 * x, 64.0, nperseg=16)
    >>> bool(np.allclose(c, 1.0))
    True
    """
    given = (fs, window, nperseg, noverlap, nfft, detrend)
    frequencies, of_x = welch(x, *given, axis=axis)
    _, of_y = welch(y, *given, axis=axis)
    _, both = csd(x, y, *given, axis=axis)
    return frequencies, (np.real(both) ** 2 + np.imag(both) ** 2) / of_x / of_y


def spectrogram(
    x: Any,
    fs: float = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> tuple[Any, Any, Any]:
    """`(f, t, s)`: the powers of overlapping segments, times as the last axis, as SciPy's.

    Modes are "psd", "complex", "magnitude", "angle" and "phase" (angles without jumps).
    Derivatives of every order by `x`.
    Errors: `ArgumentError` for other modes and for lengths that do not fit.

    >>> from ferrograd.scipy import signal
    >>> t = np.arange(64) / 64
    >>> f, times, p = signal.spectrogram(np.sin(16 * np.pi * t), 64.0, nperseg=32)
    >>> p.shape
    (17, 2)
    """
    if mode not in ("psd", "complex", "magnitude", "angle", "phase"):
        raise ArgumentError(
            f"spectrogram: mode is {mode!r}; give 'psd', 'complex', 'magnitude', 'angle' or 'phase'"
        )
    x = np.moveaxis(as_floats(x), axis, -1)
    values = _get_window("spectrogram", window, nperseg, np.shape(x)[-1])
    noverlap = values.size // 8 if noverlap is None else noverlap
    cut = _Segments(
        "spectrogram", np.shape(x)[-1], fs, values, None, noverlap, nfft, detrend, scaling
    )
    onesided = return_onesided and x.dtype.kind != "c"
    found, frequencies = cut.compute_spectra(x, onesided)
    if mode == "psd":
        found = cut.to_one_sided(np.real(found) ** 2 + np.imag(found) ** 2, onesided)
    elif mode == "magnitude":
        found = np.abs(found)
    elif mode != "complex":
        found = np.angle(found)
    place = axis - 1 if axis < 0 else axis
    found = np.moveaxis(found, -1, place)
    return frequencies, cut.times, np.unwrap(found, axis=place) if mode == "phase" else found
