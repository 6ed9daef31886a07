"""Modules that programs for PyTorch import by path: `utils.checkpoint`, `autograd.function`."""

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.autograd.function import Function, FunctionCtx, once_differentiable
from ferrograd.utils.checkpoint import checkpoint, checkpoint_sequential


def test_the_module_of_pytorch_s_name() -> None:
    """`utils.checkpoint` has both functions; segments keep only what goes between them."""
    x = fg.tensor([0.5, -1.0], requires_grad=True)
    checkpoint(fg.sin, x, use_reentrant=False).sum().backward()
    np.testing.assert_allclose(x.grad, np.cos(x.detach()))
    calls = []

    def step(x: fg.Tensor) -> fg.Tensor:
        calls.append(1)
        return fg.tanh(x)

    for segments, count in ((1, 5), (2, 7), (3, 7), (5, 9)):
        calls.clear()
        (slope,) = fg.autograd.grad(checkpoint_sequential([step] * 5, segments, x).sum(), x)
        assert len(calls) == count
        (plain,) = fg.autograd.grad(checkpoint_sequential([step] * 5, 1, x).sum(), x)
        np.testing.assert_array_equal(slope, plain)
    for segments in (0, 6):
        with pytest.raises(ValueError, match=f"segments is {segments} for 5 functions"):
            checkpoint_sequential([step] * 5, segments, x)


def test_names_of_pytorch_s_module_of_functions() -> None:
    assert Function is fg.Function
    assert FunctionCtx is fg.FunctionContext
    assert once_differentiable is fg.autograd.once_differentiable
