"""PyTorch's face of autograd: `fg.autograd.backward`, `fg.autograd.grad` and their kin."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ferrograd._core import (
    Function as Function,
    backward as backward,
    grad as grad,
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
    is_grad_enabled as is_grad_enabled,
    is_multithreading_enabled as is_multithreading_enabled,
    once_differentiable as once_differentiable,
)
from ferrograd._inspect.anomaly import (
    detect_anomaly as detect_anomaly,
    set_detect_anomaly as set_detect_anomaly,
)
from ferrograd._tensor.modes import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
    set_multithreading_enabled as set_multithreading_enabled,
)

if TYPE_CHECKING:
    from ferrograd._checking import gradcheck as gradcheck, gradgradcheck as gradgradcheck
    from ferrograd._tensor.checkpoint import run as checkpoint
    from ferrograd.autograd import functional as functional, graph as graph

_LAZY = ("gradcheck", "gradgradcheck")
_MODULES = ("functional", "graph")


def __getattr__(name: str) -> Any:
    """Loads what most programs never use."""
    if name in _LAZY:
        from ferrograd import _checking

        return getattr(_checking, name)
    if name in _MODULES:
        return import_module(f"ferrograd.autograd.{name}")
    if name == "checkpoint":
        from ferrograd._tensor.checkpoint import run

        return run
    raise AttributeError(f"module 'ferrograd.autograd' has no attribute {name!r}")
