"""Forward mode: directional derivatives of array programs, and a Jacobian with few columns.

The peers are `torch.func`, and JAX with `jit` around the whole call; compilation is not timed.
"""

from collections.abc import Callable
from typing import Any

import numpy

from harness import Case

from .common import import_library

SIZES = (4, 1000, 100_000)
STEPS = 10


def chain(maths: Any, x: Any) -> Any:
    """Thirty element-wise operations."""
    for _ in range(STEPS):
        x = maths.sin(x) * maths.tanh(x)
    return x


def runge_kutta(maths: Any, x: Any) -> Any:
    """Ten steps of the classical Runge-Kutta method for x' = -x²."""
    h = 0.01
    for _ in range(STEPS):
        a = -x * x
        b = x + h / 2 * a
        b = -b * b
        c = x + h / 2 * b
        c = -c * c
        d = x + h * c
        d = -d * d
        x = x + h / 6 * (a + 2 * b + 2 * c + d)
    return x


def waves(maths: Any, p: Any) -> Any:
    """Ten parameters, ten thousand values."""
    t = GRIDS[maths.__name__.split(".")[0]]
    y = t * 0.0
    for k in range(5):
        y = y + p[2 * k] * maths.sin(p[2 * k + 1] * t)
    return y


GRIDS: dict[str, Any] = {}


def prepare(library: str) -> Any:
    """The module with the library's functions; it gets the grid of `waves`."""
    grid = numpy.linspace(0.0, 1.0, 10_000)
    if library == "torch":
        maths = import_library("torch")
        GRIDS["torch"] = maths.tensor(grid)
    elif library == "jax":
        import_library("jax").config.update("jax_enable_x64", True)
        maths = import_library("jax.numpy")
        GRIDS["jax"] = maths.asarray(grid)
    else:
        maths = numpy
        GRIDS["numpy"] = grid
    return maths


def make_push_setup(function: Callable[[Any, Any], Any], n: int) -> Callable[[str], dict[str, Any]]:
    """`f(x, v)`: the value and its change."""

    def setup(library: str) -> dict[str, Any]:
        maths = prepare(library)
        x, v = numpy.linspace(0.1, 0.9, n), numpy.ones(n)
        if library == "torch":
            push = import_library("torch.func").jvp
            x, v = maths.tensor(x), maths.tensor(v)
        else:
            push = import_library(library).jvp

        def f(x: Any, v: Any) -> Any:
            return push(lambda y: function(maths, y), (x,), (v,))

        if library == "jax":
            compiled = import_library("jax").jit(f)
            x, v = maths.asarray(x), maths.asarray(v)
            return {
                "f": lambda x, v: [y.block_until_ready() for y in compiled(x, v)],
                "x": x,
                "v": v,
            }
        return {"f": f, "x": x, "v": v}

    return setup


def set_up_matrix(library: str) -> dict[str, Any]:
    """`f(x)`: the Jacobian of `waves`."""
    maths = prepare(library)
    x = numpy.linspace(0.5, 2.0, 10)

    def function(p: Any) -> Any:
        return waves(maths, p)

    if library == "torch":
        return {"f": import_library("torch.func").jacfwd(function), "x": maths.tensor(x)}
    if library == "jax":
        compiled = import_library("jax").jit(import_library("jax").jacfwd(function))
        return {"f": lambda x: compiled(x).block_until_ready(), "x": maths.asarray(x)}
    return {"f": import_library(library).jacfwd(function), "x": x}


CASES = [
    Case(
        f"forward: jvp of {function.__name__}, n={n}",
        "f(x, v)",
        make_push_setup(function, n),
        unit="µs",
        peers=("torch", "jax"),
    )
    for function in (chain, runge_kutta)
    for n in SIZES
]
CASES.append(
    Case(
        "forward: jacfwd of 10 parameters, 10 000 values",
        "f(x)",
        set_up_matrix,
        unit="µs",
        peers=("torch", "jax"),
    )
)
