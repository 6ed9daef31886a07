"""Several Python threads, and processes forked from a program that has used the pool.

Identical bits at every number of threads: `test_determinism.py`.
"""

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ferrograd as fg


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Runs `work(i)` on threads that start together; the results in order."""
    ready = threading.Barrier(count)

    def started(i: int) -> Any:
        ready.wait()
        return work(i)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(started, range(count)))


def train(i: int, steps: int = 40) -> list[float]:
    rng = np.random.default_rng(i)
    w = fg.tensor(rng.standard_normal((8, 8)), requires_grad=True)
    x = fg.tensor(rng.standard_normal((4, 8)))
    losses = []
    for _ in range(steps):
        loss = fg.tanh(x @ w).square().mean()
        loss.backward()
        losses.append(loss.item())
        with fg.no_grad():
            w -= 0.5 * w.grad
        w.grad = None
    return losses


def test_independent_training_on_threads() -> None:
    assert in_threads(6, train) == [train(i) for i in range(6)]


def test_counts_are_right_while_threads_give_the_lock_up() -> None:
    # Large operations run without the GIL and count what they share with those that keep it.
    begin, interval = fg.live_nodes(), sys.getswitchinterval()
    x = fg.tensor(np.ones(20_000), requires_grad=True)
    y = x * 2.0
    until = time.monotonic() + 1.0

    def work(i: int) -> None:
        while time.monotonic() < until:
            if i % 2:
                (y * x) + y
            else:
                _ = [(y.detach(), y[:3], y.reshape(-1)) for _ in range(50)]

    sys.setswitchinterval(1e-5)
    try:
        in_threads(4, work)
    finally:
        sys.setswitchinterval(interval)
    assert fg.live_nodes() == begin + 2
    np.testing.assert_array_equal(y.numpy(), np.full(20_000, 2.0))
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(20_000, 2.0))


def test_threads_may_share_a_leaf() -> None:
    x = fg.ones(100, requires_grad=True)

    def work(i: int) -> None:
        for _ in range(50):
            (x * float(i + 1)).sum().backward()

    in_threads(4, work)
    np.testing.assert_array_equal(x.grad.numpy(), np.full(100, 50.0 * (1 + 2 + 3 + 4)))


def test_threads_may_share_a_graph() -> None:
    x = fg.tensor(np.linspace(0, 1, 5000), requires_grad=True)
    shared = x.sin().exp()

    def work(i: int) -> np.ndarray:
        loss = (shared * float(i)).sum()
        return fg.autograd.grad(loss, x, retain_graph=True)[0].numpy().copy()

    results = in_threads(4, work)
    for i, result in enumerate(results):
        np.testing.assert_allclose(result, i * results[1], 1e-12)


def test_a_graph_built_on_one_thread_is_run_on_another() -> None:
    x = fg.ones(3, requires_grad=True)
    loss = (x * x).sum()
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0, 2.0])


def test_modes_belong_to_a_thread() -> None:
    with fg.no_grad():
        assert in_threads(2, lambda _: fg.is_grad_enabled()) == [True, True]
        assert not fg.is_grad_enabled()

    def quiet(i: int) -> bool:
        with fg.no_grad() if i else fg.enable_grad():
            time.sleep(0.02)
            return bool((fg.ones(1, requires_grad=True) * 2).requires_grad)

    assert in_threads(2, quiet) == [True, False]


def test_second_order_records_on_the_pool() -> None:
    fg.set_num_threads(4)
    x = fg.tensor(np.linspace(-1, 1, 300 * 300).reshape(300, 300), requires_grad=True)
    branches = [fg.tanh(x * (i + 1.0)).square().sum() for i in range(8)]
    (g,) = fg.autograd.grad(fg.stack(branches).sum(), x, create_graph=True)
    assert g.requires_grad
    (second,) = fg.autograd.grad(g.sum(), x)
    assert np.isfinite(second.numpy()).all()
    t = np.tanh(x.detach().numpy())
    one = fg.autograd.grad(fg.tanh(x).square().sum(), x, create_graph=True)[0].sum()
    expected = 2 * (1 - t**2) * (1 - 3 * t**2)
    np.testing.assert_allclose(fg.autograd.grad(one, x)[0].numpy(), expected, 1e-9, 1e-12)


def test_python_rules_among_parallel_branches() -> None:
    class Double(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
            assert threading.current_thread() is caller
            return g * 2

    fg.set_num_threads(4)
    x = fg.ones(40_000, requires_grad=True)
    branches = [
        (Double.apply(x * float(i)) if i % 2 else (x * float(i)).exp() * 0.0) for i in range(16)
    ]
    caller = threading.current_thread()
    fg.stack([b.sum() for b in branches]).sum().backward()
    expected = 2.0 * sum(range(1, 16, 2))
    np.testing.assert_array_equal(x.grad.numpy(), np.full(40_000, expected))


def test_many_leaves_add_up_alike_on_any_number_of_threads() -> None:
    """Leaves that were reached by a parallel walk get their gradients on as many threads."""

    def gradients(threads: int) -> list[bytes]:
        fg.set_num_threads(threads)
        rng = np.random.default_rng(3)
        x, *weights = (fg.tensor(rng.normal(size=(96, 96)), requires_grad=True) for _ in range(41))
        loss = sum(((x @ w).tanh().sum() for w in weights), fg.tensor(0.0))
        loss.backward(retain_graph=True)
        firsts = [w.grad for w in weights]
        weights[7].grad = fg.asarray(np.ones((96, 96)))
        for _ in range(3):
            loss.backward(retain_graph=True)
        assert [w.grad is first for w, first in zip(weights, firsts, strict=True)].count(False) == 1
        return [w.grad.numpy().tobytes() for w in (x, *weights) if w.grad is not None]

    alone, together = gradients(1), gradients(2)
    assert len(alone) == 41
    assert alone == together


def test_leaves_with_hooks_get_their_gradients_whichever_thread_brings_them() -> None:
    calls: list[int] = []

    def gradients(threads: int) -> list[Any]:
        fg.set_num_threads(threads)
        leaves = [fg.ones((300, 300), requires_grad=True) for _ in range(9)]
        for i, leaf in enumerate(leaves):
            leaf.register_hook(lambda g, i=i: calls.append(i))
        shared, own = leaves[0], leaves[1:]
        fg.stack(
            [fg.tanh(shared * x * (i + 1.0)).sum() for i, x in enumerate(own)]
        ).sum().backward()
        return [leaf.grad for leaf in leaves]

    alone, several = gradients(1), gradients(4)
    assert sorted(calls) == sorted([*range(9), *range(9)])
    for a, b in zip(alone, several, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_changing_the_number_of_threads_while_others_compute() -> None:
    stop = threading.Event()

    def compute(i: int) -> None:
        if i == 0:
            for n in (1, 4, 2, 8, 3) * 4:
                fg.set_num_threads(n)
                time.sleep(0.01)
            stop.set()
            return
        x = fg.ones(200_000, requires_grad=True)
        while not stop.is_set():
            fg.sin(x).sum().backward()

    in_threads(3, compute)


def in_a_child(work: Callable[[], Any], timeout: float = 60.0) -> Any:
    """Runs `work` in a forked process and returns what it returned."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def target() -> None:
        try:
            sender.send((True, work()))
        except BaseException as error:
            sender.send((False, repr(error)))
        finally:
            sender.close()
            os._exit(0)

    child = context.Process(target=target)
    child.start()
    sender.close()
    assert receiver.poll(timeout), "the child hangs"
    passed, result = receiver.recv()
    child.join(timeout)
    assert passed, result
    return result


