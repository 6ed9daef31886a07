"""`numpy.fft` for code to be differentiated: `fg.fft` for tensors, NumPy's own for arrays."""

from typing import Any

import numpy

from ferrograd.numpy._wrappers import wrap_module as _faces

_names = _faces(numpy.fft)
globals().update(_names)
__all__ = sorted(_names)


def __getattr__(name: str) -> Any:
    """Every other name is NumPy's."""
    return getattr(numpy.fft, name)
