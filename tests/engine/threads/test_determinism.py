"""The same bits at every number of threads, whatever the graph.

Single operations: `test_op_derivatives.py`.
"""

from collections.abc import Callable

import numpy as np
import pytest

import ferrograd as fg

THREADS = (1, 2, 4, 8)
UNARY: list[Callable[[fg.Tensor], fg.Tensor]] = [
    *(fg.sin, fg.tanh, fg.sigmoid, fg.relu, fg.square, fg.softplus),
    *(lambda x: x * 0.37, lambda x: x - x.mean(), lambda x: fg.softmax(x, axis=-1)),
    *(lambda x: x / (1.0 + x * x), lambda x: fg.log_softmax(x, axis=0) * 0.01),
    *(lambda x: x[::-1], lambda x: x.T.T, lambda x: x.sum(axis=0, keepdims=True) * 1e-3 + x),
]
BINARY: list[Callable[[fg.Tensor, fg.Tensor], fg.Tensor]] = [
    *(fg.add, fg.multiply, fg.maximum, lambda a, b: a - 0.5 * b),
    *(lambda a, b: fg.where(a > b, a, b), lambda a, b: (a @ b) / a.shape[0]),
    lambda a, b: fg.concatenate([a[:3], b[3:]]),
]


def random_graph(seed: int, size: int, steps: int) -> list[bytes]:
    """A graph drawn from a seed; the bytes of its loss and of all gradients."""
    rng = np.random.default_rng(seed)
    leaves = [fg.tensor(rng.standard_normal((size, size)), requires_grad=True) for _ in range(3)]
    values = list(leaves)
    for _ in range(steps):
        a, b = (values[i] for i in rng.integers(max(0, len(values) - 12), len(values), 2))
        if rng.random() < 0.5:
            values.append(UNARY[rng.integers(len(UNARY))](a))
        else:
            values.append(BINARY[rng.integers(len(BINARY))](a, b))
    loss = fg.stack([v.mean() for v in values[3:]]).sum()
    loss.backward(create_graph=False)
    found = [loss.detach(), *(x.grad for x in leaves if x.grad is not None)]
    assert len(found) > 1
    return [t.numpy().tobytes() for t in found]


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed: int) -> None:
    size, steps = ((16, 150), (120, 60))[seed % 2]
    results = []
    for threads in THREADS:
        fg.set_num_threads(threads)
        results.append(random_graph(seed, size, steps))
    assert all(result == results[0] for result in results)
    assert all(np.isfinite(np.frombuffer(part)).all() for part in results[0])


def branch(x: fg.Tensor, i: int) -> fg.Tensor:
    y = x * (1.0 + i / 7.0)
    for _ in range(4):
        y = fg.tanh(y @ x)
    return y.sum()


def test_many_branches_into_one_leaf(threads: int) -> None:
    def run() -> bytes:
        x = fg.tensor(np.random.default_rng(0).standard_normal((64, 64)), requires_grad=True)
        fg.stack([branch(x, i) for i in range(64)]).sum().backward()
        return x.grad.numpy().tobytes()

    many = run()
    fg.set_num_threads(1)
    assert many == run()


def test_second_order(threads: int) -> None:
    def run() -> bytes:
        rng = np.random.default_rng(1)
        x = fg.tensor(rng.standard_normal((80, 80)), requires_grad=True)
        w = fg.tensor(rng.standard_normal((80, 80)), requires_grad=True)
        loss = fg.tanh(x @ w).square().sum()
        (g,) = fg.autograd.grad(loss, x, create_graph=True)
        (g * g).sum().backward()
        return x.grad.numpy().tobytes() + w.grad.numpy().tobytes()

    many = run()
    fg.set_num_threads(1)
    assert many == run()


def test_repeated_indices_accumulate_in_order(threads: int) -> None:
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 50, 200_000)
    weights = rng.standard_normal(200_000)

    def run() -> bytes:
        x = fg.zeros(50, requires_grad=True)
        x[rows].backward(weights)
        return x.grad.numpy().tobytes()

    many = run()
    fg.set_num_threads(1)
    assert many == run()
    exact = np.zeros(50)
    np.add.at(exact, rows, weights)
    np.testing.assert_allclose(np.frombuffer(many), exact, 1e-9, 1e-10)


def test_the_same_graph_twice() -> None:
    assert random_graph(3, 120, 40) == random_graph(3, 120, 40)


def after_a_product(threads: int) -> list[bytes]:
    """Operations of 10 to 80 µs after one that is split: helpers are awake, these are split too."""
    fg.set_num_threads(threads)
    rng = np.random.default_rng(5)
    a = fg.tensor(rng.standard_normal((200, 200)))
    fused = fg.compile(lambda x: (fg.sin(x) * x + x).sum())
    found = []
    for n in (30_001, 70_000, 140_017, 300_000):
        x = fg.tensor(rng.standard_normal(n))
        step = fg.tensor(rng.standard_normal(2 * n))[::2]
        for work in (lambda x: x * 0.5 + 1, lambda x, s=step: x - s, fg.sqrt, fused):
            _ = a @ a
            found.append(work(fg.abs(x)).numpy().tobytes())
    return found


def test_operations_beside_helpers_that_are_awake() -> None:
    alone = after_a_product(1)
    for threads in (2, 4):
        assert all(after_a_product(threads) == alone for _ in range(5))
