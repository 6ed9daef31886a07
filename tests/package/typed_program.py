"""A program whose types mypy checks: `test_typing.py` compares what it says with the comments."""

from typing import Any, reveal_type

import numpy as np

import ferrograd as fg
from ferrograd import nn


def loss(x: float, n: int = 2) -> float:
    return x**n


reveal_type(fg.grad(loss))  # def (x: float, n: int =) -> Any
reveal_type(fg.value_and_grad(loss)(1.0, n=3))  # tuple[float, Any]
reveal_type(fg.value_and_grad(loss))  # def (x: float, n: int =) -> tuple[float, Any]
reveal_type(fg.jacobian(loss))  # def (x: float, n: int =) -> Any
reveal_type(fg.hessian(fg.grad(loss)))  # def (x: float, n: int =) -> Any
fg.grad(loss)("a")  # error: arg-type
fg.value_and_grad(loss)(1.0, m=2)  # error: call-arg
fg.grad(lambda x: x**2)(3.0)
fg.grad(np.sin)(3.0)
fg.grad(np.sum)(np.ones(3))
fg.value_and_grad(lambda x, y: np.sum(x * y), (0, 1))(np.ones(2), np.ones(2))


class Scale(nn.Module):
    def forward(self, x: fg.Tensor, factor: float = 2.0) -> fg.Tensor:
        return x * factor


reveal_type(Scale()(fg.ones(2), factor=3.0))  # ferrograd._core.Tensor
reveal_type(nn.Linear(2, 3)(fg.ones(1, 2)))  # ferrograd._core.Tensor
Scale()(fg.ones(2), 2.0, 3)  # error: call-arg
Scale()("text")  # error: arg-type


def any_module(module: nn.Module) -> None:
    reveal_type(module(1, key=2))  # Any


class Square(fg.Function):
    @staticmethod
    def forward(ctx: fg.FunctionContext, x: fg.Tensor, power: int = 2) -> fg.Tensor:
        ctx.save_for_backward(x)
        return x**power

    @staticmethod
    def backward(ctx: fg.FunctionContext, g: fg.Tensor) -> Any:
        return g


class Apart(fg.Function):
    @staticmethod
    def forward(x: fg.Tensor) -> tuple[fg.Tensor, int]:
        return x, 1

    @staticmethod
    def setup_context(ctx: fg.FunctionContext, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)


reveal_type(Square.apply(fg.ones(2), power=3))  # ferrograd._core.Tensor
reveal_type(Apart.apply(fg.ones(2)))  # tuple[ferrograd._core.Tensor, int]
_ = fg.typo  # error: attr-defined
_ = nn.UninitializedBuffer  # error: attr-defined
