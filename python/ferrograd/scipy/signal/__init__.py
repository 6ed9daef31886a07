"""`scipy.signal`: convolution, linear filters and spectra, differentiable."""

from ferrograd.scipy._scipy_primitives import make_scipy_getattr as _make_scipy_getattr
from ferrograd.scipy.signal._convolve import convolve as convolve, correlate as correlate
from ferrograd.scipy.signal._convolve2d import convolve2d as convolve2d, correlate2d as correlate2d
from ferrograd.scipy.signal._design import (
    bessel as bessel,
    butter as butter,
    cheby1 as cheby1,
    cheby2 as cheby2,
    ellip as ellip,
    iirfilter as iirfilter,
)
from ferrograd.scipy.signal._filtfilt import filtfilt as filtfilt, sosfiltfilt as sosfiltfilt
from ferrograd.scipy.signal._fourier import (
    fftconvolve as fftconvolve,
    hilbert as hilbert,
    oaconvolve as oaconvolve,
)
from ferrograd.scipy.signal._lfilter import lfilter as lfilter, lfilter_zi as lfilter_zi
from ferrograd.scipy.signal._smoothing import detrend as detrend, savgol_filter as savgol_filter
from ferrograd.scipy.signal._sosfilt import sosfilt as sosfilt, sosfilt_zi as sosfilt_zi
from ferrograd.scipy.signal._spectral import (
    istft as istft,
    periodogram as periodogram,
    stft as stft,
)
from ferrograd.scipy.signal._welch import (
    coherence as coherence,
    csd as csd,
    spectrogram as spectrogram,
    welch as welch,
)

__getattr__ = _make_scipy_getattr("signal")
