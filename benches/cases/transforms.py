"""Transforms of plain NumPy functions, and NumPy's own functions on tensors.

Rosenbrock's function of 10 variables, a chain of 10 operations on a small array, and what
`np.sin(t)` and `array * t` cost beyond the direct call.
"""

from types import ModuleType
from typing import Any

import numpy

from harness import Case

from .common import import_library

X = numpy.linspace(-0.4, 1.1, 10)


def get_numpy_namespace(library: str) -> ModuleType | None:
    """The library's NumPy namespace; ours is NumPy itself."""
    if library == "ferrograd":
        return numpy
    return import_library("autograd.numpy") if library == "autograd" else None


def rosenbrock(np: Any, x: Any) -> Any:
    """The valley."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def apply_ten_operations(np: Any, x: Any) -> Any:
    """Ten operations."""
    y = np.sin(x) * x
    z = np.tanh(y) + np.exp(-y)
    return np.sum(z * y - np.log(z + 2.0))


def make_setup(operator: str, function: Any) -> Any:
    """The set-up of a case: `f` is the transformed function, `x` its argument."""

    def setup(library: str) -> dict[str, Any] | None:
        np = get_numpy_namespace(library)
        if np is None:
            return None
        made = getattr(import_library(library), operator)(lambda x: function(np, x))
        return {"f": made, "x": X}

    return setup


def set_up_calls(library: str) -> dict[str, Any] | None:
    """A tensor that requires grad, an array, NumPy."""
    if library != "ferrograd":
        return None
    fg = import_library(library)
    t = fg.tensor(X, requires_grad=True)
    return {"np": numpy, "fg": fg, "t": t, "a": X, "u": fg.tensor(X)}


def make_case(name: str, statement: str, setup: Any, **options: Any) -> Case:
    """A case whose peer is HIPS autograd."""
    return Case(f"transforms: {name}", statement, setup, peers=("autograd",), **options)


CASES = [
    make_case("rosenbrock(10) value_and_grad", "f(x)", make_setup("value_and_grad", rosenbrock)),
    make_case("rosenbrock(10) hessian", "f(x)", make_setup("hessian", rosenbrock), goal=10.0),
    make_case("grad of 10 operations", "f(x)", make_setup("grad", apply_ten_operations), goal=8.0),
    make_case("np.sin(t)", "np.sin(t)", set_up_calls),
    make_case("fg.sin(t)", "fg.sin(t)", set_up_calls),
    make_case("a * t", "a * t", set_up_calls),
    make_case("u * t", "u * t", set_up_calls),
]
