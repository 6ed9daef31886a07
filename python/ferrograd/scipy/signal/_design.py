"""Design of recursive filters: `iirfilter` and its families.

Order and kind are constants. Invariant: zeros, poles and sections have SciPy's order.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import as_floats, to_float_array
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.signal._prototypes import make_prototype
from ferrograd.scipy.signal._roots import compute_coefficients, make_sections, sort_roots

np: Any = _ferrograd_numpy


def iirfilter(
    N: int,
    Wn: Any,
    rp: Any = None,
    rs: Any = None,
    btype: str = "band",
    analog: bool = False,
    ftype: str = "butter",
    output: str = "ba",
    fs: Any = None,
) -> Any:
    """A recursive filter of order `N`: `(b, a)`, `(z, p, k)` or second-order sections.

    Differentiable to any order by the critical frequencies `Wn` (one, or a pair for "bandpass" and
    "bandstop"), by `fs`, and by the ripples `rp` and `rs` in dB of Chebyshev's filters. Kinds,
    units and errors are SciPy's. Errors also: `NotDifferentiableError` if a ripple of an elliptic
    filter requires grad.

    >>> from ferrograd.scipy import signal
    >>> def first(w):
    ...     return signal.iirfilter(2, w, btype="low")[0][0]
    >>> slope = (first(0.3 + 1e-6) - first(0.3 - 1e-6)) / 2e-6
    >>> bool(abs(fg.grad(first)(0.3) - slope) < 1e-8)
    True
    """
    given = (Wn, rp, rs, fs)
    wn, low, high, rate = (None if v is None else _to_numbers(v) for v in given)
    known = get_scipy_function("signal.iirfilter")(
        N, wn, low, high, btype, analog, ftype, output, rate
    )
    if not holds_tensor(given):
        return known
    z, p, k = make_prototype(ftype.lower(), N, rp, rs)
    z, p, k = _transform_lowpass(z, p, k, _prewarp(Wn, fs, analog), btype.lower())
    if not analog:
        z, p, k = _bilinear_zpk(z, p, k)
    if output == "zpk":
        return sort_roots(z, known[0]), sort_roots(p, known[1]), k
    return (
        make_sections(z, p, k, analog)
        if output == "sos"
        else (k * compute_coefficients(z), compute_coefficients(p))
    )


def _to_numbers(value: Any) -> Any:
    found = to_float_array(np.asarray(value))
    return found if found.ndim else float(found)


def _prewarp(wn: Any, fs: Any, analog: bool) -> Any:
    """Converts frequencies to those of the analog filter, as a vector of one or two."""
    wn = np.ravel(as_floats(wn))
    if fs is not None:
        wn = 2 * wn / fs
    return wn if analog else 4.0 * np.tan(np.pi * wn / 2.0)


def _transform_lowpass(z: Any, p: Any, k: Any, w: Any, kind: str) -> tuple[Any, Any, Any]:
    """Transforms the low pass of frequency 1 to the requested filter."""
    degree = len(p) - len(z)
    if kind in ("l", "low", "lowpass", "lp"):
        return w[0] * z, w[0] * p, k * w[0] ** degree
    if kind in ("high", "highpass", "h", "hp"):
        gain = k * np.real(np.prod(-z) / np.prod(-p))
        return np.concatenate([w[0] / z, numpy.zeros(degree)]), w[0] / p, gain
    width, center = w[1] - w[0], np.sqrt(w[0] * w[1])
    if kind in ("band", "bandpass", "pass", "bp"):
        zeros = [_split_band_roots(z * width / 2, center), numpy.zeros(degree)]
        return np.concatenate(zeros), _split_band_roots(p * width / 2, center), k * width**degree
    gain = k * np.real(np.prod(-z) / np.prod(-p))
    notches = 1j * center * numpy.ones(degree)
    zeros = [_split_band_roots(width / 2 / z, center), notches, -notches]
    return np.concatenate(zeros), _split_band_roots(width / 2 / p, center), gain


def _split_band_roots(roots: Any, center: Any) -> Any:
    root = np.sqrt(roots**2 - center**2 + 0j)
    return np.concatenate([roots + root, roots - root])


def _bilinear_zpk(z: Any, p: Any, k: Any) -> tuple[Any, Any, Any]:
    """The bilinear transform at a sampling frequency of 2."""
    degree = len(p) - len(z)
    gain = k * np.real(np.prod(4.0 - z) / np.prod(4.0 - p))
    zeros = np.concatenate([(4.0 + z) / (4.0 - z), -numpy.ones(degree)])
    return zeros, (4.0 + p) / (4.0 - p), gain


def butter(
    N: int,
    Wn: Any,
    btype: str = "low",
    analog: bool = False,
    output: str = "ba",
    fs: Any = None,
) -> Any:
    """Butterworth's filter; see `iirfilter`.

    >>> from ferrograd.scipy import signal
    >>> [round(float(v), 4) for v in fg.jacobian(lambda w: signal.butter(1, w)[0])(0.5)]
    [0.7854, 0.7854]
    """
    return iirfilter(N, Wn, None, None, btype, analog, "butter", output, fs)


def cheby1(
    N: int,
    rp: Any,
    Wn: Any,
    btype: str = "low",
    analog: bool = False,
    output: str = "ba",
    fs: Any = None,
) -> Any:
    """Chebyshev's filter with ripples of `rp` dB where it passes; see `iirfilter`.

    >>> from ferrograd.scipy import signal
    >>> b, a = signal.cheby1(2, 1.0, 0.5)
    >>> b.round(4).tolist()
    [0.307, 0.6141, 0.307]
    """
    return iirfilter(N, Wn, rp, None, btype, analog, "cheby1", output, fs)


def cheby2(
    N: int,
    rs: Any,
    Wn: Any,
    btype: str = "low",
    analog: bool = False,
    output: str = "ba",
    fs: Any = None,
) -> Any:
    """Chebyshev's filter with ripples `rs` dB down where it stops; see `iirfilter`.

    >>> from ferrograd.scipy import signal
    >>> b, a = signal.cheby2(2, 20.0, 0.5)
    >>> b.round(4).tolist()
    [0.1667, 0.1111, 0.1667]
    """
    return iirfilter(N, Wn, None, rs, btype, analog, "cheby2", output, fs)


def ellip(
    N: int,
    rp: Any,
    rs: Any,
    Wn: Any,
    btype: str = "low",
    analog: bool = False,
    output: str = "ba",
    fs: Any = None,
) -> Any:
    """Cauer's elliptic filter, whose ripples `rp` and `rs` are constants; see `iirfilter`.

    >>> from ferrograd.scipy import signal
    >>> b, a = signal.ellip(2, 1.0, 20.0, 0.5)
    >>> b.round(4).tolist()
    [0.3543, 0.583, 0.3543]
    """
    return iirfilter(N, Wn, rp, rs, btype, analog, "ellip", output, fs)


def bessel(
    N: int,
    Wn: Any,
    btype: str = "low",
    analog: bool = False,
    output: str = "ba",
    norm: str = "phase",
    fs: Any = None,
) -> Any:
    """Bessel's filter with the meaning `norm` of its frequency; see `iirfilter`.

    >>> from ferrograd.scipy import signal
    >>> b, a = signal.bessel(2, 0.5)
    >>> b.round(4).tolist()
    [0.2679, 0.5359, 0.2679]
    """
    return iirfilter(N, Wn, None, None, btype, analog, f"bessel_{norm}", output, fs)
