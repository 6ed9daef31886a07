"""Linear algebra: the operations of the core under `fg.linalg`.

Other names are those of `numpy.linalg`, which take tensors.
"""

from importlib import import_module as _import_module
from typing import Any

import numpy

import ferrograd._core as _core
from ferrograd._names import linalg as _linalg_names, name_table as _name_table

_members = _core._namespaces.get("linalg", {})
globals().update(_members, cross=_core.cross)
__all__ = sorted(_members)

_NUMPY_NAMES = _linalg_names.OF_NUMPY.names.split()
_PYTORCH_NAMES = _name_table.NameTable(_linalg_names.LINALG)


def __getattr__(name: str) -> Any:
    """Functions that are not operations of the core: those of `numpy.linalg`, and PyTorch's."""
    if name in _NUMPY_NAMES:
        found = getattr(numpy.linalg, name)
    elif name in _PYTORCH_NAMES.groups:
        found = _PYTORCH_NAMES.load(name)
    else:
        return _import_module("ferrograd._inspect.missing_name_errors").raise_missing_name(
            "linalg", name
        )
    return globals().setdefault(name, found)


def __dir__() -> list[str]:
    """The operations, NumPy's functions and PyTorch's."""
    return sorted({*globals(), *_NUMPY_NAMES, *_PYTORCH_NAMES.groups})
