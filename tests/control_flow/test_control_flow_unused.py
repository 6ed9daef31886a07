"""Results of compiled functions, loops and branches of which a backward pass uses some.

Where no gradient comes to a result, its part of the backward pass does not run: gradients have the
bits that the loop in Python and the function itself give, are None where those are, and no zero
times infinity is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

XS = np.array([0.5, 0.0, 1.5, 2.0])


def body(w: Any, v: Any) -> Any:
    """A carry of three, of which one is made anew; roots have an infinite slope at zero."""

    def f(carry: Any, x: Any) -> Any:
        a, b, c = carry
        return (a * w + b, b * 1.5 + fg.tanh(a), fg.sqrt(x) * v), (a * x + b, fg.sqrt(x) * v + c)

    return f


def run(f: Any, carry: Any, xs: Any, reverse: bool, python: bool) -> tuple[Any, Any]:
    if not python:
        return fg.scan(f, carry, xs, reverse=reverse)
    rows: list[Any] = []
    order = range(xs.shape[0])
    for k in reversed(order) if reverse else order:
        carry, row = f(carry, xs[k])
        rows.append(row)
    rows = rows[::-1] if reverse else rows
    return carry, tuple(fg.stack(list(column)) for column in zip(*rows, strict=True))


def chosen(last: Any, rows: Any, use: str) -> Any:
    found = {"a": last[0], "b": last[1], "c": last[2], "y": rows[0].sum(), "z": rows[1].sum()}
    return sum(found[name] for name in use)


def leaves() -> list[Any]:
    return [
        fg.tensor(value, requires_grad=True)
        for value in (XS, np.float64(0.9), np.float64(1.1), np.float64(0.3), np.float64(0.7))
    ]


def gradients(use: str, reverse: bool, python: bool, compiled: bool) -> list[Any]:
    xs, w, v, a, b = leaves()

    def loss(xs: Any, w: Any, v: Any, a: Any, b: Any) -> Any:
        last, rows = run(body(w, v), (a, b, a * 0.0), xs, reverse, python)
        return chosen(last, rows, use)

    loss = fg.compile(loss) if compiled else loss
    found = []
    for _ in range(2 if compiled else 1):
        found = fg.autograd.grad(loss(xs, w, v, a, b), (xs, w, v, a, b), allow_unused=True)
    return [None if g is None else g.numpy() for g in found]


def same(found: list[Any], wanted: list[Any]) -> None:
    assert [g is None for g in found] == [g is None for g in wanted]
    for a, b in zip(found, wanted, strict=True):
        if a is not None:
            np.testing.assert_array_equal(a, b)
            assert np.array_equal(np.signbit(a), np.signbit(b))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("use", ["a", "b", "c", "ab", "y", "z", "ay", "az", "yz", "abcyz"])
def test_unused_results_of_a_scan(use: str, compiled: bool, reverse: bool) -> None:
    with np.errstate(all="ignore"):
        wanted = gradients(use, reverse, python=True, compiled=False)
        same(gradients(use, reverse, python=False, compiled=compiled), wanted)


def test_a_carry_that_changes_places() -> None:
    def gradient(python: bool) -> list[Any]:
        a, b, w = (fg.tensor(value, requires_grad=True) for value in (0.5, 0.0, 2.0))

        def step(carry: Any, _: Any) -> Any:
            x, y = carry
            return (fg.sqrt(y) * w, x * 2.0), None

        carry: Any = (a, b)
        if python:
            for _ in range(3):
                carry = step(carry, None)[0]
        else:
            carry = fg.scan(step, carry, length=3)[0]
        found = fg.autograd.grad(carry[1], (a, b, w), allow_unused=True)
        return [None if g is None else g.numpy() for g in found]

    with np.errstate(all="ignore"):
        same(gradient(False), gradient(True))


@pytest.mark.parametrize("every", [1, 3])
def test_checkpoints_with_a_result_that_is_not_used(every: int) -> None:
    w = fg.tensor(0.5, requires_grad=True)

    def f(c: Any, x: Any) -> Any:
        return fg.sin(c * w), fg.sqrt(c * 0.0)

    def gradient(loop: Any) -> Any:
        return fg.autograd.grad(loop(), w)[0].numpy()

    def python() -> Any:
        c: Any = fg.tensor(1.0)
        for _ in range(7):
            c = f(c, None)[0]
        return c

    scanned = gradient(lambda: fg.scan(f, fg.tensor(1.0), length=7, checkpoint=every)[0])
    assert scanned == gradient(python)


def test_unused_results_of_a_while_loop() -> None:
    def f(a: Any, b: Any) -> Any:
        return fg.while_loop(
            lambda s: s[0] < 20.0, lambda s: (s[0] * 2.0, fg.sqrt(s[1]) * s[0]), (a, b)
        )

    def gradient(function: Any) -> list[Any]:
        a, b = fg.tensor(1.0, requires_grad=True), fg.tensor(0.0, requires_grad=True)
        found = fg.autograd.grad(function(a, b)[0], (a, b), allow_unused=True)
        return [None if g is None else g.item() for g in found]

    assert gradient(f) == gradient(fg.compile(f)) == [32.0, None]


def test_unused_results_of_a_choice() -> None:
    def branch(x: Any, y: Any) -> Any:
        return x * 2.0, fg.sqrt(y) * x

    def other(x: Any, y: Any) -> Any:
        return x * 3.0, y * 1.0

    f = fg.compile(lambda p, x, y: fg.cond(p, branch, other, x, y))
    for p, slope in ((True, 2.0), (False, 3.0), (True, 2.0)):
        x, y = fg.tensor(1.0, requires_grad=True), fg.tensor(0.0, requires_grad=True)
        found = fg.autograd.grad(f(fg.tensor(p), x, y)[0], (x, y), allow_unused=True)
        assert found[0].item() == slope
        assert found[1] is None


@pytest.mark.parametrize("use", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
def test_unused_results_of_a_function(use: tuple[int, ...]) -> None:
    calls = []

    def f(x: Any, y: Any, w: Any) -> Any:
        calls.append(None)
        h = fg.tanh(x @ w)
        return h.sum(), fg.sqrt(y).sum() + (h * h).sum(), (x * 3.0)[0].sum() - y[1:].sum()

    def gradient(function: Any) -> list[Any]:
        x = fg.tensor(np.linspace(-1, 1, 6).reshape(2, 3), requires_grad=True)
        y = fg.tensor(np.array([0.0, 1.0, 4.0]), requires_grad=True)
        w = fg.tensor(np.linspace(0.1, 0.9, 9).reshape(3, 3), requires_grad=True)
        results = function(x, y, w)
        total = sum(results[k] for k in use)
        found = fg.autograd.grad(total, (x, y, w), allow_unused=True)
        return [None if g is None else g.numpy() for g in found]

    with np.errstate(all="ignore"):
        wanted = gradient(f)
        compiled = fg.compile(f)
        gradient(compiled)
        calls.clear()
        same(gradient(compiled), wanted)
    assert not calls


def test_a_function_that_changes_memory_outside_and_of_which_a_result_is_not_used() -> None:
    count = fg.zeros(())

    @fg.compile
    def f(x: Any) -> Any:
        with fg.no_grad():
            count.add_(1.0)
        return x * 2.0, x * 3.0

    for _ in range(3):
        x = fg.ones(2, requires_grad=True)
        f(x)[1].sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]
    assert count.item() == 3.0


def test_an_operation_with_several_results_of_which_one_is_used_in_a_body() -> None:
    m = fg.tensor(np.array([[2.0, 0.5], [0.5, 1.0]]), requires_grad=True)

    def f(c: Any, x: Any) -> Any:
        values, vectors = fg.linalg.eigh(m * x)
        return c + values.sum(), fg.abs(vectors).sum()

    def gradient(use: int, python: bool) -> Any:
        xs = fg.tensor([1.0, 2.0])
        if python:
            c: Any = fg.tensor(0.0)
            rows = []
            for k in range(2):
                c, y = f(c, xs[k])
                rows.append(y)
            found = (c, fg.stack(rows))
        else:
            found = fg.scan(f, fg.tensor(0.0), xs)
        return fg.autograd.grad(found[use].sum(), m)[0].numpy()

    for use in (0, 1):
        np.testing.assert_array_equal(gradient(use, False), gradient(use, True))


def test_parts_of_one_tensor_of_which_some_are_used_in_a_body() -> None:
    """The gates of an LSTM: zeros stand for the gradient of the one that only `h` needs."""
    w = fg.tensor(np.linspace(-1.0, 1.0, 24).reshape(2, 12), requires_grad=True)

    def f(carry: Any, x: Any) -> Any:
        h, c = carry
        i, o, g, u = fg.split((fg.stack([x, h.sum()]) @ w).reshape(1, 12), 4, axis=1)
        c = fg.sigmoid(i) * c + fg.tanh(g) * fg.sigmoid(u)
        return (fg.sigmoid(o) * fg.tanh(c), c), (h * 2.0).sum()

    def gradient(use: int, python: bool) -> Any:
        xs = fg.tensor([0.5, -1.0, 2.0])
        carry: Any = (fg.zeros(1, 3), fg.ones(1, 3))
        if python:
            for k in range(3):
                carry, _ = f(carry, xs[k])
        else:
            carry, _ = fg.scan(f, carry, xs)
        return fg.autograd.grad(carry[use].sum(), w)[0].numpy()

    for use in (0, 1):
        np.testing.assert_array_equal(gradient(use, False), gradient(use, True))


def test_writes_to_parts_of_a_tensor_in_a_function_of_which_a_result_is_not_used() -> None:
    def f(x: Any, y: Any) -> Any:
        z = x * 2.0
        z[1:] = fg.sqrt(y)
        z[0] = y[0] * 3.0
        return z.sum() * 2.0, (x * x).sum(), (z[1:] * x[1:]).sum()

    compiled = fg.compile(f)
    for use in (0, 1, 2, 1, 0):
        found = []
        for function in (f, compiled):
            x = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
            y = fg.tensor([0.25, 1.0], requires_grad=True)
            grads = fg.autograd.grad(function(x, y)[use], (x, y), allow_unused=True)
            found.append([None if g is None else g.numpy() for g in grads])
        same(found[1], found[0])


def test_custom_functions_with_several_results_of_which_one_is_used() -> None:
    class Both(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * 2.0, y * 3.0

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return a * 2.0, b * np.inf

    def f(x: Any, y: Any) -> Any:
        return Both.apply(x, y)

    compiled = fg.compile(f)
    with np.errstate(all="ignore"):
        for use in (0, 1, 0, 0):
            found = []
            for function in (f, compiled):
                x, y = fg.ones(2, requires_grad=True), fg.ones(2, requires_grad=True)
                grads = fg.autograd.grad(function(x, y)[use].sum(), (x, y), allow_unused=True)
                found.append([None if g is None else g.numpy() for g in grads])
            same(found[1], found[0])


def test_operations_without_a_slope_give_zeros_where_the_pass_comes_to_them() -> None:
    def f(x: Any, y: Any) -> Any:
        z = fg.floor(y) + x
        return z * 2.0, z * y, fg.concatenate([fg.floor(x), x * y])

    compiled = fg.compile(f)
    for use in [(0,), (1,), (2,), (0, 1), (1, 2)]:
        found = []
        for function in (f, compiled):
            x, y = fg.ones(2, requires_grad=True), fg.full((2,), 2.5, requires_grad=True)
            results = function(x, y)
            total = sum(results[k].sum() for k in use)
            grads = fg.autograd.grad(total, (x, y), allow_unused=True)
            found.append([None if g is None else g.numpy() for g in grads])
        same(found[1], found[0])
