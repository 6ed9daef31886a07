"""The unchanged `numpy.random`: samples are arrays."""

from typing import Any

import numpy

_names = {name: getattr(numpy.random, name) for name in numpy.random.__all__}
globals().update(_names)
__all__ = sorted(_names)


def __getattr__(name: str) -> Any:
    """Every other name is NumPy's."""
    return getattr(numpy.random, name)
