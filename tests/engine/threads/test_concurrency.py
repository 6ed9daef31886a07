"""Passes on several threads at once: shared leaves, shared graphs, failures, Python code inside.

Every test has a watchdog: one that hangs fails with the stacks of all threads. Independent graphs,
fork and modes: `test_threads.py`; identical bits: `test_determinism.py`.
"""

import faulthandler
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest

import ferrograd as fg

F = TypeVar("F", bound=Callable[..., Any])
LIMIT = 90.0
THREADS = 4


def watched(test: F) -> F:
    """Runs a test on a thread of its own and fails, with all stacks, when it does not end."""

    @functools.wraps(test)
    def guarded(*args: Any, **kwargs: Any) -> None:
        raised: list[BaseException] = []

        def run() -> None:
            try:
                test(*args, **kwargs)
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(LIMIT)
        if thread.is_alive():
            faulthandler.dump_traceback(sys.__stderr__)
            pytest.fail(f"{test.__name__} hangs")
        if raised:
            raise raised[0]

    return guarded  # type: ignore[return-value]


def at_once(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """`work(i)` on threads that start together; results or exceptions, in order."""
    ready = threading.Barrier(count)
    results: list[Any] = [None] * count

    def run(i: int) -> None:
        ready.wait()
        try:
            results[i] = work(i)
        except BaseException as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive(), "a thread hangs"
    return results


def branches(x: fg.Tensor, count: int = 12, wrap: Any = None) -> fg.Tensor:
    """A loss whose backward is worth several threads: independent branches of native work."""
    parts = []
    for i in range(count):
        y = fg.tanh(x * (1.0 + i)).exp()
        if wrap is not None:
            y = wrap(y, i)
        parts.append(y.sin().sum())
    return fg.stack(parts).sum()


def leaf(size: int = 30_000) -> fg.Tensor:
    return fg.tensor(np.linspace(-1.0, 1.0, size), requires_grad=True)


def reference(wrap: Any = None) -> np.ndarray:
    """The gradient of `branches` on one thread."""
    before = fg.get_num_threads()
    fg.set_num_threads(1)
    x = leaf()
    branches(x, wrap=wrap).backward()
    fg.set_num_threads(before)
    return x.grad.numpy().copy()


class Traced(fg.Function):
    """Passes its gradient on and notes on which thread and in which mode."""

    seen: list[tuple[threading.Thread, bool]] = []  # noqa: RUF012

    @staticmethod
    def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
        Traced.seen.append((threading.current_thread(), fg.is_grad_enabled()))
        return g * 1.0


class Boom(fg.Function):
    """Raises in backward; the argument says what."""

    @staticmethod
    def forward(ctx: Any, x: fg.Tensor, error: BaseException) -> fg.Tensor:
        ctx.error = error
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> Any:
        raise ctx.error


@pytest.fixture(autouse=True)
def four_threads() -> None:
    fg.set_num_threads(THREADS)


class TestSharing:
    @watched
    def test_parallel_passes_on_separate_graphs_have_the_serial_bits(self) -> None:
        expected = reference()

        def work(_: int) -> np.ndarray:
            x = leaf()
            branches(x).backward()
            return x.grad.numpy().copy()

        for found in at_once(work):
            np.testing.assert_array_equal(found, expected)

    @watched
    def test_one_graph_run_by_several_threads(self) -> None:
        x = leaf()
        loss = branches(x)
        expected = reference()
        for found in at_once(lambda _: fg.autograd.grad(loss, x, retain_graph=True)[0].numpy()):
            np.testing.assert_array_equal(found, expected)

    @watched
    def test_accumulation_into_a_shared_leaf_is_exact(self) -> None:
        x = fg.ones(2000, requires_grad=True)
        rounds = 50

        def work(i: int) -> None:
            for k in range(rounds):
                (x * float(2 * i + k)).sum().backward()

        assert at_once(work) == [None] * THREADS
        total = sum(2 * i + k for i in range(THREADS) for k in range(rounds))
        np.testing.assert_array_equal(x.grad.numpy(), np.full(2000, float(total)))

    @watched
    def test_a_pass_that_frees_a_shared_graph_wins_or_says_so(self) -> None:
        for _ in range(10):
            x = leaf(3000)
            loss = branches(x, 6)
            (once,) = fg.autograd.grad(loss, x, retain_graph=True)
            results = at_once(lambda _, loss=loss: loss.backward())
            failed = [r for r in results if r is not None]
            assert all(isinstance(r, fg.errors.GraphFreedError) for r in failed)
            won = THREADS - len(failed)
            if won:
                np.testing.assert_allclose(x.grad.numpy(), won * once.numpy(), 1e-14)
            else:
                assert x.grad is None

    @watched
    def test_graphs_are_dropped_where_they_were_not_made(self) -> None:
        made: list[Any] = []
        before = fg.live_nodes()

        def make(i: int) -> None:
            for _ in range(50):
                made.append(branches(leaf(10), 3))
                if i % 2 and len(made) > 3:
                    made.pop()

        assert at_once(make) == [None] * THREADS
        made.clear()
        assert fg.live_nodes() == before

    @watched
    def test_a_leaf_changes_while_others_differentiate_their_own(self) -> None:
        x = fg.ones(100, requires_grad=True)

        def work(i: int) -> None:
            for _ in range(100):
                if i == 0:
                    with fg.no_grad():
                        x.mul_(1.0)
                else:
                    try:
                        (x * x).sum().backward()
                    except fg.errors.InPlaceError:
                        continue

        assert at_once(work) == [None] * THREADS


class TestModes:
    @pytest.mark.parametrize("create_graph", [False, True])
    @watched
    def test_grad_mode_travels_with_the_work(self, create_graph: bool) -> None:
        x = leaf()
        loss = branches(x, wrap=lambda y, i: Traced.apply(y) if i % 3 == 0 else y)
        Traced.seen = []
        with fg.no_grad():
            (g,) = fg.autograd.grad(loss, x, create_graph=create_graph)
            assert not fg.is_grad_enabled()
        assert [mode for _, mode in Traced.seen] == [create_graph] * 4
        assert {thread for thread, _ in Traced.seen} == {threading.current_thread()}
        assert g.requires_grad == create_graph
        Traced.seen = []

    @watched
    def test_the_mode_of_one_thread_does_not_show_in_the_passes_of_another(self) -> None:
        def work(i: int) -> bool:
            with fg.no_grad() if i % 2 else fg.enable_grad():
                x = leaf(20_000)
                with fg.enable_grad():
                    loss = branches(x)
                (g,) = fg.autograd.grad(loss, x, create_graph=bool(i // 2))
                assert fg.is_grad_enabled() == (i % 2 == 0)
                return bool(g.requires_grad)

        assert at_once(work) == [False, False, True, True]


class TestFailures:
    @watched
    def test_a_python_exception_surfaces_once_and_unchanged(self) -> None:
        error = KeyError("mine")
        x = leaf()
        x.grad = fg.ones(30_000)
        loss = branches(x, wrap=lambda y, i: Boom.apply(y, error) if i == 7 else y)
        with pytest.raises(KeyError) as caught:
            loss.backward()
        assert caught.value is error
        np.testing.assert_array_equal(x.grad.numpy(), 1.0)
        (x * 2.0).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), 3.0)

    @watched
    def test_of_several_exceptions_one_surfaces(self) -> None:
        errors = [KeyError(i) for i in range(12)]
        for _ in range(5):
            x = leaf()
            loss = branches(x, wrap=lambda y, i: Boom.apply(y, errors[i]))
            with pytest.raises(KeyError) as caught:
                loss.backward()
            assert caught.value in errors
            assert x.grad is None

    @watched
    def test_a_native_error_among_parallel_branches(self) -> None:
        x = leaf()
        w = fg.ones(30_000)
        loss = branches(x, wrap=lambda y, i: y * w if i == 5 else y)
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            w += 1.0
        with pytest.raises(fg.errors.InPlaceError, match='saved by "multiply"'):
            loss.backward()
        assert x.grad is None

    @watched
    def test_a_change_of_what_parallel_branches_saved(self) -> None:
        def wrap(y: fg.Tensor, i: int) -> fg.Tensor:
            return y * w if i % 2 else y

        w = fg.ones(30_000)
        expected = reference(wrap)
        x = leaf()
        loss = branches(x, wrap=wrap)
        w[::3] += 1.0
        w.neg_()
        loss.backward()
        np.testing.assert_array_equal(x.grad.numpy(), expected)

    @watched
    def test_failures_on_several_threads_do_not_mix(self) -> None:
        expected = reference()

        def work(i: int) -> Any:
            x = leaf()
            if i % 2 == 0:
                branches(x).backward()
                return x.grad.numpy().copy()
            branches(x, wrap=lambda y, k: Boom.apply(y, ValueError(i)) if k == 3 else y).backward()
            return None

        for i, found in enumerate(at_once(work)):
            if i % 2 == 0:
                np.testing.assert_array_equal(found, expected)
            else:
                assert isinstance(found, ValueError)
                assert found.args == (i,)

    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
    @watched
    def test_exceptions_that_are_no_errors_pass_too(self, kind: type[BaseException]) -> None:
        error = kind("mine")
        loss = branches(leaf(), wrap=lambda y, i: Boom.apply(y, error) if i == 4 else y)
        with pytest.raises(kind) as caught:
            loss.backward()
        assert caught.value is error


class Inner(fg.Function):
    """Runs a pass of its own inside its backward."""

    @staticmethod
    def forward(ctx: Any, x: fg.Tensor, depth: int) -> fg.Tensor:
        ctx.save_for_backward(x)
        ctx.depth = depth
        return x.sum()

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> Any:
        (saved,) = ctx.saved_tensors
        with fg.enable_grad():
            x = saved.detach().requires_grad_()
            deeper = Inner.apply(x, ctx.depth - 1) if ctx.depth else x.sum()
            loss = branches(x, 4) * 0.0 + deeper
        (inner,) = fg.autograd.grad(loss, x)
        return g * inner, None


class TestPythonInside:
    @watched
    def test_passes_within_parallel_passes(self) -> None:
        x = leaf(20_000)
        parts = [fg.tanh(x * float(i)).sum() * 0.0 + Inner.apply(x, 3) for i in range(4)]
        fg.stack(parts).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.full(20_000, 4.0))

    @watched
    def test_passes_within_passes_on_several_threads(self) -> None:
        def work(_: int) -> np.ndarray:
            x = leaf(5_000)
            (branches(x, 6) * 0.0 + Inner.apply(x, 2)).backward()
            return x.grad.numpy().copy()

        for found in at_once(work):
            np.testing.assert_array_equal(found, np.ones(5_000))

    @watched
    def test_hooks_inside_a_parallel_pass_run_on_the_caller(self) -> None:
        seen: list[tuple[int, threading.Thread]] = []

        def hooked(y: fg.Tensor, i: int) -> fg.Tensor:
            def note(g: fg.Tensor) -> fg.Tensor:
                seen.append((i, threading.current_thread()))
                return g * 1.0

            y.register_hook(note)
            return y

        x = leaf()
        loss = branches(x, wrap=hooked)
        loss.backward()
        assert sorted(i for i, _ in seen) == list(range(12))
        assert {thread for _, thread in seen} == {threading.current_thread()}
        np.testing.assert_array_equal(x.grad.numpy(), reference())

    @watched
    def test_checkpoints_inside_parallel_passes_on_several_threads(self) -> None:
        expected = reference()

        def part(y: fg.Tensor, i: int) -> fg.Tensor:
            again = fg.autograd.checkpoint(lambda t: t * 1.0, y)
            assert isinstance(again, fg.Tensor)
            return again

        def work(_: int) -> np.ndarray:
            x = leaf()
            branches(x, wrap=part).backward()
            return x.grad.numpy().copy()

        for found in at_once(work):
            np.testing.assert_array_equal(found, expected)

    @watched
    def test_garbage_is_collected_meanwhile(self) -> None:
        import gc

        def work(i: int) -> None:
            for _ in range(10):
                x = leaf(2_000)
                loss = branches(x, 6, wrap=lambda y, k: Traced.apply(y) if k % 2 else y)
                cycle: list[Any] = [loss]
                cycle.append(cycle)
                if i == 0:
                    gc.collect()
                else:
                    loss.backward()

        assert at_once(work) == [None] * THREADS
        Traced.seen = []
