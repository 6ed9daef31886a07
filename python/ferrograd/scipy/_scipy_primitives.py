"""Functions that SciPy computes and we differentiate.

SciPy is loaded at the first call. Invariant: a rule uses differentiable functions only, so every
order follows.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd._core import Tensor, is_grad_enabled
from ferrograd.errors import DTypeError
from ferrograd.extend import Primitive, defvjp

np: Any = _ferrograd_numpy


def get_scipy_function(path: str) -> Any:
    """The SciPy function with this path, such as `special.i0`."""
    module, name = path.rsplit(".", 1)
    try:
        home = import_module(f"scipy.{module}")
    except ImportError as error:
        raise ImportError(f"ferrograd.scipy.{path} is computed by SciPy; install scipy") from error
    return getattr(home, name)


def make_scipy_getattr(path: str) -> Callable[[str], Any]:
    """Makes the `__getattr__` of a module: other names are SciPy's functions, on arrays."""

    def get_attribute(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module 'ferrograd.scipy.{path}' has no attribute {name!r}")
        home = get_scipy_function(path) if "." in path else import_module(f"scipy.{path}")
        return getattr(home, name)

    return get_attribute


def make_scipy_primitive(path: str, *rules: Any, real: bool = False) -> Primitive:
    """Makes a SciPy function differentiable; there is one derivative rule for each argument.

    None means that no formula is known; such a gradient is refused. With `real` the rules hold for
    real numbers only, and complex arguments that require grad are refused.
    """

    def function(*args: Any, **kwargs: Any) -> Any:
        return get_scipy_function(path)(*args, **kwargs)

    function.__name__ = function.__qualname__ = path.rsplit(".", 1)[1]
    function.__doc__ = f"`scipy.{path}`, differentiable."
    made = _RealPrimitive(function) if real else Primitive(function)
    known = [k for k, rule in enumerate(rules) if rule is not None]
    defvjp(made, *(make_quiet_rule(rules[k]) for k in known), argnums=known)
    return made


def ignore_float_warnings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function so that NumPy does not warn of infinities and NaN."""
    made: Callable[..., Any] = numpy.errstate(divide="ignore", invalid="ignore", over="ignore")(
        function
    )
    return made


def make_quiet_rule(rule: Any) -> Any:
    """Wraps a derivative rule so that it does not warn, like SciPy's functions.

    If the function is NaN, its derivative is NaN, too, unless its incoming gradient is 0.
    """

    def quiet_rule(ans: Any, *args: Any, **kwargs: Any) -> Any:
        pull = rule(ans, *args, **kwargs)
        return ignore_float_warnings(
            lambda g: pull(np.where(np.isnan(ans) & (g != 0), numpy.nan, g))
        )

    return quiet_rule


class _RealPrimitive(Primitive):
    """A SciPy function with rules for real numbers only."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function; a complex argument that requires grad is refused."""
        if is_grad_enabled():
            for a in args:
                if isinstance(a, Tensor) and a.requires_grad and a.dtype.kind == "c":
                    raise DTypeError(
                        f"{self._name}: an argument of dtype {a.dtype} requires grad, and the"
                        " derivative is written for real numbers only; pass t.detach()"
                    )
        return super().__call__(*args, **kwargs)
