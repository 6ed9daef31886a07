"""`ferrograd.scipy.signal` beside SciPy: convolutions and recursive filters."""

from typing import Any

import numpy as np
import pytest
import scipy.signal as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.scipy import signal as ours
from scipy_support import agree

RANDOM = np.random.default_rng(17)
IMAGE, KERNEL = RANDOM.normal(size=(5, 6)), RANDOM.normal(size=(3, 2))
X = RANDOM.normal(size=(2, 9))
B, A = np.array([0.3, 0.2, -0.1]), np.array([1.2, -0.5, 0.3, 0.1])
SOS = theirs.butter(4, 0.3, output="sos")


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
def test_planes(name: str, boundary: str, mode: str) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    agree(
        lambda a, k: mine(a, k, mode, boundary),
        lambda a, k: other(a, k, mode, boundary),
        IMAGE,
        KERNEL,
    )
    for a, k in ((KERNEL, IMAGE), (IMAGE, KERNEL.T), (IMAGE, IMAGE), (KERNEL, KERNEL[:1, :1])):
        if boundary == "fill":
            assert_allclose(
                mine(a, k, mode, "fill", 2.5), other(a, k, mode, "fill", 2.5), rtol=1e-9
            )
        elif np.shape(a) == (5, 6):
            assert_allclose(mine(a, k, mode, boundary), other(a, k, mode, boundary), rtol=1e-9)


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_correlate(mode: str) -> None:
    for a, b in ((IMAGE, KERNEL), (X[0], B), (B, X[0]), (IMAGE[:, :, None], KERNEL[..., None])):
        agree(
            lambda a, b: ours.correlate(a, b, mode), lambda a, b: theirs.correlate(a, b, mode), a, b
        )


@pytest.mark.parametrize("name", ["correlate", "convolve"])
def test_sums_of_booleans_are_booleans(name: str) -> None:
    a, b = np.array([True, False, True, True]), np.array([True, True])
    expected = getattr(theirs, name)(a, b)
    for make in (np.asarray, fg.tensor):
        found = getattr(ours, name)(make(a), make(b))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("b", "a"), [(B, A), (A, B[::-1]), (B, A[:1]), (B[:1], A), (B[:1], A[:1])])
def test_lfilter(b: Any, a: Any) -> None:
    agree(ours.lfilter, theirs.lfilter, b, a, X)
    agree(
        lambda b, a, x: ours.lfilter(b, a, x, axis=0),
        lambda b, a, x: theirs.lfilter(b, a, x, axis=0),
        b,
        a,
        X[:, :5].T,
    )


