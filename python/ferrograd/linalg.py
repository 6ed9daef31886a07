"""Linear algebra: the operations of the core that live under `fg.linalg`.

Owns: nothing; the registry says which operations belong here. What NumPy has beside them is
NumPy's, which takes tensors.
"""

from typing import Any

import numpy

import ferrograd._core as _core

_members = _core._namespaces.get("linalg", {})
globals().update(_members)
__all__ = sorted(_members)

_NUMPY = (
    *("cond", "cross", "diagonal", "matmul", "matrix_rank", "matrix_transpose", "outer"),
    *("tensordot", "tensorinv", "tensorsolve", "trace", "vecdot"),
)


def __getattr__(name: str) -> Any:
    """The functions of `numpy.linalg` that are no operations of their own."""
    if name in _NUMPY:
        return getattr(numpy.linalg, name)
    raise AttributeError(f"module 'ferrograd.linalg' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The operations and NumPy's functions."""
    return sorted({*globals(), *_NUMPY})
