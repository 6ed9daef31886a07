"""What a function under differentiation can ask about its values.

Owns: `isbox` and `getval`, and the names under which programs import them. Never traces.
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor, is_grad_enabled
from ferrograd.extend import notrace_primitive as notrace_primitive, primitive as primitive

#: The class of traced values.
Box = Tensor


def isbox(x: Any) -> bool:
    """Whether what is computed from this value is recorded."""
    return isinstance(x, Tensor) and bool(x.requires_grad) and is_grad_enabled()


def getval(x: Any) -> Any:
    """The value without its history: an array, or a float without axes."""
    if not isinstance(x, Tensor):
        return x
    found = x.detach().numpy()
    return found if found.ndim else found[()]
