"""Tensors outside of a function that every call writes anew."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy as fnp

X = np.array([0.3, 0.7, 1.1])

#: Outside of transforms these pass zeros to what was there, as in PyTorch.
PYTORCHS = ("zero_", "fill_", "fill_ of a value", "copy_", "copy_ of an array", "views")
OVERWRITES: dict[str, Callable[[Any, Any], Any]] = {
    "a slice": lambda b, x: b.__setitem__(slice(None), 0),
    "an ellipsis": lambda b, x: b.__setitem__(..., x),
    "copyto": lambda b, x: fnp.copyto(b, x * x),
    "NumPy's copyto": lambda b, x: np.copyto(b, 0.0),
    "fill": lambda b, x: b.fill(0),
    "zero_": lambda b, x: b.zero_(),
    "fill_": lambda b, x: b.fill_(2.0),
    "fill_ of a value": lambda b, x: b.fill_(x[0]),
    "copy_": lambda b, x: b.copy_(x),
    "copy_ of an array": lambda b, x: b.copy_(fg.tensor(X)),
    "out of a ufunc": lambda b, x: fnp.multiply(x, x, out=b),
    "out of NumPy's ufunc": lambda b, x: np.multiply(x, x, out=b),
    "out by position": lambda b, x: fnp.sin(x, b),
    "out of ours": lambda b, x: fg.multiply(x, 2.0, out=b),
    "out of a sum": lambda b, x: fnp.cumsum(x, out=b),
    "out of a product": lambda b, x: np.matmul(np.eye(3), x, out=b),
    "out of constants": lambda b, x: fnp.add(X, 1.0, b),
    "views": lambda b, x: b[::-1].fill_(x[1]),
}


def used(b: fg.Tensor, write: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        write(b, x)
        b[1] += x[1] * x[0]
        return (b * b).sum() + (b * x).sum()

    return f


@pytest.mark.parametrize("name", OVERWRITES)
def test_a_workspace_that_is_overwritten(name: str) -> None:
    b, expected = fg.zeros(3), fg.grad(used(fg.zeros(3), OVERWRITES[name]))(X)
    f = used(b, OVERWRITES[name])
    for _ in range(3):
        np.testing.assert_array_equal(fg.grad(f)(X), expected)
    x, b = fg.tensor(X, requires_grad=True), fg.zeros(3)
    for _ in range(1 if name in PYTORCHS else 3):
        x.grad = None
        used(b, OVERWRITES[name])(x).backward()
        np.testing.assert_array_equal(x.grad, expected)


@pytest.mark.parametrize("name", OVERWRITES)
def test_what_was_overwritten_has_no_gradient(name: str) -> None:
    x, w = (fg.tensor(X, requires_grad=True) for _ in range(2))
    b = w * w
    kept = (b * 3).sum()
    OVERWRITES[name](b, x)
    (kept + (b * b).sum()).backward()
    np.testing.assert_allclose(w.grad, 6 * X)


def test_what_is_left_of_an_earlier_call_is_an_error_that_says_what_to_write() -> None:
    b = fg.zeros(3)
    f = used(b, lambda b, x: b.__setitem__(0, x[0]))
    fg.grad(f)(X)
    with pytest.raises(fg.errors.GradientError, match=r"earlier call.* b\[:\] = 0"):
        fg.grad(f)(X)
    x, b = fg.tensor(X, requires_grad=True), fg.zeros(3)
    f = used(b, lambda b, x: b.__setitem__(0, x[0]))
    f(x).backward()
    with pytest.raises(fg.errors.GraphFreedError, match=r"earlier step .*b\[:\] = 0 .*detach_"):
        f(x).backward()
    b = fg.zeros(3)
    for _ in range(2):
        b.detach_()
        used(b, lambda b, x: None)(x).backward()