@pytest.mark.parametrize("length", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("part", [0, 1])
def test_lfilter_from_a_state(length: int, part: int) -> None:
    state = RANDOM.normal(size=(2, 3))
    agree(
        lambda b, a, x, z: ours.lfilter(b, a, x, zi=z)[part],
        lambda b, a, x, z: theirs.lfilter(b, a, x, zi=z)[part],
        B,
        A,
        X[:, :length],
        state,
        order=1 + (length == 2),
    )


def test_a_state_without_delays_and_a_state_that_broadcasts() -> None:
    x = fg.tensor(X, requires_grad=True)
    y, state = ours.lfilter(B[:1], A[:1], x, zi=np.zeros((2, 0)))
    assert state.shape == (2, 0)
    assert_allclose(y.detach().numpy(), X * B[0] / A[0])


def test_lfilter_in_parts_is_lfilter() -> None:
    def parts(x: Any) -> Any:
        first, state = ours.lfilter(B, A, x[:, :4], zi=0 * x[:, :3])
        return fg.concatenate([first, ours.lfilter(B, A, x[:, 4:], zi=state)[0]], 1)

    x = fg.tensor(X, requires_grad=True)
    assert_allclose(parts(x).detach().numpy(), theirs.lfilter(B, A, X))
    fg.gradcheck(parts, x)


def test_steady_states() -> None:
    for b, a in ((B, A), (A, B), (B, np.concatenate([[0.0], A]))):
        agree(ours.lfilter_zi, theirs.lfilter_zi, b, a) if a[0] else None
        assert_allclose(ours.lfilter_zi(b, a), theirs.lfilter_zi(b, a))
    agree(ours.sosfilt_zi, theirs.sosfilt_zi, SOS, singles=False)


def test_sections() -> None:
    agree(lambda x: ours.sosfilt(SOS, x), lambda x: theirs.sosfilt(SOS, x), X, singles=False)
    state = RANDOM.normal(size=(2, 2, 2))
    agree(
        lambda x, z: ours.sosfilt(SOS, x, zi=z)[1],
        lambda x, z: theirs.sosfilt(SOS, x, zi=z)[1],
        X,
        state,
        singles=False,
    )
    fg.gradcheck(
        lambda s: ours.sosfilt(fg.concatenate([s, fg.ones(1, 1), 0.1 + 0 * s[:, :2]], 1), X),
        fg.tensor(SOS[:1, :3], requires_grad=True),
    )


@pytest.mark.parametrize("padtype", ["odd", "even", "constant", None])
def test_zero_phase(padtype: Any) -> None:
    agree(
        lambda b, a, x: ours.filtfilt(b, a, x, padtype=padtype, padlen=4),
        lambda b, a, x: theirs.filtfilt(b, a, x, padtype=padtype, padlen=4),
        B,
        A,
        X,
        order=1 if padtype != "odd" else 2,
    )
    agree(
        lambda x: ours.sosfiltfilt(SOS, x, 0, padtype, 4),
        lambda x: theirs.sosfiltfilt(SOS, x, 0, padtype, 4),
        X.T,
        singles=False,
    )


def test_the_usual_padding() -> None:
    x = RANDOM.normal(size=40)
    found = ours.filtfilt(B, A, fg.tensor(x)).numpy()
    assert_allclose(found, theirs.filtfilt(B, A, x))
    assert_allclose(ours.sosfiltfilt(SOS, fg.tensor(x)).numpy(), theirs.sosfiltfilt(SOS, x))
    assert_allclose(ours.filtfilt(B, A, x, method="gust"), theirs.filtfilt(B, A, x, method="gust"))


def test_a_filter_of_half_precision_keeps_the_gradients_dtype() -> None:
    x = fg.tensor(X.astype(np.float32), requires_grad=True)
    ours.lfilter(B, A, x).sum().backward()
    assert x.grad.dtype == np.float32


T = fg.tensor(X)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ours.convolve2d(IMAGE, KERNEL, "half"), "mode is 'half'"),
        (lambda: ours.convolve2d(IMAGE, KERNEL, "same", "round"), "boundary is 'round'"),
        (lambda: ours.convolve2d(IMAGE, B), "two matrices"),
        (lambda: ours.convolve2d(IMAGE, np.ones((2, 9)), "valid"), "on both axes"),
        (lambda: ours.lfilter(B, A[None], T), "a has shape"),
        (lambda: ours.lfilter(B, [0.0, 1.0], T), r"a\[0\] is 0"),
        (lambda: ours.lfilter(B, A, T, zi=np.ones((2, 2))), "3 delays"),
        (lambda: ours.lfilter(B, A, T[0, 0]), "at least a vector"),
        (lambda: ours.sosfilt(B, T), "rows of six"),
        (lambda: ours.sosfilt(SOS, T, zi=np.ones((1, 2, 2))), "a state for"),
        (lambda: ours.filtfilt(B, A, T), "a smaller padlen"),
        (lambda: ours.filtfilt(B, A, T, padtype="other"), "padtype is 'other'"),
        (lambda: ours.filtfilt(B, A, T, method="gust"), "use method='pad'"),
    ],
)
def test_wrong_arguments(call: Any, words: str) -> None:
    with pytest.raises((ValueError, NotImplementedError), match=words):
        call()


@pytest.mark.parametrize("method", ["auto", "direct", "fft"])
def test_methods_of_convolution(method: str) -> None:
    a, b = np.array([1.0, 2.0, 4.0]), np.array([0.5, -1.0])
    for name in ("convolve", "correlate"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        for mode in ("full", "valid", "same"):
            found = mine(fg.tensor(a), b, mode, method=method).numpy()
            assert_allclose(found, other(a, b, mode), atol=1e-12)
        assert_allclose(mine(a, b, "full", method), other(a, b), atol=1e-12)
    with pytest.raises(fg.errors.ArgumentError, match="method is"):
        ours.convolve(a, b, method="none")


def test_images_of_whole_numbers_stay_whole() -> None:
    a, b = np.arange(12).reshape(3, 4), np.array([[1, 2], [3, -1]])
    for name in ("convolve2d", "correlate2d"):
        for mode in ("full", "valid", "same"):
            found = getattr(ours, name)(fg.tensor(a), b, mode).numpy()
            same = getattr(theirs, name)(a, b, mode)
            assert found.dtype == same.dtype
            assert (found == same).all()
