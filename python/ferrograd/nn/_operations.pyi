# Written by tools/stubs.py from the registry and tools/_core_classes.pyi; edit those.

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from numpy.typing import DTypeLike

from ferrograd._core import Tensor, _Axes, _Shape, _TensorLike

def pad(x: _TensorLike, pad: _Shape, mode: str = "constant", value: _float | None = None) -> Tensor: """PyTorch's pad: widths in pairs, the last axis first; `mode` is constant (negative widths crop), reflect, replicate or circular."""

__all__ = [
    "pad",
]
