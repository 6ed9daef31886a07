"""Passes within passes, and passes that fail: what they leave and what they refuse."""

import sys
import threading
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

grad = fg.autograd.grad


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(list(values) or [1.0, 2.0], requires_grad=True)


class TestFailures:
    def test_a_failing_backward_leaves_every_grad_untouched(self) -> None:
        x, w, told = leaf(), leaf(), leaf()
        told.register_post_accumulate_grad_hook(lambda p: None)
        y = x * 2
        y.register_hook(lambda g: 1 / 0)
        retained = w * 1
        retained.retain_grad()
        for create_graph in (False, True):
            loss = (y * retained * told).sum()
            with pytest.raises(ZeroDivisionError):
                loss.backward(retain_graph=True, create_graph=create_graph)
            assert (x.grad, w.grad, retained.grad) == (None, None, None)
        assert told.grad is not None, "a leaf whose hook already ran keeps what the hook saw"

    def test_save_for_backward_twice_appends(self) -> None:
        class Product(fg.Function):
            @staticmethod
            def forward(ctx: Any, a: fg.Tensor, b: fg.Tensor) -> fg.Tensor:
                ctx.save_for_backward(a)
                ctx.save_for_backward(b)
                return a * b

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> Any:
                a, b = ctx.saved_tensors
                return g * b, g * a

        a, b = leaf(2.0), leaf(3.0)
        Product.apply(a, b).sum().backward()
        assert (a.grad.tolist(), b.grad.tolist()) == ([3.0], [2.0])

    def test_second_order_through_a_saved_intermediate_raises(self) -> None:
        class Twice(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                t = 2 * x
                ctx.save_for_backward(t)
                return t * x

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                (t,) = ctx.saved_tensors
                return g * 2 * t

        x = leaf(3.0)
        (g,) = grad(Twice.apply(x).sum(), x, create_graph=True)
        assert g.tolist() == [12.0]
        with pytest.raises(NotImplementedError, match="intermediate result"):
            grad(g.sum(), x)

    def test_needs_input_grad_is_narrowed_to_this_pass(self) -> None:
        seen = []

        class F(fg.Function):
            @staticmethod
            def forward(ctx: Any, a: fg.Tensor, b: fg.Tensor, k: float) -> fg.Tensor:
                seen.append(ctx.needs_input_grad)
                return a * b * k

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> Any:
                seen.append(ctx.needs_input_grad)
                return g, g, None

        a, b = leaf(), leaf()
        y = F.apply(a, b, 2.0).sum()
        grad(y, b)
        y.backward()
        assert seen == [(True, True, False), (False, True, False), (True, True, False)]


def nested(depth: int) -> fg.Tensor:
    """A result whose backward runs a backward, `depth` levels deep."""

    class Level(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor, depth: int) -> fg.Tensor:
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> Any:
            if ctx.depth:
                with fg.enable_grad():
                    x = fg.ones(1, requires_grad=True)
                    Level.apply(x, ctx.depth - 1).backward()
                return g + x.grad, None
            return g, None

    x = fg.ones(1, requires_grad=True)
    Level.apply(x, depth).backward()
    return x.grad


class TestReentrantBackward:
    def test_runs_to_completion_first(self) -> None:
        assert nested(3).tolist() == [4.0]

    @pytest.mark.parametrize("where", ["main thread", "other thread"])
    def test_depth_300(self, where: str) -> None:
        got: list[Any] = []
        if where == "main thread":
            got = nested(299).tolist()
        else:
            thread = threading.Thread(target=lambda: got.extend(nested(299).tolist()))
            thread.start()
            thread.join()
        assert got == [300.0]

    @pytest.mark.parametrize("limit", [1_000, 100_000])
    def test_deeper_is_a_clean_recursion_error(self, limit: int) -> None:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(limit)
        try:
            with pytest.raises(RecursionError):
                nested(5_000)
        finally:
            sys.setrecursionlimit(before)
        assert nested(3).tolist() == [4.0]

    def test_in_a_hook(self) -> None:
        x, inner = leaf(), leaf()

        @fg.enable_grad()
        def hook(g: fg.Tensor) -> None:
            (inner * 2).sum().backward()

        x.register_hook(hook)
        x.sum().backward()
        assert inner.grad.tolist() == [2.0, 2.0]


class TestThreads:
    def test_hooks_inside_a_parallel_backward_change_no_bit(self, threads: int) -> None:
        rng = np.random.default_rng(0)
        x = fg.tensor(rng.standard_normal((96, 96)), requires_grad=True)
        ws = [fg.tensor(rng.standard_normal((96, 96)) / 10) for _ in range(8)]

        def run(seen: list[int] | None) -> fg.Tensor:
            parts = []
            for i, w in enumerate(ws):
                h = (x @ w).tanh()
                if seen is not None:
                    h.register_hook(lambda g, i=i: seen.append(i))
                    h.grad_fn.register_hook(lambda gi, go: None)
                parts.append((h @ w).tanh().sum())
            return sum(parts)

        seen: list[int] = []
        (got,) = grad(run(seen), x)
        (want,) = grad(run(None), x)
        assert sorted(seen) == list(range(8))
        np.testing.assert_array_equal(got.numpy(), want.numpy())

    def test_hooks_of_a_shared_leaf_run_in_every_thread_s_pass(self) -> None:
        x, seen = leaf(), []
        x.register_hook(lambda g: seen.append(threading.get_ident()))
        x.register_post_accumulate_grad_hook(lambda p: seen.append(threading.get_ident()))
        started = threading.Barrier(4)

        def work() -> None:
            started.wait()
            for _ in range(25):
                (x * 2).sum().backward()

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(seen) == 200
        assert len(set(seen)) == 4
        assert x.grad.tolist() == [200.0, 200.0]