def large_step() -> list[float]:
    x = fg.tensor(np.linspace(-1, 1, 400_000), requires_grad=True)
    branches = [fg.tanh(x * float(i)).exp().sum() for i in range(6)]
    fg.stack(branches).sum().backward()
    return [float(v) for v in x.grad.numpy()[::100_000]]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
class TestFork:
    def test_the_child_computes_after_the_parent_used_the_pool(self) -> None:
        fg.set_num_threads(4)
        here = large_step()
        assert in_a_child(large_step) == here
        assert large_step() == here

    def test_a_graph_built_before_the_fork_runs_in_the_child(self) -> None:
        fg.set_num_threads(4)
        x = fg.ones(300_000, requires_grad=True)
        loss = fg.stack([fg.sin(x * float(i)).sum() for i in range(4)]).sum()

        def work() -> float:
            loss.backward()
            return float(x.grad.numpy()[0])

        there = in_a_child(work)
        loss.backward()
        assert float(x.grad.numpy()[0]) == there

    def test_fork_while_another_thread_computes(self) -> None:
        fg.set_num_threads(2)
        stop = threading.Event()

        def busy() -> None:
            x = fg.ones(300_000, requires_grad=True)
            while not stop.is_set():
                fg.sin(x).sum().backward()

        thread = threading.Thread(target=busy)
        thread.start()
        try:
            for _ in range(3):
                assert len(in_a_child(large_step)) == 4
        finally:
            stop.set()
            thread.join()

    def test_a_pool_of_forked_processes_computes_what_the_parent_does(self) -> None:
        fg.set_num_threads(4)
        here = large_step()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            steps = [pool.apply_async(large_step) for _ in range(4)]
            assert [step.get(60) for step in steps] == [here] * 4
