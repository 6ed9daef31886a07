"""`torch.autograd.function`: where programs import `once_differentiable` and the context from."""

from ferrograd._core import (
    Function as Function,
    FunctionContext as FunctionContext,
    once_differentiable as once_differentiable,
)

#: PyTorch's name of the context.
FunctionCtx = FunctionContext
