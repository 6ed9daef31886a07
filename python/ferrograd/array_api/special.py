"""Special functions: what SciPy's array API support looks for as `xp.special`.

Owns: the choice of names. With `SCIPY_ARRAY_API=1`, `scipy.special` asks the namespace of its
arguments first, so that its functions of tensors are ours and have derivatives. Never computes.
Invariant: only functions of `ferrograd.scipy.special` that are defined there are members. What it
passes on to SciPy would come back here without end.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ferrograd.scipy import special as _special


def _defined(home: ModuleType) -> dict[str, Any]:
    """The public functions of a module, without the modules that it imports."""
    return {
        name: value
        for name, value in vars(home).items()
        if name[0] != "_" and callable(value) and not isinstance(value, type)
    }


__all__ = sorted(_defined(_special))
globals().update(_defined(_special))


def __dir__() -> list[str]:
    """The functions."""
    return __all__
