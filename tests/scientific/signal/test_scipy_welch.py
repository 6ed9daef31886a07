"""Means of spectra, trends and local polynomials of `ferrograd.scipy.signal` beside SciPy's."""

from typing import Any

import numpy as np
import pytest
import scipy.signal as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.scipy import signal as ours
from scipy_support import agree

RANDOM = np.random.default_rng(29)
X, Y = RANDOM.normal(size=(2, 40)), RANDOM.normal(size=(2, 40))
Z = X[0] + 1j * Y[0]
OPTIONS: tuple[dict[str, Any], ...] = (
    {"nperseg": 16},
    {"nperseg": 15, "fs": 20.0, "scaling": "spectrum"},
    {"nperseg": 16, "noverlap": 4, "nfft": 20, "detrend": "linear"},
    {"nperseg": 8, "window": ("kaiser", 3.0), "detrend": False},
    {"nperseg": 16, "return_onesided": False},
    {"window": np.hanning(12)},
    {"nperseg": 6, "axis": 0},
)


def compare(name: str, *signals: np.ndarray, **options: Any) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    if options.get("axis") == 0:
        signals = tuple(s.T for s in signals)
    found, expected = mine(*signals, **options), other(*signals, **options)
    for one, two in zip(found, expected, strict=True):
        assert isinstance(one, np.ndarray)
        assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    tensors = tuple(fg.tensor(s, requires_grad=True) for s in signals)
    last = mine(*tensors, **options)[-1]
    assert_allclose(last.detach().numpy(), expected[-1], rtol=1e-9, atol=1e-12)
    fg.gradcheck(lambda *s: mine(*s, **options)[-1], tensors, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["welch", "spectrogram"])
def test_powers_of_one_signal(name: str, options: dict[str, Any]) -> None:
    compare(name, X, **options)


@pytest.mark.parametrize("options", OPTIONS)
def test_powers_of_two_signals(options: dict[str, Any]) -> None:
    compare("csd", X, Y, **options)
    if not {"scaling", "return_onesided"} & set(options):
        compare("coherence", X, Y, **options)


def test_complex_signals_and_medians() -> None:
    compare("welch", Z, nperseg=10)
    compare("csd", Z, Y[0], nperseg=10, average="median")
    compare("welch", X, nperseg=10, average="median")
    compare("csd", X[0], Y[0, :30], nperseg=10)
    same = fg.tensor(X[0], requires_grad=True)
    assert_allclose(
        ours.csd(same, same, nperseg=8)[1].detach(), theirs.csd(X[0], X[0], nperseg=8)[1]
    )
    for mode in ("complex", "magnitude", "angle", "phase"):
        compare("spectrogram", X, nperseg=8, mode=mode)


@pytest.mark.parametrize("kind", ["linear", "constant"])
@pytest.mark.parametrize("bp", [0, 7, [5, 20]])
@pytest.mark.parametrize("axis", [-1, 0])
def test_detrend(kind: str, bp: Any, axis: int) -> None:
    data = X[:, :24] if axis else X[:, :24].T

    def of(home: Any) -> Any:
        return lambda x: home.detrend(x, axis, kind, bp)

    agree(of(ours), of(theirs), data)


@pytest.mark.parametrize("mode", ["interp", "mirror", "constant", "nearest", "wrap"])
@pytest.mark.parametrize(("length", "order", "deriv"), [(5, 2, 0), (7, 3, 1), (6, 2, 2), (5, 4, 0)])
def test_local_polynomials(mode: str, length: int, order: int, deriv: int) -> None:
    def of(home: Any) -> Any:
        return lambda x: home.savgol_filter(x, length, order, deriv, 0.5, mode=mode, cval=0.3)

    agree(of(ours), of(theirs), X[:, :12], rtol=1e-8, order=1)
    along = ours.savgol_filter(fg.tensor(X.T), length, order, axis=0, mode=mode).numpy()
    assert_allclose(along, theirs.savgol_filter(X.T, length, order, axis=0, mode=mode), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: ours.welch(x, nperseg=8, noverlap=8), "noverlap is 8"),
        (lambda x: ours.welch(x, average="mode", nperseg=8), "average is 'mode'"),
        (lambda x: ours.spectrogram(x, mode="angles"), "'angle' or 'phase'"),
        (lambda x: ours.detrend(x, type="cubic"), "type is 'cubic'"),
        (lambda x: ours.detrend(x, bp=50), "bp is 50 for 40 samples"),
        (lambda x: ours.savgol_filter(x, 41, 2), "window_length is 41 for 40"),
    ],
)
def test_wrong_arguments(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(fg.tensor(X))
