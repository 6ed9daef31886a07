"""Gradients that one thread reads while passes of another add to them.

Shared leaves and graphs: `test_concurrency.py`.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

SIZE = 300_000
ROUNDS = 100

Backward = Callable[[], None]


def elsewhere(work: Callable[[], Any]) -> Any:
    """What `work` returns on another thread."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def leaf(size: int = SIZE) -> tuple[fg.Tensor, Backward]:
    """A leaf, and what adds 2 to each element of its gradient."""
    x = fg.ones(size, requires_grad=True)
    return x, lambda: (x * 2.0).sum().backward()


READS: dict[str, Callable[[fg.Tensor], np.ndarray]] = {
    "array": lambda x: x.grad.numpy().copy(),
    "asarray": lambda x: np.array(np.asarray(x.grad)),
    "part": lambda x: x.grad[1000:].numpy().copy(),
    "operation": lambda x: (x.grad * 1.0).numpy(),
    "clone": lambda x: x.grad.clone().numpy(),
    "dlpack": lambda x: np.from_dlpack(x.grad.detach()).copy(),
}


@pytest.mark.parametrize("read", READS)
def test_what_is_read_is_of_one_moment(read: str) -> None:
    x, backward = leaf()
    backward()
    done, torn, seen = threading.Event(), [], [0]

    def watch() -> None:
        while not done.is_set():
            found = READS[read](x)
            seen[0] += 1
            if found.min() != found.max():
                torn.append((found.min(), found.max()))

    threads = [threading.Thread(target=watch) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(ROUNDS):
            backward()
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not torn
    assert seen[0] > 0
    np.testing.assert_array_equal(x.grad.numpy(), 2.0 * (ROUNDS + 1))


@pytest.mark.parametrize("size", [3, SIZE])
def test_the_thread_that_runs_the_passes_sees_them_add_in_place(size: int) -> None:
    x, backward = leaf(size)
    backward()
    g, array = x.grad, x.grad.numpy()
    backward()
    assert x.grad is g
    assert (array == 4.0).all()
    buffer = fg.zeros(size)
    x.grad = buffer
    backward()
    assert x.grad is buffer
    assert (buffer.numpy() == 2.0).all()


def test_helpers_add_in_place_for_their_caller() -> None:
    before = fg.get_num_threads()
    fg.set_num_threads(4)
    try:
        leaves = [fg.ones(100_000, requires_grad=True) for _ in range(16)]

        def backward() -> None:
            fg.stack([fg.tanh(x).exp().sin().sum() for x in leaves]).sum().backward()

        backward()
        held, once = [x.grad for x in leaves], leaves[0].grad.clone()
        backward()
        for x, g in zip(leaves, held, strict=True):
            assert x.grad is g
            np.testing.assert_array_equal(g.numpy(), 2.0 * once.numpy())
    finally:
        fg.set_num_threads(before)


@pytest.mark.parametrize("size", [3, SIZE])
@pytest.mark.parametrize("take", [lambda x: x.grad, lambda x: x.grad.numpy(), lambda x: x.grad[1:]])
def test_what_another_thread_took_stays(size: int, take: Callable[[fg.Tensor], Any]) -> None:
    x, backward = leaf(size)
    backward()
    taken = elsewhere(lambda: take(x))
    backward()
    assert (np.asarray(taken) == 2.0).all()
    assert (x.grad.numpy() == 4.0).all()
    # The new gradient is nobody's but the thread's that runs the passes.
    del taken
    mine = x.grad
    backward()
    assert x.grad is mine
    assert (mine.numpy() == 6.0).all()


def test_what_this_thread_took_stays_when_another_runs_the_pass() -> None:
    x, backward = leaf(3)
    backward()
    mine = x.grad
    elsewhere(backward)
    assert mine.tolist() == [2.0] * 3
    assert x.grad.tolist() == [4.0] * 3


def test_a_gradient_that_another_thread_has_let_go_of_stays_in_its_memory() -> None:
    x, backward = leaf()
    backward()
    place = x.grad.data_ptr()
    elsewhere(lambda: x.grad.sum().item())
    backward()
    assert x.grad.data_ptr() == place


@pytest.mark.parametrize("size", [3, SIZE])
def test_a_compiled_pass_leaves_what_another_thread_took(size: int) -> None:
    w = fg.ones(size, requires_grad=True)

    @fg.compile
    def step(x: fg.Tensor) -> fg.Tensor:
        loss = (x * w).sum()
        loss.backward()
        return loss.detach()

    x = fg.full((size,), 2.0)
    for _ in range(3):
        step(x)
    mine = w.grad
    step(x)
    assert w.grad is mine
    assert (mine.numpy() == 8.0).all()
    taken = elsewhere(lambda: w.grad)
    del mine
    step(x)
    assert (taken.numpy() == 8.0).all()
    assert (w.grad.numpy() == 10.0).all()


def test_a_retained_gradient_that_another_thread_took_stays() -> None:
    x = fg.ones(3, requires_grad=True)
    y = x * 2.0
    y.retain_grad()
    loss = (y * 3.0).sum()
    loss.backward(retain_graph=True)
    taken = elsewhere(lambda: y.grad)
    loss.backward()
    assert taken.tolist() == [3.0] * 3
    assert y.grad.tolist() == [6.0] * 3
