"""Nothing leaks: nodes, bytes and Python objects of every pattern known to leak elsewhere die.

`conftest.py` checks the nodes of every other test.
"""

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

grad = fg.autograd.grad
SIZE = 1 << 12


def leaf(size: int = SIZE) -> fg.Tensor:
    return fg.ones(size, requires_grad=True)


class Square(fg.Function):
    """Keeps its context, its input and its output in every way at once."""

    @staticmethod
    def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
        y = x * x
        ctx.save_for_backward(x, y)
        ctx.kept, ctx.own = y, ctx
        return y

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
        x, _ = ctx.saved_tensors
        return 2 * g * x


def dropped_without_backward(x: fg.Tensor) -> Any:
    return (x * x).exp().sum()


def after_backward(x: fg.Tensor) -> Any:
    loss = (x * x).exp().sum()
    loss.backward()
    return loss


def retained(x: fg.Tensor) -> Any:
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    return loss


def saved_output(x: fg.Tensor) -> Any:
    y = x.exp().sigmoid().sqrt()
    y.sum().backward(retain_graph=True)
    return y


def grad_with_history(x: fg.Tensor) -> Any:
    (x**3).sum().backward(create_graph=True)
    return x.grad


def third_order(x: fg.Tensor) -> Any:
    y = (x**4).sum()
    for _ in range(3):
        y = grad(y, x, create_graph=True)[0].sum()
    return y


def retained_grad(x: fg.Tensor) -> Any:
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    return y


def cycle_through_a_list(x: fg.Tensor) -> Any:
    box: list[Any] = [x * 2]
    box.append(box)
    return None


def attribute_cycle(x: fg.Tensor) -> Any:
    class Named(fg.Tensor):
        pass

    w = Named([1.0], requires_grad=True)
    w.me, w.result = w, w * x[:1]
    return None


def function_with_everything_kept(x: fg.Tensor) -> Any:
    y = Square.apply(x)
    y.sum().backward(retain_graph=True)
    return y


def metadata_that_names_the_result(x: fg.Tensor) -> Any:
    y = x * 2
    y.grad_fn.metadata["result"] = y
    return None


def failed_backward(x: fg.Tensor) -> Any:
    w = fg.ones(SIZE)
    loss = (x * w).sum()
    with fg.autograd.graph.disallow_mutation_on_saved_tensors():
        w[0] = 2.0
    with pytest.raises(fg.errors.InPlaceError):
        loss.backward()
    return None


def written_while_saved(x: fg.Tensor) -> Any:
    w = fg.ones(SIZE)
    loss = (x * w).sum()
    w[::2] = 2.0
    w += 1
    loss.backward()
    return w


def written_and_dropped(x: fg.Tensor) -> Any:
    y = x * 2
    alias = y.detach()
    for k in range(3):
        (y * y[::-1]).sum()
        alias[k:] = 1.0
    return alias


def failed_forward(x: fg.Tensor) -> Any:
    y = x * 2
    with pytest.raises(fg.errors.ShapeError):
        y + fg.ones(3)
    return None


def views_and_changes(x: fg.Tensor) -> Any:
    y = (x * 2).reshape(2, -1)
    y[0] = 0.0
    y += 1
    (y.T * y.T).sum().backward()
    return y


def saved_values_looked_at(x: fg.Tensor) -> Any:
    y = (x * x).exp()
    node = y.grad_fn
    return [node, node.saved, node.next_functions, node.next_functions[0][0].saved]


PATTERNS = [
    *(dropped_without_backward, after_backward, retained, saved_output, grad_with_history),
    *(third_order, retained_grad, cycle_through_a_list, attribute_cycle, failed_forward),
    *(function_with_everything_kept, metadata_that_names_the_result, failed_backward),
    *(views_and_changes, saved_values_looked_at, written_while_saved, written_and_dropped),
]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda f: f.__name__)
def test_no_pattern_leaks(pattern: Callable[[fg.Tensor], Any]) -> None:
    gc.collect()
    nodes, memory = fg.live_nodes(), fg.live_bytes()
    for _ in range(3):
        x = leaf()
        alive = weakref.ref(x)
        result = pattern(x)
        del x, result
        gc.collect()
        assert alive() is None
    assert fg.live_nodes() == nodes
    assert fg.live_bytes() == memory


ACYCLIC = [p for p in PATTERNS if p.__name__ not in {
    "cycle_through_a_list", "attribute_cycle", "metadata_that_names_the_result",
    "function_with_everything_kept",
}]  # fmt: skip


