"""What the tests of `fg.Function` share: two classes, and classes made of plain functions."""

from typing import Any

import ferrograd as fg
from ferrograd import Function, Tensor


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float = 1.0) -> Tensor:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x**3

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * ctx.scale * x**2, None


class Exp(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = fg.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return g * y


def function(forward: Any, backward: Any, name: str = "F") -> Any:
    """A Function made of two plain functions."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (Function,), body)


def leaf(*values: float) -> Tensor:
    return fg.tensor(list(values), requires_grad=True)


def failing(error: type[Exception], *words: str, factor: float = 1.0) -> Any:
    """A Function that multiplies, and whose backward raises an exception of this class."""

    def backward(ctx: Any, g: Any) -> Any:
        raise error(*words)

    return function(lambda ctx, x: x * factor, backward, "Fails")
