"""Design of recursive filters: `iirfilter` and its families.

Order and kind are constants. Invariant: zeros, poles and sections have SciPy's order.
"""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as _face
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._closed_over import floats, plain
from ferrograd.scipy._computed_by_scipy import library
from ferrograd.scipy.signal._prototypes import prototype
from ferrograd.scipy.signal._roots import arranged, coefficients, sections

np: Any = _face


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
    wn, low, high, rate = (None if v is None else _numbers(v) for v in given)
    known = library("signal.iirfilter")(N, wn, low, high, btype, analog, ftype, output, rate)
    if not holds_tensor(given):
        return known
    z, p, k = prototype(ftype.lower(), N, rp, rs)
    z, p, k = _moved(z, p, k, _warped(Wn, fs, analog), btype.lower())
    if not analog:
        z, p, k = _digital(z, p, k)
    if output == "zpk":
        return arranged(z, known[0]), arranged(p, known[1]), k
    return sections(z, p, k, analog) if output == "sos" else (k * coefficients(z), coefficients(p))


def _numbers(value: Any) -> Any:
    found = plain(np.asarray(value))
    return found if found.ndim else float(found)


def _warped(wn: Any, fs: Any, analog: bool) -> Any:
    """The frequencies as an analog filter has them, one or two in a row."""
    wn = np.ravel(floats(wn))
    if fs is not None:
        wn = 2 * wn / fs
    return wn if analog else 4.0 * np.tan(np.pi * wn / 2.0)


def _moved(z: Any, p: Any, k: Any, w: Any, kind: str) -> tuple[Any, Any, Any]:
    """Transforms the low pass of frequency 1 to the requested filter."""
    degree = len(p) - len(z)
    if kind in ("l", "low", "lowpass", "lp"):
        return w[0] * z, w[0] * p, k * w[0] ** degree
    if kind in ("high", "highpass", "h", "hp"):
        gain = k * np.real(np.prod(-z) / np.prod(-p))
        return np.concatenate([w[0] / z, numpy.zeros(degree)]), w[0] / p, gain
    width, center = w[1] - w[0], np.sqrt(w[0] * w[1])
    if kind in ("band", "bandpass", "pass", "bp"):
        zeros = [_pair(z * width / 2, center), numpy.zeros(degree)]
        return np.concatenate(zeros), _pair(p * width / 2, center), k * width**degree
    gain = k * np.real(np.prod(-z) / np.prod(-p))
    notches = 1j * center * numpy.ones(degree)
    zeros = [_pair(width / 2 / z, center), notches, -notches]
    return np.concatenate(zeros), _pair(width / 2 / p, center), gain


def _pair(roots: Any, center: Any) -> Any:
    root = np.sqrt(roots**2 - center**2 + 0j)
    return np.concatenate([roots + root, roots - root])


def _digital(z: Any, p: Any, k: Any) -> tuple[Any, Any, Any]:
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
