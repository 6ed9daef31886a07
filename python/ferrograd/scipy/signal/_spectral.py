"""Spectra of segments of a signal: `stft`, `istft`, `periodogram`.

SciPy computes the windows, the core computes the transforms. Invariant: the factors are applied to
real numbers, before a spectrum or after it.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError
from ferrograd.scipy import fft
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy._scipy_primitives import get_scipy_function

_PAD_OPTIONS: dict[str, dict[str, Any]] = {
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "constant": {"mode": "edge"},
    "zeros": {"mode": "constant"},
}


def _get_window(name: str, window: Any, nperseg: int | None, length: int | None) -> Any:
    """The values of a window, its length cut to that of the signal, as SciPy does."""
    if isinstance(window, str | tuple):
        size = 256 if nperseg is None else int(nperseg)
        size = size if length is None else min(size, length)
        if size < 1:
            raise ArgumentError(f"{name}: nperseg is {size}; give a positive number")
        return get_scipy_function("signal.get_window")(window, size)
    values = numpy.asarray(window)
    if values.ndim != 1 or (length is not None and values.size > length):
        raise ArgumentError(
            f"{name}: the window has shape {values.shape} and the signal {length} samples; give a"
            " vector that is no longer"
        )
    if nperseg is not None and values.size != nperseg:
        raise ArgumentError(
            f"{name}: nperseg is {nperseg} and the window has {values.size} values; give one"
        )
    return values


def _check_noverlap(name: str, noverlap: int | None, nperseg: int) -> int:
    noverlap = nperseg // 2 if noverlap is None else int(noverlap)
    if noverlap >= nperseg:
        raise ArgumentError(f"{name}: noverlap is {noverlap}; give less than nperseg={nperseg}")
    return noverlap


def _check_nfft(name: str, nfft: int | None, nperseg: int) -> int:
    nfft = nperseg if nfft is None else int(nfft)
    if nfft < nperseg:
        raise ArgumentError(f"{name}: nfft is {nfft}; give at least nperseg={nperseg}")
    return nfft


def _compute_scale(name: str, scaling: str, window: Any, fs: float) -> Any:
    """The number by which powers are divided."""
    if scaling in ("density", "psd"):
        return fs * (window * window).sum()
    if scaling == "spectrum":
        return window.sum() ** 2
    raise ArgumentError(f"{name}: scaling is {scaling!r}; use the names that SciPy documents")


def _detrend_segments(name: str, segments: Any, detrend: Any) -> Any:
    if detrend is False or detrend is None:
        return segments
    if callable(detrend):
        return detrend(segments)
    if detrend == "constant":
        return segments - np.mean(segments, -1, keepdims=True)
    if detrend != "linear":
        raise ArgumentError(f"{name}: detrend is {detrend!r}; give 'constant', 'linear' or False")
    n = np.shape(segments)[-1]
    basis, _ = numpy.linalg.qr(numpy.stack([numpy.ones(n), numpy.arange(n) / n], 1))
    if segments.dtype == numpy.float32:
        basis = basis.astype(numpy.float32)
    return segments - (segments @ basis) @ basis.T


def _compute_spectra(segments: Any, nfft: int, onesided: bool) -> tuple[Any, Any]:
    """The spectra of the last axis, and their frequencies for a step of 1."""
    if onesided and segments.dtype.kind != "c":
        return fft.rfft(segments, nfft), numpy.fft.rfftfreq(nfft)
    return fft.fft(segments, nfft), numpy.fft.fftfreq(nfft)


def stft(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
) -> tuple[Any, Any, Any]:
    """`(f, t, Z)`: the spectra of overlapping windows of a signal, as in SciPy's `stft`.

    In `Z` the frequencies replace `axis`, and the times are the last axis. Derivatives of
    every order by `x`. Errors: `ArgumentError` for lengths that do not fit.

    >>> from ferrograd.scipy import signal
    >>> t = np.arange(64) / 64
    >>> f, times, z = signal.stft(np.sin(16 * np.pi * t), 64.0, nperseg=32)
    >>> z.shape
    (17, 5)
    """
    x = np.moveaxis(as_floats(x), axis, -1)
    values = _get_window("stft", window, nperseg, np.shape(x)[-1])
    size = values.size
    noverlap, nfft = _check_noverlap("stft", noverlap, size), _check_nfft("stft", nfft, size)
    if boundary is not None:
        if boundary not in _PAD_OPTIONS:
            raise ArgumentError(f"stft: boundary is {boundary!r}; give one of {list(_PAD_OPTIONS)}")
        x = np.pad(x, _make_last_axis_width(x, size // 2, size // 2), **_PAD_OPTIONS[boundary])
    step = size - noverlap
    if padded:
        x = np.pad(x, _make_last_axis_width(x, 0, (-(np.shape(x)[-1] - size) % step) % size))
    segments = numpy.lib.stride_tricks.sliding_window_view(x, size, axis=-1)[..., ::step, :]
    values = values / numpy.sqrt(_compute_scale("stft", scaling, values, fs))
    spectra, frequencies = _compute_spectra(
        _detrend_segments("stft", segments, detrend) * values, nfft, return_onesided
    )
    times = numpy.arange(size / 2, np.shape(x)[-1] - size / 2 + 1, step) / float(fs)
    if boundary is not None:
        times -= (size / 2) / fs
    place = axis - 1 if axis < 0 else axis
    return frequencies * fs, times, np.moveaxis(spectra, -1, place)


def _make_last_axis_width(x: Any, before: int, after: int) -> list[tuple[int, int]]:
    return [(0, 0)] * (np.ndim(x) - 1) + [(before, after)]


def istft(
    Zxx: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: str = "spectrum",
) -> tuple[Any, Any]:
    """`(t, x)`: the signal whose `stft` is nearest to `Zxx`, by summing overlapping windows.

    Derivatives of every order by `Zxx`. Errors: `ArgumentError` for lengths that do not fit.

    >>> from ferrograd.scipy import signal
    >>> t = np.arange(64) / 64
    >>> x = np.sin(16 * np.pi * t)
    >>> f, times, z = signal.stft(x, nperseg=32)
    >>> bool(np.allclose(signal.istft(z, nperseg=32)[1], x))
    True
    """
    if np.ndim(Zxx) < 2:
        raise ArgumentError(f"istft: Zxx has {np.ndim(Zxx)} axes; give frequencies and times")
    spectra = np.moveaxis(Zxx, (time_axis, freq_axis), (-2, -1))
    bins = np.shape(spectra)[-1]
    points = 2 * (bins - 1) if input_onesided else bins
    values = _get_window("istft", window, points if nperseg is None else nperseg, None)
    size = values.size
    if nfft is None:
        nfft = size if input_onesided and size == points + 1 else points
    noverlap, nfft = _check_noverlap("istft", noverlap, size), _check_nfft("istft", nfft, size)
    segments = fft.irfft(spectra, nfft) if input_onesided else fft.ifft(spectra, nfft)
    scale = values * numpy.sqrt(_compute_scale("istft", scaling, values, fs))
    step = size - noverlap
    x = _overlap_add(segments[..., :size] * scale, step)
    count = np.shape(segments)[-2]
    norm = _overlap_add(numpy.broadcast_to(values**2, (count, size)), step)
    if boundary:
        x, norm = x[..., size // 2 : -(size // 2)], norm[size // 2 : -(size // 2)]
    x = x / numpy.where(norm > 1e-10, norm, 1.0)
    times = numpy.arange(np.shape(x)[-1]) / float(fs)
    if np.ndim(Zxx) > 2:
        time, frequency = time_axis % np.ndim(Zxx), freq_axis % np.ndim(Zxx)
        x = np.moveaxis(x, -1, time - (frequency < time))
    return times, x


def _overlap_add(segments: Any, step: int) -> Any:
    """Segments (…, count, size) added up, `step` apart."""
    *front, count, size = np.shape(segments)
    parts = -(-size // step)
    segments = np.pad(segments, _make_last_axis_width(segments, 0, parts * step - size))
    segments = np.reshape(segments, (*front, count, parts, step))
    total: Any = 0.0
    for k in range(parts):
        width = [(0, 0)] * len(front) + [(k, parts - 1 - k), (0, 0)]
        total = total + np.pad(segments[..., k, :], width)
    flat = np.reshape(total, (*front, (count + parts - 1) * step))
    return flat[..., : size + (count - 1) * step]


def periodogram(
    x: Any,
    fs: float = 1.0,
    window: Any = "boxcar",
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> tuple[Any, Any]:
    """`(f, p)`: the power spectrum of a signal along an axis, as SciPy's of the same name.

    Derivatives of every order by `x`. Errors: `ArgumentError` for arguments that do not fit.

    >>> from ferrograd.scipy import signal
    >>> t = np.arange(64) / 64
    >>> f, p = signal.periodogram(np.sin(16 * np.pi * t), 64.0)
    >>> float(f[p.argmax()])
    8.0
    """
    x = np.moveaxis(as_floats(x), axis, -1)
    length = np.shape(x)[-1]
    nfft = length if nfft is None else int(nfft)
    if nfft < length:
        x, length = x[..., :nfft], nfft
    values = _get_window("periodogram", "boxcar" if window is None else window, length, length)
    values = values / numpy.sqrt(_compute_scale("periodogram", scaling, values, fs))
    onesided = return_onesided and x.dtype.kind != "c"
    spectra, frequencies = _compute_spectra(
        _detrend_segments("periodogram", x, detrend) * values, nfft, onesided
    )
    power = np.real(spectra) ** 2 + np.imag(spectra) ** 2
    if onesided:
        twice = numpy.full(np.shape(power)[-1], 2.0)
        twice[0] = 1.0
        if nfft % 2 == 0:
            twice[-1] = 1.0
        power = power * twice
    return frequencies * fs, np.moveaxis(power, -1, axis)
