"""What a program may ask of the namespace before it uses it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._tensor.creation import MAX_NDIM
from ferrograd.array_api._devices import check_device
from ferrograd.array_api._dtype_names import DTYPES

#: Modules of the namespace that are loaded on use; transforms only where the core has them.
LAZY = {"special": "special"} | ({"fft": "_fft"} if "fft" in _core._namespaces else {})

__array_api_version__ = "2024.12"


class NamespaceInfo:
    """What `__array_namespace_info__` gives."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean indexing and shapes that depend on data exist; ranks go as far as NumPy's."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": MAX_NDIM,
        }

    def default_device(self) -> str:
        """The only one."""
        return "cpu"

    def devices(self) -> list[str]:
        """The only one."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of numbers that nothing else decides."""
        check_device("default_dtypes", device)
        real = _core.get_default_dtype()
        found = {"real floating": real, "integral": DTYPES["int64"], "indexing": DTYPES["int64"]}
        complex_ = "complex64" if real == np.float32 else "complex128"
        return found | {"complex floating": DTYPES[complex_]} if complex_ in DTYPES else found

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes that tensors have, of a kind or of several, or all."""
        check_device("dtypes", device)
        if kind is None:
            return dict(DTYPES)
        return {name: dtype for name, dtype in DTYPES.items() if np.isdtype(dtype, kind)}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807
    """Devices, dtypes and capabilities.

    >>> import ferrograd.array_api as xp
    >>> xp.__array_namespace_info__().default_device()
    'cpu'
    """
    return NamespaceInfo()
