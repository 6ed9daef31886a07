"""Functions that SciPy computes and we differentiate.

Owns: the operation made of a function of SciPy's and the rules for it. SciPy is loaded at the first
call. Never computes. Invariant: a rule uses differentiable functions only, so every order follows.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ferrograd.extend import Primitive, defvjp


def library(path: str) -> Any:
    """A function of SciPy's, `special.i0`."""
    module, name = path.rsplit(".", 1)
    try:
        home = import_module(f"scipy.{module}")
    except ImportError as error:
        raise ImportError(f"ferrograd.scipy.{path} is computed by SciPy; install scipy") from error
    return getattr(home, name)


def rest_of(path: str) -> Callable[[str], Any]:
    """`__getattr__` of a module of ours: names we do not have are SciPy's own, on arrays."""

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module 'ferrograd.scipy.{path}' has no attribute {name!r}")
        home = library(path) if "." in path else import_module(f"scipy.{path}")
        return getattr(home, name)

    return find


def of_scipy(path: str, *rules: Any) -> Primitive:
    """A function of SciPy's with one rule for each argument in turn.

    None stands where no formula is known, and then a gradient is refused.
    """

    def function(*args: Any, **kwargs: Any) -> Any:
        return library(path)(*args, **kwargs)

    function.__name__ = function.__qualname__ = path.rsplit(".", 1)[1]
    function.__doc__ = f"`scipy.{path}`, differentiable."
    made = Primitive(function)
    known = [k for k, rule in enumerate(rules) if rule is not None]
    defvjp(made, *(rules[k] for k in known), argnums=known)
    return made
