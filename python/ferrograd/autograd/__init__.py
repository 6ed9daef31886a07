"""PyTorch's autograd API: `fg.autograd.backward`, `fg.autograd.grad` and related functions."""

import typing as _typing
from importlib import import_module as _import_module

from ferrograd._core import (
    Function as Function,
    _grad as grad,
    backward as backward,
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

if _typing.TYPE_CHECKING:
    from ferrograd._checking import gradcheck as gradcheck, gradgradcheck as gradgradcheck
    from ferrograd._tensor.checkpoint import run as checkpoint
    from ferrograd.autograd import (
        forward_ad as forward_ad,
        function as function,
        functional as functional,
        graph as graph,
    )

#: Names that are loaded at their first use.
_LAZY_MODULES = ("forward_ad", "function", "functional", "graph")
_LAZY_NAMES = ("gradcheck", "gradgradcheck", "checkpoint", *_LAZY_MODULES)

if not _typing.TYPE_CHECKING:

    def __getattr__(name):
        """Loads modules that most programs never use."""
        if name in ("gradcheck", "gradgradcheck"):
            return getattr(_import_module("ferrograd._checking"), name)
        if name in _LAZY_MODULES:
            return _import_module(f"ferrograd.autograd.{name}")
        if name == "checkpoint":
            return _import_module("ferrograd._tensor.checkpoint").run
        return _import_module("ferrograd._inspect.missing_name_errors").raise_missing_name(
            "autograd", name
        )


def __dir__() -> list[str]:
    """Every public name, loaded or not."""
    return sorted({*(name for name in globals() if name[0] != "_"), *_LAZY_NAMES})
