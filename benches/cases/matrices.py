"""Whole Jacobians and Hessians: a two-layer network, Rosenbrock's valley, an element-wise function.

The peers run their best way: `jax.jit`, the vectorised transforms of `torch.func`, HIPS autograd
row by row. Arrays go in and come out, but for torch, whose tensors stay its own.
"""

from collections.abc import Callable
from typing import Any

import numpy

from harness import Case

from .common import import_library

SIZES = (10, 100, 500)


def network(np: Any, w: Any, x: Any) -> Any:
    """Two dense layers."""
    return np.tanh(w[1] @ np.tanh(w[0] @ x))


def energy(np: Any, w: Any, x: Any) -> Any:
    """One number of the network's results."""
    return np.sum(network(np, w, x) ** 2)


def rosenbrock(np: Any, w: Any, x: Any) -> Any:
    """The valley."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def wave(np: Any, w: Any, x: Any) -> Any:
    """Element by element: the Jacobian is diagonal."""
    return np.sin(x) * x + np.exp(-x)


def make_derivative(library: str, operator: str, function: Any, w: Any) -> Callable[[Any], Any]:
    """The library's `jacobian` or `hessian` of a function."""
    if library == "ferrograd":
        return getattr(import_library(library), operator)(lambda x: function(numpy, w, x))
    if library == "autograd":
        np = import_library("autograd.numpy")
        return getattr(import_library(library), operator)(lambda x: function(np, w, x))
    if library == "jax":
        jax, np = import_library(library), import_library("jax.numpy")
        jax.config.update("jax_enable_x64", True)
        name = {"jacobian": "jacrev"}.get(operator, operator)
        made = jax.jit(getattr(jax, name)(lambda x: function(np, w, x)))
        return lambda x: numpy.asarray(made(x))
    torch = import_library("torch")
    weights = [torch.tensor(part) for part in w]
    name = {"jacobian": "jacrev"}.get(operator, operator)
    return getattr(import_library("torch.func"), name)(lambda x: function(torch, weights, x))


def make_setup(operator: str, function: Any, n: int) -> Callable[[str], dict[str, Any] | None]:
    """The set-up of a case: `f` is the transformed function, `x` its argument."""

    def set_up(library: str) -> dict[str, Any] | None:
        random = numpy.random.default_rng(0)
        w = random.standard_normal((2, n, n)) / n**0.5
        x = random.standard_normal(n)
        made = make_derivative(library, operator, function, w)
        return {"f": made, "x": import_library(library).tensor(x) if library == "torch" else x}

    return set_up


CASES = [
    Case(
        f"matrices: {operator} of {function.__name__}, n={n}",
        "f(x)",
        make_setup(operator, function, n),
        unit="µs",
        peers=("torch", "jax", "autograd"),
    )
    for operator, function in (
        ("jacobian", network),
        ("hessian", energy),
        ("hessian", rosenbrock),
        ("jacobian", wave),
    )
    for n in SIZES
]
