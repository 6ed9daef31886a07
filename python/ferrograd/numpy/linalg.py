"""`numpy.linalg` for code to be differentiated."""

from typing import Any

import numpy

from ferrograd.numpy._face import faces as _faces

_names = _faces(numpy.linalg)
globals().update(_names)
__all__ = sorted(_names)


def __getattr__(name: str) -> Any:
    """Every other name is NumPy's."""
    return getattr(numpy.linalg, name)
