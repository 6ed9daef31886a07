"""The array API standard 2024.12: `t.__array_namespace__()`, `import ferrograd.array_api as xp`.

Every function is an operation of the core, with its derivatives, under the standard's signature.
Invariant: a name that is missing here does not exist: nothing falls through to the package, whose
functions of the same name take other arguments.

>>> import ferrograd as fg
>>> import ferrograd.array_api as xp
>>> x = fg.tensor([1.0, 4.0], requires_grad=True)
>>> x.__array_namespace__() is xp
True
>>> xp.sum(xp.sqrt(x)).backward()
>>> x.grad.tolist()
[0.5, 0.25]
"""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from ferrograd._names import array_api as _array_api_names, name_table as _name_table
from ferrograd.array_api._dtype_names import *
from ferrograd.array_api._info import (
    LAZY as _LAZY,
    __array_api_version__ as __array_api_version__,
    __array_namespace_info__ as __array_namespace_info__,
)

globals().update(_name_table.NameTable(_array_api_names.ARRAY_API).load_all())

__all__ = [
    *(name for name in _LAZY if name != "special"),
    *(name for name in globals() if name[0] != "_" and name != "annotations"),
    "__array_api_version__",
    "__array_namespace_info__",
]


def __getattr__(name: str) -> _typing.Any:
    """`special` and `fft`, which are loaded when they are first used."""
    if name not in _LAZY:
        raise AttributeError(
            f"module 'ferrograd.array_api' has no attribute {name!r}: it holds the names of the"
            " standard; ferrograd's own are in the package, NumPy's in ferrograd.numpy"
        )
    return _import_module(f"ferrograd.array_api.{_LAZY[name]}")


def __dir__() -> list[str]:
    """The standard's names, and `special`."""
    return [*__all__, *(name for name in _LAZY if name not in __all__)]
