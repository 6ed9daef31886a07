"""The dtypes of the standard that tensors have.

Invariant: a dtype that no tensor can have is absent, so that a program which asks for it learns it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ferrograd._core import _config

if TYPE_CHECKING:
    bool: np.dtype[Any]
    int8: np.dtype[Any]
    int16: np.dtype[Any]
    int32: np.dtype[Any]
    int64: np.dtype[Any]
    uint8: np.dtype[Any]
    uint16: np.dtype[Any]
    uint32: np.dtype[Any]
    uint64: np.dtype[Any]
    float32: np.dtype[Any]
    float64: np.dtype[Any]
    complex64: np.dtype[Any]
    complex128: np.dtype[Any]

_STANDARD_NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)

#: The dtypes by name.
DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(name) for name in _STANDARD_NAMES if name in _config()["dtypes"]
}

__all__ = list(DTYPES)
globals().update(DTYPES)
