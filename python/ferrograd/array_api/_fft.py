"""The `fft` extension of the standard.

The namespace shows this module as `fft` when the core has transforms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd.array_api._devices import check_device
from ferrograd.array_api._from_declaration import named

_OURS: dict[str, Any] = _core._namespaces.get("fft", {})


def _absent(*_: Any) -> Any:
    """A transform in a build of the core that has none."""
    raise NotImplementedError("fft: this build has no transforms; pass arrays to numpy.fft")


def _along_an_axis(name: str) -> Any:
    """A transform along one axis."""
    ours = _OURS.get(name, _absent)

    def call(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        made: Tensor = ours(x, n, axis, norm)
        return made

    return named(call, name, ours)


def _along_axes(name: str) -> Any:
    """A transform along several axes."""
    ours = _OURS.get(name, _absent)

    def call(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
        made: Tensor = ours(x, s, axes, norm)
        return made

    return named(call, name, ours)


fft = _along_an_axis("fft")
ifft = _along_an_axis("ifft")
rfft = _along_an_axis("rfft")
irfft = _along_an_axis("irfft")
hfft = _along_an_axis("hfft")
ihfft = _along_an_axis("ihfft")
fftn = _along_axes("fftn")
ifftn = _along_axes("ifftn")
rfftn = _along_axes("rfftn")
irfftn = _along_axes("irfftn")


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of `fft` of `n` points `d` apart: `[0, 1, …, -2, -1] / (d n)`."""
    check_device("fftfreq", device)
    return _core.asarray(np.fft.fftfreq(n, d), dtype or _core.get_default_dtype())


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of `rfft` of `n` points `d` apart."""
    check_device("rfftfreq", device)
    return _core.asarray(np.fft.rfftfreq(n, d), dtype or _core.get_default_dtype())


def fftshift(x: Any, /, *, axes: Any = None) -> Tensor:
    """The zero frequency in the middle of the axes, by default of all."""
    shift: Any = np.fft.fftshift
    made: Tensor = shift(_core.asarray(x), axes)
    return made


def ifftshift(x: Any, /, *, axes: Any = None) -> Tensor:
    """The zero frequency at the beginning of the axes again."""
    shift: Any = np.fft.ifftshift
    made: Tensor = shift(_core.asarray(x), axes)
    return made
