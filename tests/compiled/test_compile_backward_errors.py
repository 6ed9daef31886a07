"""Backward passes that raise: when a call is recorded, nobody has asked for one.

What a history of a compiled function is, stands in `test_compile_history.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

import ferrograd as fg
from function_support import failing


def test_a_backward_pass_that_raises_does_so_when_it_is_called() -> None:
    NoBackward = failing(ValueError, "there is no backward", factor=2.0)
    compiled = fg.compile(lambda x: (NoBackward.apply(x), x * 3.0))
    for _ in range(3):
        x = fg.ones(2, requires_grad=True)
        doubled, tripled = compiled(x)
        assert doubled.tolist() == [2.0, 2.0]
        tripled.sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [3.0, 3.0]
        with pytest.raises(ValueError, match="there is no backward"):
            doubled.sum().backward()
    assert "raises ValueError" in compiled.explain(x)


def test_matrices_without_a_derivative_have_values() -> None:
    compiled = fg.compile(lambda x: (fg.linalg.qr(x)[1], x.sum()))
    x = fg.zeros(2, 2, requires_grad=True)
    for _ in range(3):
        r, total = compiled(x)
        assert r.shape == (2, 2)
        (slope,) = fg.autograd.grad(total, x)
        assert slope.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_matrices_without_a_derivative_in_a_loop() -> None:
    def f(x: Any) -> Any:
        return fg.scan(lambda c, _: (c, fg.linalg.qr(x)[1].sum() + c), x.sum(), length=2)

    for function in (f, fg.compile(f), fg.compile(f)):
        x = fg.zeros(2, 2, requires_grad=True)
        last, rows = function(x)
        assert rows.tolist() == [0.0, 0.0]
        (slope,) = fg.autograd.grad(last, x)
        assert slope.tolist() == [[1.0, 1.0], [1.0, 1.0]]
