"""`isinstance`, `type`, `tuple`, `list` and `dict` under the names of HIPS autograd.

Containers of tensors are Python's own.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ferrograd._core import Tensor

list: Any = builtins.list
tuple: Any = builtins.tuple
dict: Any = builtins.dict
#: Traced containers are Python's own.
DictBox: Any = builtins.dict
SequenceBox: Any = (builtins.list, builtins.tuple)


def isinstance(x: Any, classes: Any) -> bool:
    """Python's, where a tensor counts as an array and one without axes as a float too."""
    if builtins.isinstance(x, classes):
        return True
    if not builtins.isinstance(x, Tensor):
        return False
    stands_for = (np.ndarray, float, np.floating) if not x.ndim else (np.ndarray,)
    wanted: Any = classes if builtins.type(classes) is builtins.tuple else (classes,)
    return any(
        builtins.isinstance(c, builtins.type) and any(issubclass(s, c) for s in stands_for)
        for c in wanted
    )


def type(x: Any) -> Any:
    """Python's, where a tensor has the type of an array."""
    return np.ndarray if builtins.type(x) is Tensor else builtins.type(x)
