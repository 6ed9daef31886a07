"""The custom functions that the tests of document 000 share."""

from collections.abc import Sequence
from typing import Any

import ferrograd as fg
from ferrograd import CustomFunction, FunctionContext, Tensor

Gradients = Sequence[Any] | None


class Identity(CustomFunction):
    def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
        return list(inputs)

    def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
        return list(grad_outputs)


class Scale(CustomFunction):
    def __init__(self, k: float) -> None:
        self.k = k

    def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
        (x,) = inputs
        return [x * self.k]

    def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
        return [grad_outputs[0] * self.k]


class Product(CustomFunction):
    def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
        a, b = inputs
        ctx.save_for_backward(a, b)
        return [a * b]

    def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
        a, b = ctx.saved_tensors
        return [grad_outputs[0] * b, grad_outputs[0] * a]


class Returning(CustomFunction):
    """Gives back from forward and backward what it was told to."""

    def __init__(self, outputs: Any = "identity", gradients: Any = None) -> None:
        self.outputs, self.gradients = outputs, gradients

    def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> Any:
        return [inputs[0] * 1] if self.outputs == "identity" else self.outputs

    def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Any:
        return self.gradients


def leaf(*values: float) -> Tensor:
    return fg.tensor(list(values), requires_grad=True)