@pytest.mark.parametrize("pattern", ACYCLIC, ids=lambda f: f.__name__)
def test_reference_counting_alone_frees(pattern: Callable[[fg.Tensor], Any]) -> None:
    gc.collect()
    gc.disable()
    try:
        nodes, memory = fg.live_nodes(), fg.live_bytes()
        x = leaf()
        result = pattern(x)
        del x, result
        assert fg.live_nodes() == nodes
        assert fg.live_bytes() == memory
    finally:
        gc.enable()


class TestCounts:
    def test_live_bytes_are_exact(self) -> None:
        gc.collect()
        before = fg.live_bytes()
        x = fg.zeros(1000)
        assert fg.live_bytes() - before >= 8000
        view = x[10:]
        held = fg.live_bytes()
        del x
        assert fg.live_bytes() == held
        del view
        assert fg.live_bytes() == before

    def test_live_nodes_are_exact(self) -> None:
        before = fg.live_nodes()
        x = leaf(1)
        y = x * 2
        assert fg.live_nodes() - before == 2
        z = y + y
        assert fg.live_nodes() - before == 3
        del y
        assert fg.live_nodes() - before == 3
        del z
        assert fg.live_nodes() - before <= 1
        del x
        assert fg.live_nodes() == before

    def test_the_wave_frees_what_it_passed(self) -> None:
        x = leaf(1 << 16)
        y = x
        for _ in range(20):
            y = y.exp().tanh()
        loss = y.sum()
        del y
        full = fg.live_bytes()
        assert full > 20 * (8 << 16)
        loss.backward()
        assert fg.live_bytes() < 4 * (8 << 16)

    def test_detached_results_keep_no_graph(self) -> None:
        before = fg.live_nodes()
        kept = [(leaf(4) * 2).detach() for _ in range(10)]
        assert fg.live_nodes() == before
        assert len(kept) == 10

    def test_a_running_loss_of_items_keeps_nothing(self) -> None:
        x = leaf(2)
        total, nodes = 0.0, fg.live_nodes()
        for _ in range(50):
            loss = (x * x).sum()
            loss.backward()
            total += loss.item()
        del loss
        assert total == 100.0
        assert fg.live_nodes() - nodes <= 1

    def test_a_million_small_steps_hold_level(self) -> None:
        x = leaf(8)
        levels = []
        for i in range(3000):
            (x * x + x).sum().backward()
            if i % 1000 == 999:
                levels.append((fg.live_nodes(), fg.live_bytes()))
        assert len(set(levels)) == 1


def on_a_small_stack(work: Callable[[], None]) -> None:
    """Runs `work` on a thread with a stack of 512 KiB."""
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # it is raised again on the caller's thread
            failures.append(error)

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=guarded)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    if failures:
        raise failures[0]


DEEP = 1_000_000


def chain(x: fg.Tensor, length: int) -> fg.Tensor:
    y = x
    for _ in range(length):
        y = y * 1.0
    return y


@pytest.mark.slow
class TestDeepChains:
    def test_built_and_run(self) -> None:
        def work() -> None:
            x = leaf(1)
            chain(x, DEEP).backward()
            assert x.grad.tolist() == [1.0]

        on_a_small_stack(work)

    def test_dropped_without_backward(self) -> None:
        def work() -> None:
            x = leaf(1)
            y = chain(x, DEEP)
            assert fg.live_nodes() >= DEEP
            del y
            assert fg.live_nodes() < DEEP // 2

        on_a_small_stack(work)

    def test_kept_by_saved_values(self) -> None:
        def work() -> None:
            x = leaf(1)
            y = x
            for _ in range(DEEP // 4):
                y = y.tanh()
            (first,) = grad(y, x, create_graph=True)
            del y, first

        on_a_small_stack(work)

    def test_a_wide_sum(self) -> None:
        def work() -> None:
            x = leaf(1)
            total = x * 0.0
            for _ in range(DEEP // 4):
                total = total + x
            total.backward()
            assert x.grad.tolist() == [DEEP // 4]

        on_a_small_stack(work)


def test_arrays_over_tensors_keep_and_free_their_memory() -> None:
    gc.collect()
    before = fg.live_bytes()
    array = fg.ones(SIZE).numpy()
    assert fg.live_bytes() > before
    np.testing.assert_array_equal(array, 1.0)
    del array
    assert fg.live_bytes() == before


def test_tensors_over_arrays_keep_and_free_them() -> None:
    class Owned(np.ndarray):
        pass

    array = np.zeros(4).view(Owned)
    alive = weakref.ref(array)
    t = fg.from_numpy(array)
    view = t[1:]
    del array, t
    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None
