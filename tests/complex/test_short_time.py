"""`stft` and `istft`: PyTorch's frames, windows, factors and borders, and the way back."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

RNG = np.random.default_rng(0)
X = RNG.standard_normal(37)
BORDERS = {"reflect": "reflect", "replicate": "edge", "circular": "wrap", "constant": "constant"}


def by_definition(x: np.ndarray, n: int, **options: Any) -> np.ndarray:
    hop = options.get("hop_length") or n // 4
    size = options.get("win_length") or n
    window = np.asarray(options.get("window", np.ones(size)))
    left = (n - size) // 2
    window = np.pad(window, (left, n - size - left))
    if options.get("center", True):
        x = np.pad(x, n // 2, mode=BORDERS[options.get("pad_mode", "reflect")])
    frames = [x[k : k + n] * window for k in range(0, len(x) - n + 1, hop)]
    found = np.fft.fft(frames, axis=1).T
    if options.get("onesided", not np.iscomplexobj(frames)):
        found = found[: n // 2 + 1]
    return found / np.sqrt(n) if options.get("normalized") else found


CALLS: list[tuple[int, dict[str, Any]]] = [
    (8, {}),
    (8, {"hop_length": 3, "window": np.hanning(8)}),
    (9, {"win_length": 5, "window": np.hamming(5), "hop_length": 2}),
    (8, {"center": False, "normalized": True}),
    (8, {"onesided": False}),
    *((8, {"pad_mode": mode}) for mode in BORDERS),
]


@pytest.mark.parametrize(("n", "options"), CALLS)
def test_the_definition_and_the_derivative(n: int, options: dict[str, Any]) -> None:
    given = {k: fg.tensor(v) if k == "window" else v for k, v in options.items()}
    found = fg.stft(fg.tensor(X), n, **given, return_complex=True)
    np.testing.assert_allclose(found, by_definition(X, n, **options), atol=1e-13)
    rows = fg.tensor(np.stack([X, X[::-1]]))
    both = rows.stft(n, **given, return_complex=True)
    assert np.array_equal(both[0], found)
    parts = fg.stft(fg.tensor(X), n, **given, return_complex=False)
    assert np.array_equal(parts[..., 1], found.imag)
    x = fg.tensor(X, requires_grad=True)
    fg.gradcheck(lambda x: fg.stft(x, n, **given, return_complex=True).abs(), (x,))


def test_complex_signals_are_two_sided() -> None:
    z = X + 1j * RNG.standard_normal(37)
    np.testing.assert_allclose(fg.stft(fg.tensor(z), 8), by_definition(z, 8), atol=1e-13)
    back = fg.istft(fg.stft(fg.tensor(z), 8), 8, return_complex=True, length=37)
    np.testing.assert_allclose(back, z, atol=1e-13)


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (8, {}),
        (8, {"window": np.hanning(10)[1:9]}),
        (9, {"normalized": True}),
        (8, {"onesided": False}),
    ],
)
def test_the_inverse(n: int, options: dict[str, Any]) -> None:
    given = {k: fg.tensor(v) if k == "window" else v for k, v in options.items()}
    spectrum = fg.stft(fg.tensor(X), n, **given, return_complex=True)
    whole = fg.istft(spectrum, n, **given)
    np.testing.assert_allclose(whole, X[: whole.shape[0]], atol=1e-13)
    np.testing.assert_allclose(fg.istft(spectrum, n, **given, length=20), X[:20], atol=1e-13)
    assert fg.istft(spectrum, n, **given, length=60).shape == (60,)
    s = fg.tensor(spectrum.numpy().copy(), requires_grad=True)
    fg.gradcheck(lambda s: fg.istft(s, n, **given), (s,))


def test_refusals() -> None:
    x = fg.tensor(X)
    for call, error, text in (
        (lambda: fg.stft(x, 8), fg.errors.ArgumentError, "give return_complex=True"),
        (
            lambda: fg.stft(x[:3], 8, center=False, return_complex=True),
            fg.errors.ShapeError,
            "no frame",
        ),
        (
            lambda: fg.stft(x, 8, window=fg.ones(5), return_complex=True),
            fg.errors.ShapeError,
            "window",
        ),
        (lambda: fg.stft(x, 0, return_complex=True), fg.errors.ArgumentError, "n_fft is 0"),
        (lambda: fg.istft(x, 8), fg.errors.ShapeError, "give complex"),
        (lambda: fg.istft(fg.ones(4, 3) + 0j, 8), fg.errors.ShapeError, "4 frequencies"),
        (
            lambda: fg.istft(fg.ones(5, 3) + 0j, 8, 8, window=fg.zeros(8)),
            fg.errors.ArgumentError,
            "add up to zero",
        ),
    ):
        with pytest.raises(error, match=text):
            call()
