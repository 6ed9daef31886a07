"""Special functions: what SciPy's array API support looks for as `xp.special`.

Owns: the choice of names. With `SCIPY_ARRAY_API=1`, `scipy.special` asks the namespace of its
arguments first, so that its functions of tensors are ours and have derivatives. Never computes.
Invariant: only functions that have derivatives are members: those that `ferrograd.scipy.special`
defines, and those of the two modules here. What is passed on to SciPy would come back without end.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ferrograd.array_api import _special_distributions, _special_elementary
from ferrograd.scipy import special as _special


def _defined(home: ModuleType) -> dict[str, Any]:
    """The public functions of a module, without the modules that it imports."""
    return {
        name: value
        for name, value in vars(home).items()
        if name[0] != "_" and callable(value) and not isinstance(value, type)
    }


_FUNCTIONS = {
    **_defined(_special_elementary),
    **_defined(_special_distributions),
    **_defined(_special),
}
_FUNCTIONS.pop("annotations", None)

__all__ = sorted(_FUNCTIONS)
globals().update(_FUNCTIONS)


def __dir__() -> list[str]:
    """The functions."""
    return __all__
