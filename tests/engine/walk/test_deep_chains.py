"""A million operations in a row, on a small stack: nothing recurses, however the links run.

Chains of plain operations: `test_memory.py`.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

DEEP = 1_000_000
SMALL_STACK = 256 * 1024


def on_a_small_stack(work: Callable[[], None]) -> None:
    """Runs `work` on a thread whose stack no recursion of a thousand frames would fit in."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    before = threading.stack_size(SMALL_STACK)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if raised:
        raise raised[0]


class Same(fg.Function):
    """The identity, in Python, with a saved value."""

    @staticmethod
    def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
        return g


def saved_values(x: fg.Tensor, length: int) -> fg.Tensor:
    """Each product keeps both of its operands."""
    y, one = x, fg.ones(1, requires_grad=True)
    for _ in range(length):
        y = y * one
    return y


def views(x: fg.Tensor, length: int) -> fg.Tensor:
    """Views of views of one memory."""
    y = x * 1.0
    for _ in range(length // 2):
        y = y.reshape(1, 1)[0]
    return y


def changes(x: fg.Tensor, length: int) -> fg.Tensor:
    """Changes in place, each of which moves the history."""
    y = x * 1.0
    for _ in range(length):
        y += 0.0
    return y


def functions(x: fg.Tensor, length: int) -> fg.Tensor:
    """Nodes that are Python objects."""
    y = x
    for _ in range(length):
        y = Same.apply(y)
    return y


CHAINS = pytest.mark.parametrize("build", [saved_values, views, changes, functions])


@pytest.mark.slow
@CHAINS
def test_a_million_deep_runs_and_frees(build: Callable[[fg.Tensor, int], fg.Tensor]) -> None:
    def work() -> None:
        x = fg.ones(1, requires_grad=True)
        y = build(x, DEEP)
        y.backward()
        np.testing.assert_array_equal(x.grad.numpy(), [1.0])

    on_a_small_stack(work)


@pytest.mark.slow
@CHAINS
def test_a_deep_chain_is_dropped_unused(build: Callable[[fg.Tensor, int], fg.Tensor]) -> None:
    def work() -> None:
        before = fg.live_nodes()
        x = fg.ones(1, requires_grad=True)
        y = build(x, DEEP // 4)
        assert fg.live_nodes() - before >= DEEP // 8
        del y
        assert fg.live_nodes() - before <= 1

    on_a_small_stack(work)


@pytest.mark.slow
def test_a_deep_second_order_is_dropped_unused() -> None:
    def work() -> None:
        x = fg.full((1,), 0.5, requires_grad=True)
        y = x
        for _ in range(DEEP // 10):
            y = y.sin()
        (g,) = fg.autograd.grad(y, x, create_graph=True)
        assert fg.live_nodes() > DEEP // 10
        del y, g

    on_a_small_stack(work)
