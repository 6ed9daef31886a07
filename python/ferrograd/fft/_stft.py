"""Short-time Fourier transforms under PyTorch's names.

Transforms are the core's. Invariant: shapes, defaults and factors are PyTorch's;
`ferrograd.scipy.signal` has SciPy's.
"""

from __future__ import annotations

from typing import Any

from ferrograd import _core as core
from ferrograd._core import Tensor, asarray
from ferrograd._pytorch.validate import check_integer
from ferrograd._tensor.creation import arange, ones, zeros
from ferrograd.errors import ArgumentError, DTypeError, ShapeError
from ferrograd.fft import _operations as transforms
from ferrograd.nn.functional import pad

#: The least sum of squared windows that frames can be divided by, PyTorch's.
_MIN_WINDOW_SUM = 1e-11


def stft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Tensor:
    """Fourier transforms of overlapping frames of a signal: (…, frequencies, frames).

    Frames of `n_fft` samples begin every `hop_length` (a quarter of that), are multiplied by the
    window and centred in it; with `center` the signal is padded by half a frame on both sides.
    Errors: `ShapeError` for a signal that has not one or two axes or is too short.

    >>> import ferrograd as fg
    >>> fg.stft(fg.ones(16), 8, return_complex=True).shape
    (5, 9)
    """
    x = asarray(input)
    if x.ndim not in (1, 2):
        raise ShapeError(f"stft: the signal has shape {tuple(x.shape)}; give (L,) or (B, L)")
    n, hop = _check_frame_sizes("stft", n_fft, hop_length)
    values = _pad_window("stft", n, win_length, window)
    is_complex = "c" in (x.dtype.kind, values.dtype.kind)
    if return_complex is None and not is_complex:
        raise ArgumentError(
            "stft: return_complex is not given and the signal is real; give return_complex=True"
        )
    if center:
        x = _pad_signal(x, n // 2, pad_mode)
    if x.shape[-1] < n:
        raise ShapeError(
            f"stft: a signal of {x.shape[-1]} samples holds no frame of n_fft={n}; give a longer"
            " one, or a smaller n_fft"
        )
    frames = x.unfold(-1, n, hop) * values
    one = not is_complex if onesided is None else onesided
    if one and is_complex:
        raise DTypeError("stft: onesided=True of complex numbers; leave it out")
    found = (transforms.rfft if one else transforms.fft)(
        frames, norm="ortho" if normalized else None
    )
    found = found.swapaxes(-2, -1)
    return found if return_complex or return_complex is None else core.view_as_real(found)


def istft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose `stft` is nearest to the input; `length` is its number of samples, if given.

    Errors: `ArgumentError` if the squared windows of all frames sum to zero anywhere.

    >>> import ferrograd as fg
    >>> x = fg.arange(16.0)
    >>> fg.allclose(fg.istft(fg.stft(x, 8, return_complex=True), 8), x)
    True
    """
    spectrum = asarray(input)
    if spectrum.dtype.kind != "c" or spectrum.ndim not in (2, 3):
        raise ShapeError(
            f"istft: the input is {spectrum.dtype} of shape {tuple(spectrum.shape)}; give complex"
            " numbers (frequencies, frames) or (B, frequencies, frames)"
        )
    n, hop = _check_frame_sizes("istft", n_fft, hop_length)
    values = _pad_window("istft", n, win_length, window)
    count = int(spectrum.shape[-2])
    one = count != n if onesided is None else onesided
    if count != (n // 2 + 1 if one else n) or (one and return_complex):
        raise ShapeError(
            f"istft: {count} frequencies with n_fft={n}, onesided={one} and"
            f" return_complex={return_complex}; give n_fft // 2 + 1 for a real signal, n_fft else"
        )
    rows = spectrum.swapaxes(-2, -1)
    norm = "ortho" if normalized else None
    frames = transforms.irfft(rows, n, norm=norm) if one else transforms.ifft(rows, norm=norm)
    frames = frames if one or return_complex else frames.real
    total = n + hop * (int(frames.shape[-2]) - 1)
    signal = _overlap_add(frames * values, hop, total)
    weight = _overlap_add((values * values).expand(frames.shape[-2:]), hop, total)
    start = n // 2 if center else 0
    end = total - start if length is None else min(start + length, total)
    signal, weight = signal[..., start:end], weight[start:end]
    if not (abs(weight.detach()) > _MIN_WINDOW_SUM).all():
        raise ArgumentError(
            "istft: the squared windows add up to zero somewhere; use a smaller hop_length, or"
            " another window, or length="
        )
    signal = signal / weight
    rest = 0 if length is None else length - int(signal.shape[-1])
    return pad(signal, (0, rest)) if rest > 0 else signal


def _check_frame_sizes(op: str, n_fft: int, hop_length: int | None) -> tuple[int, int]:
    n = check_integer(op, "n_fft", n_fft, 1)
    hop = n // 4 if hop_length is None else hop_length
    return n, check_integer(op, "hop_length", hop, 1)


def _pad_window(op: str, n: int, win_length: int | None, window: Any) -> Tensor:
    """The window with zeros on both sides up to `n` samples."""
    size = n if win_length is None else check_integer(op, "win_length", win_length, 1)
    values = ones(size) if window is None else asarray(window)
    if size > n or tuple(values.shape) != (size,):
        raise ShapeError(
            f"{op}: a window of shape {tuple(values.shape)} with win_length={size} and n_fft={n};"
            " give a vector of win_length samples, at most n_fft"
        )
    left = (n - size) // 2
    return pad(values, (left, n - size - left)) if size < n else values


def _pad_signal(x: Tensor, width: int, mode: str) -> Tensor:
    """The signal with `width` more samples on both sides."""
    if mode == "constant":
        return pad(x, (width, width))
    stacked = x.reshape((-1, 1, x.shape[-1]))
    return pad(stacked, (width, width), mode).reshape((*x.shape[:-1], -1))


def _overlap_add(frames: Tensor, hop: int, total: int) -> Tensor:
    """The sum of frames, each `hop` samples after the one before."""
    count, n = frames.shape[-2:]
    places = (arange(count) * hop).unsqueeze(1) + arange(n)
    flat = frames.reshape((*frames.shape[:-2], -1))
    base = zeros((*frames.shape[:-2], total), dtype=frames.dtype)
    return core.index_add(base, -1, places.reshape(-1), flat)
