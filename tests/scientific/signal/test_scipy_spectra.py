"""`ferrograd.scipy.signal`: convolution by spectra, short-time transforms, periodograms."""

from typing import Any

import numpy as np
import pytest
import scipy.signal

import ferrograd as fg
from ferrograd.scipy import signal

RNG = np.random.default_rng(0)
PAIRS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Any]] = {
    "lines": ((30,), (7,), None),
    "a longer second": ((5,), (40,), None),
    "planes": ((9, 12), (4, 5), None),
    "one axis": ((3, 20), (3, 6), 1),
    "a broadcast axis": ((4, 15), (1, 6), -1),
    "a one": ((1,), (1,), None),
}


def value(out: Any) -> np.ndarray:
    return out.detach().numpy() if isinstance(out, fg.Tensor) else np.asarray(out)


def close(ours: Any, theirs: Any) -> None:
    ours = value(ours)
    assert ours.shape == np.shape(theirs)
    np.testing.assert_allclose(ours, theirs, 1e-11, 1e-12 * np.max(np.abs(theirs), initial=1.0))


@pytest.mark.parametrize("name", ["fftconvolve", "oaconvolve"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("what", PAIRS)
def test_convolution_by_spectra(name: str, mode: str, what: str) -> None:
    first, second, axes = PAIRS[what]
    a, v = RNG.standard_normal(first), RNG.standard_normal(second)
    ours, theirs = getattr(signal, name), getattr(scipy.signal, name)
    want = theirs(a, v, mode, axes)
    close(ours(a, v, mode, axes), want)
    assert isinstance(ours(a, v, mode, axes), np.ndarray)
    close(ours(fg.tensor(a), v, mode, axes), want)
    z = a + 1j * RNG.standard_normal(first)
    close(ours(fg.tensor(z), fg.tensor(v), mode, axes), theirs(z, v, mode, axes))
    fg.check_grads(lambda a, v: ours(a, v, mode, axes), order=2)(a, v)


def test_convolutions_that_cannot_be() -> None:
    a = fg.ones((3, 4))
    for call, match in (
        (lambda: signal.fftconvolve(a, a, "half"), "mode is 'half'"),
        (lambda: signal.fftconvolve(a, fg.ones(3)), "2 and 1 axes"),
        (lambda: signal.fftconvolve(a, fg.ones((2, 5)), "valid"), "mode 'valid'"),
        (lambda: signal.fftconvolve(a, fg.ones((2, 4)), axes=1), "along axis 0"),
        (lambda: signal.fftconvolve(a, a, axes=()), "axes is empty"),
        (lambda: signal.fftconvolve(a, a, axes=4), "axes has 4"),
        (lambda: signal.fftconvolve(a, a, axes=(0, 0)), "every axis once"),
    ):
        with pytest.raises(ValueError, match=match):
            call()


SHORT: tuple[dict[str, Any], ...] = (
    {"nperseg": 16},
    {"nperseg": 16, "noverlap": 12, "nfft": 20, "fs": 3.0},
    {"window": np.hanning(9), "nperseg": None, "noverlap": 2, "scaling": "psd"},
    {"nperseg": 10, "boundary": "even", "padded": False, "detrend": "constant"},
    {"nperseg": 10, "boundary": "odd", "detrend": "linear", "return_onesided": False},
    {"nperseg": 12, "boundary": None, "window": ("gaussian", 3.0)},
)


@pytest.mark.parametrize("options", SHORT, ids=range(len(SHORT)))
def test_short_time_transforms(options: dict[str, Any]) -> None:
    x = RNG.standard_normal((2, 70, 3))
    for a, axis in ((x[0, :, 0], -1), (x, 1)):
        want = scipy.signal.stft(a, axis=axis, **options)
        for ours, theirs in zip(signal.stft(fg.tensor(a), axis=axis, **options), want, strict=True):
            close(ours, theirs)

    def power(a: Any) -> Any:
        z = signal.stft(a, **options)[2]
        return (np.real(z) ** 2 + 2 * np.imag(z) ** 2).sum()

    fg.check_grads(power, order=2)(x[0, :40, 0])


@pytest.mark.parametrize("options", SHORT[:4], ids=range(4))
def test_inverse_short_time_transforms(options: dict[str, Any]) -> None:
    x = RNG.standard_normal((2, 70))
    given = {k: options[k] for k in ("fs", "window", "nperseg", "noverlap", "nfft") if k in options}
    given |= {"scaling": options.get("scaling", "spectrum")}
    if given.get("window") is not None:
        given["nperseg"] = given["window"].size
    z = scipy.signal.stft(x, **given)[2]
    close(signal.istft(fg.tensor(z), **given)[1], scipy.signal.istft(z, **given)[1])
    close(signal.istft(z, **given)[1][:, :60], x[:, :60])
    for ours, theirs in zip(
        signal.istft(z[0], **given), scipy.signal.istft(z[0], **given), strict=True
    ):
        close(ours, theirs)
    turned = np.moveaxis(z, (0, 1), (1, 0))
    want = scipy.signal.istft(turned, freq_axis=0, **given)[1]
    close(signal.istft(turned, freq_axis=0, **given)[1], want)
    fg.check_grads(lambda x: signal.istft(signal.stft(x, **given)[2], **given)[1] ** 2, order=1)(
        x[0]
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fs": 5.0, "window": "hann", "nfft": 40},
        {"nfft": 21, "detrend": False, "scaling": "spectrum"},
        {"detrend": "linear", "return_onesided": False, "axis": 0},
    ],
)
def test_periodograms(options: dict[str, Any]) -> None:
    x = RNG.standard_normal((30, 25))
    for ours, theirs in zip(
        signal.periodogram(fg.tensor(x), **options),
        scipy.signal.periodogram(x, **options),
        strict=True,
    ):
        close(ours, theirs)
    fg.check_grads(lambda x: signal.periodogram(x, **options)[1], order=2)(
        x[:5, :6] if "axis" in options else x[0]
    )


def test_lengths_that_do_not_fit() -> None:
    x = fg.ones(30)
    for call, match in (
        (lambda: signal.stft(x, nperseg=8, noverlap=8), "noverlap is 8"),
        (lambda: signal.stft(x, nperseg=8, nfft=4), "nfft is 4"),
        (lambda: signal.stft(x, nperseg=8, boundary="far"), "boundary is 'far'"),
        (lambda: signal.stft(x, window=np.ones(40)), "no longer"),
        (lambda: signal.periodogram(x, scaling="loud"), "scaling is 'loud'"),
        (lambda: signal.istft(x), "1 axes"),
    ):
        with pytest.raises(ValueError, match=match):
            call()


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("length", [None, 1, 5, 12])
def test_analytic_signals(n: int, length: int | None) -> None:
    x = np.random.default_rng(n).normal(size=(2, n))
    for axis in (0, 1, -1):
        want = scipy.signal.hilbert(x, length, axis)
        np.testing.assert_allclose(signal.hilbert(x, length, axis), want, atol=1e-14)
    fg.gradcheck(lambda x: signal.hilbert(x, length), (fg.tensor(x, requires_grad=True),))


def test_envelopes_have_second_derivatives() -> None:
    x = fg.tensor(np.random.default_rng(0).normal(size=6), requires_grad=True)
    fg.gradgradcheck(lambda x: abs(signal.hilbert(x)), (x,))
    assert signal.hilbert(fg.ones(4, dtype=fg.float32)).dtype == np.complex64
    with pytest.raises(fg.errors.DTypeError, match="hilbert: x is complex128; give a real signal"):
        signal.hilbert(np.ones(2, complex))
