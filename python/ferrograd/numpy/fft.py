"""`numpy.fft` as it is: tensors that require grad are refused with the reason, by dispatch."""

from typing import Any

import numpy

_names = {name: getattr(numpy.fft, name) for name in numpy.fft.__all__}
globals().update(_names)
__all__ = sorted(_names)


def __getattr__(name: str) -> Any:
    """Every other name is NumPy's."""
    return getattr(numpy.fft, name)
