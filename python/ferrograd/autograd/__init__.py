"""PyTorch's face of autograd: `fg.autograd.backward`, `fg.autograd.grad` and their kin."""

from typing import TYPE_CHECKING, Any

from ferrograd._core import Function as Function
from ferrograd._core import backward as backward
from ferrograd._core import grad as grad
from ferrograd._core import is_grad_enabled as is_grad_enabled
from ferrograd._core import once_differentiable as once_differentiable
from ferrograd._modes import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)

if TYPE_CHECKING:
    from ferrograd._checking import gradcheck as gradcheck
    from ferrograd._checking import gradgradcheck as gradgradcheck

_LAZY = ("gradcheck", "gradgradcheck")


def __getattr__(name: str) -> Any:
    """Loads what most programs never use."""
    if name in _LAZY:
        from ferrograd import _checking

        return getattr(_checking, name)
    raise AttributeError(f"module 'ferrograd.autograd' has no attribute {name!r}")
