"""The `fft` extension of the standard.

The namespace shows this module as `fft` when the core has transforms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd.array_api._devices import check_device
from ferrograd.array_api._from_declaration import set_function_name

_TRANSFORMS: dict[str, Any] = _core._namespaces.get("fft", {})


def _raise_no_transforms(*_: Any) -> Any:
    """A transform in a build of the core that has none."""
    raise NotImplementedError("fft: this build has no transforms; pass arrays to numpy.fft")


def _make_transform(name: str) -> Any:
    """A transform along one axis."""
    ours = _TRANSFORMS.get(name, _raise_no_transforms)

    def call(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        made: Tensor = ours(x, n, axis, norm)
        return made

    return set_function_name(call, name, ours)


def _make_nd_transform(name: str) -> Any:
    """A transform along several axes."""
    ours = _TRANSFORMS.get(name, _raise_no_transforms)

    def call(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
        made: Tensor = ours(x, s, axes, norm)
        return made

    return set_function_name(call, name, ours)


fft = _make_transform("fft")
ifft = _make_transform("ifft")
rfft = _make_transform("rfft")
irfft = _make_transform("irfft")
hfft = _make_transform("hfft")
ihfft = _make_transform("ihfft")
fftn = _make_nd_transform("fftn")
ifftn = _make_nd_transform("ifftn")
rfftn = _make_nd_transform("rfftn")
irfftn = _make_nd_transform("irfftn")


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
