# Written by tools/stubs.py from the registry and tools/_core_classes.pyi; edit those.

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from numpy.typing import DTypeLike

from ferrograd._core import Tensor, _Axes, _Shape, _TensorLike

def dct(x: _TensorLike, type: _int = 2, n: _int | None = None, axis: _int = -1, norm: str | None = None, orthogonalize: _bool | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """SciPy's discrete cosine transform of the `type` 1 to 4 along an axis of `n` points; type 2 is `2 sum(x[j] cos(πk(2j+1)/(2n)))`. `norm` says which direction carries the factor; with "ortho" the ends are weighed so that the matrix is orthogonal, unless orthogonalize=False. Derivative: the transposed transform, again one of the four."""
def dctn(x: _TensorLike, type: _int = 2, s: _Shape | None = None, axes: _Axes = None, norm: str | None = None, orthogonalize: _bool | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`dct` along several axes, by default all. Derivative: the transposed transforms."""
def dst(x: _TensorLike, type: _int = 2, n: _int | None = None, axis: _int = -1, norm: str | None = None, orthogonalize: _bool | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """SciPy's discrete sine transform of the `type` 1 to 4 along an axis of `n` points; type 2 is `2 sum(x[j] sin(π(k+1)(2j+1)/(2n)))`. Derivative: the transposed transform, again one of the four."""
def dstn(x: _TensorLike, type: _int = 2, s: _Shape | None = None, axes: _Axes = None, norm: str | None = None, orthogonalize: _bool | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`dst` along several axes, by default all. Derivative: the transposed transforms."""
def idct(x: _TensorLike, type: _int = 2, n: _int | None = None, axis: _int = -1, norm: str | None = None, orthogonalize: _bool | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The inverse of `dct` of the same type. Derivative: the transposed transform."""
def idctn(x: _TensorLike, type: _int = 2, s: _Shape | None = None, axes: _Axes = None, norm: str | None = None, orthogonalize: _bool | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`idct` along several axes, by default all. Derivative: the transposed transforms."""
def idst(x: _TensorLike, type: _int = 2, n: _int | None = None, axis: _int = -1, norm: str | None = None, orthogonalize: _bool | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The inverse of `dst` of the same type. Derivative: the transposed transform."""
def idstn(x: _TensorLike, type: _int = 2, s: _Shape | None = None, axes: _Axes = None, norm: str | None = None, orthogonalize: _bool | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`idst` along several axes, by default all. Derivative: the transposed transforms."""
def fft(x: _TensorLike, n: _int | None = None, axis: _int = -1, norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The discrete Fourier transform along an axis of `n` points, `sum(x[j] exp(-2πi jk/n))`; a shorter axis is padded with zeros, a longer one cut. `norm` says which direction carries the factor: "backward" (the inverse 1/n), "ortho" (both 1/√n), "forward" (this one 1/n). Derivative: the transform of `g` in the other direction with this one's factor."""
def fft2(x: _TensorLike, s: _Shape | None = None, axes: _Axes = (-2, -1), norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`fft` along two axes, by default the last two. Derivative: as that of `fft`."""
def fftn(x: _TensorLike, s: _Shape | None = None, axes: _Axes = None, norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`fft` along several axes, by default all, or the last ones of which `s` gives the lengths. Derivative: as that of `fft`."""
def fftshift(x: _TensorLike, axes: _Axes = None, *, out: Any = None, name: str | None = None) -> Tensor: """The zero frequency in the middle: the halves along the axes exchanged, all axes by default. Derivative: `g` shifted back."""
def hfft(x: _TensorLike, n: _int | None = None, axis: _int = -1, norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`fft` of a signal whose spectrum is real, from the first half of the signal: `n` real values (`2 (m - 1)` of `m` numbers by default). Derivative: half the inverse transform of `g`, interior numbers doubled."""
def hfft2(x: _TensorLike, s: _Shape | None = None, axes: _Axes = (-2, -1), norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`fft` along the first of two axes and `hfft` along the last; by default the last two. Derivative: as those of the two."""
def hfftn(x: _TensorLike, s: _Shape | None = None, axes: _Axes = None, norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`fft` along several axes and `hfft` along the last of them; by default all. Derivative: as those of the two."""
def ifft(x: _TensorLike, n: _int | None = None, axis: _int = -1, norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The inverse of `fft`: `sum(x[j] exp(2πi jk/n)) / n`. Derivative: the transform of `g` in the other direction with this one's factor."""
def ifft2(x: _TensorLike, s: _Shape | None = None, axes: _Axes = (-2, -1), norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`ifft` along two axes, by default the last two. Derivative: as that of `ifft`."""
def ifftn(x: _TensorLike, s: _Shape | None = None, axes: _Axes = None, norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`ifft` along several axes, by default all, or the last ones of which `s` gives the lengths. Derivative: as that of `ifft`."""
def ifftshift(x: _TensorLike, axes: _Axes = None, *, out: Any = None, name: str | None = None) -> Tensor: """The inverse of `fftshift`, which differs from it for odd lengths. Derivative: `g` shifted back."""
def ihfft(x: _TensorLike, n: _int | None = None, axis: _int = -1, norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The inverse of `hfft`: the first `n // 2 + 1` numbers of `ifft` of real values. Derivative: the real values of which `g`, interior numbers halved, is that half."""
def ihfft2(x: _TensorLike, s: _Shape | None = None, axes: _Axes = (-2, -1), norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The inverse of `hfft2`. Derivative: as those of `ifft` and `ihfft`."""
def ihfftn(x: _TensorLike, s: _Shape | None = None, axes: _Axes = None, norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The inverse of `hfftn`. Derivative: as those of `ifft` and `ihfft`."""
def irfft(x: _TensorLike, n: _int | None = None, axis: _int = -1, norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The inverse of `rfft`: the `n` real values (`2 (m - 1)` of `m` numbers by default) of half a spectrum. Derivative: half the spectrum of `g`, interior numbers doubled."""
def irfft2(x: _TensorLike, s: _Shape | None = None, axes: _Axes = (-2, -1), norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The inverse of `rfft2`. Derivative: as those of `ifft` and `irfft`."""
def irfftn(x: _TensorLike, s: _Shape | None = None, axes: _Axes = None, norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The inverse of `rfftn`. Derivative: as those of `ifft` and `irfft`."""
def rfft(x: _TensorLike, n: _int | None = None, axis: _int = -1, norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The first `n // 2 + 1` numbers of `fft` of real values; the others are their conjugates. Derivative: the real values of which `g`, interior numbers halved, is that half."""
def rfft2(x: _TensorLike, s: _Shape | None = None, axes: _Axes = (-2, -1), norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`rfft` along the last of two axes and `fft` along the first; by default the last two. Derivative: as those of the two."""
def rfftn(x: _TensorLike, s: _Shape | None = None, axes: _Axes = None, norm: str | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`rfft` along the last of several axes and `fft` along the others; by default all. Derivative: as those of the two."""

__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]
