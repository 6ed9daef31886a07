"""Custom functions that compiled functions refuse, with their messages."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import CompileError
from test_compile import draw, same_bits
from test_compile_functions import Bessel


class InPlace(fg.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(float(x.max()))
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class View(fg.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        float(x.max())
        return x[1:]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class GivesNumber(fg.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2.0, float(x.max())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


def closes_over(x: Any) -> Any:
    y = x * 2.0

    class Closes(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return fg.tensor(x.numpy() * y.numpy())

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    return Closes.apply(x)


REFUSED = {
    "in place": (lambda x: InPlace.apply(x * 1.0), "InPlace.*in place.*copy"),
    "view": (lambda x: View.apply(x), "View.*view.*copy"),
    "number": (lambda x: GivesNumber.apply(x)[0], "GivesNumber.*float.*tensors"),
    "closure": (closes_over, "static|argument"),
    "second derivative": (
        fg.grad(lambda x: fg.grad(lambda x: Bessel.apply(x).sum())(x).sum()),
        "Bessel.*second derivative.*uncompiled",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    f, match = REFUSED[name]
    for _ in range(2):
        with pytest.raises(CompileError, match=match):
            fg.compile(f)(fg.tensor(draw(3)))
    same_bits(fg.compile(lambda x: x * 2.0)(fg.ones(2)), fg.ones(2) * 2.0)


class Fickle(fg.Function):
    """Its outputs and gradients depend on values."""

    kind = "shape"

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.negative = bool(x.numpy()[0] < 0)
        if Fickle.kind == "shape" and ctx.negative:
            return fg.zeros(2)
        return x * 2.0

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None if Fickle.kind == "none" and ctx.negative else g * 2.0


@pytest.mark.parametrize(("kind", "match"), [("shape", r"float64\(2,\)"), ("none", "None")])
def test_outputs_unlike_those_recorded(kind: str, match: str) -> None:
    Fickle.kind = kind
    f = fg.compile(fg.grad(lambda x: Fickle.apply(x).sum() + x.sum()))
    f(np.ones(3))
    with pytest.raises(CompileError, match=match):
        f(-np.ones(3))
    f(np.ones(3))
