"""Special functions: what SciPy's array API support looks for as `xp.special`.

With `SCIPY_ARRAY_API=1`, `scipy.special` asks the namespace of its arguments first, so that its
functions of tensors are ours and have derivatives. Invariant: only functions that have derivatives
are members: those that `ferrograd.scipy.special` defines. A function passed on to SciPy would
recurse without end, since SciPy asks this module first.
"""

from __future__ import annotations

from ferrograd.scipy import special as _special

_FUNCTIONS = {
    name: value
    for name, value in vars(_special).items()
    if name[0] != "_" and callable(value) and not isinstance(value, type)
}

__all__ = sorted(_FUNCTIONS)
globals().update(_FUNCTIONS)


def __dir__() -> list[str]:
    """The functions."""
    return __all__
