"""Element-wise functions of the standard.

Every one is an operation of the core under the signature `(x, /)` or `(x1, x2, /)`, or what NumPy's
function does with a tensor; `_names/array_api.py` lists them. For types: `_elementwise.pyi`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._names import array_api as _table
from ferrograd.array_api._from_declaration import make_binary, make_numpy_unary, make_unary

globals().update(
    **{name: make_unary(name) for name in _table.UNARY.names.split()},
    **{name: make_binary(name) for name in _table.BINARY.names.split()},
    **{name: make_numpy_unary(getattr(np, name), name) for name in _table.OF_NUMPY.names.split()},
)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    """The elements limited to a range, whose ends broadcast with them; None: no limit.

    >>> import ferrograd.array_api as xp
    >>> xp.clip(xp.asarray([1.0, 2.0, 3.0]), max=2.5).tolist()
    [1.0, 2.0, 2.5]
    """
    return _core.clip(x, min, max)
