"""Grad modes as PyTorch has them: the rows of its mode rules.

Wording is ours; the conditions are PyTorch's.
"""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

InferenceError = fg.errors.InferenceError


def leaf() -> fg.Tensor:
    return fg.tensor([1.0, 2.0, 3.0], requires_grad=True)


class TestNoGradEnableGrad:
    """`no_grad`, `enable_grad`."""

    def test_context_manager_and_decorator_with_or_without_parentheses(self) -> None:
        x = leaf()
        with fg.no_grad():
            assert not (x * 2).requires_grad
            with fg.enable_grad():
                assert (x * 2).requires_grad
            assert not fg.is_grad_enabled()
        for decorate in (fg.no_grad, fg.no_grad()):
            assert not decorate(lambda: x * 2)().requires_grad
        for decorate in (fg.enable_grad, fg.enable_grad()):
            with fg.no_grad():
                assert decorate(lambda: x * 2)().requires_grad
        assert fg.is_grad_enabled()

    def test_restored_after_an_exception(self) -> None:
        with pytest.raises(ZeroDivisionError), fg.no_grad():
            raise ZeroDivisionError
        assert fg.is_grad_enabled()

    def test_generators_re_enter_at_each_step_and_the_consumer_never_sees_it(self) -> None:
        @fg.no_grad()
        def steps() -> Iterator[bool]:
            yield fg.is_grad_enabled()
            yield fg.is_grad_enabled()

        seen = [(inside, fg.is_grad_enabled()) for inside in steps()]
        assert seen == [(False, True), (False, True)]

    def test_new_threads_start_with_grad_on(self) -> None:
        found: list[bool] = []
        with fg.no_grad():
            thread = threading.Thread(target=lambda: found.append(fg.is_grad_enabled()))
            thread.start()
            thread.join(60)
        assert found == [True]

    def test_factory_functions_with_requires_grad_are_unaffected(self) -> None:
        with fg.no_grad():
            made = (fg.tensor([1.0], requires_grad=True), fg.ones(2, requires_grad=True))
        assert all(t.requires_grad and t.is_leaf for t in made)


class TestSetMultithreadingEnabled:
    """`set_multithreading_enabled(mode)` / `is_multithreading_enabled()`."""

    def test_acts_at_once_as_context_manager_and_as_decorator(self) -> None:
        autograd = fg.autograd
        assert autograd.is_multithreading_enabled()
        with autograd.set_multithreading_enabled(False):
            assert not autograd.is_multithreading_enabled()
            with autograd.set_multithreading_enabled(True):
                assert autograd.is_multithreading_enabled()
            assert not autograd.is_multithreading_enabled()
        autograd.set_multithreading_enabled(False)
        assert not autograd.is_multithreading_enabled()
        autograd.set_multithreading_enabled(True)

        @autograd.set_multithreading_enabled(False)
        def inside() -> bool:
            return autograd.is_multithreading_enabled()

        assert autograd.is_multithreading_enabled()
        assert inside() is False
        assert autograd.is_multithreading_enabled()

    def test_is_per_thread_and_gradients_keep_their_bits(self) -> None:
        rng = np.random.default_rng(0)
        x = fg.tensor(rng.normal(size=(60, 60)), requires_grad=True)
        loss = fg.zeros(())
        for _ in range(30):
            loss = loss + (x @ fg.tensor(rng.normal(size=(60, 60)))).tanh().sum()
        found: list[bool] = []
        with fg.autograd.set_multithreading_enabled(False):
            worker = threading.Thread(
                target=lambda: found.append(fg.autograd.is_multithreading_enabled())
            )
            worker.start()
            worker.join(60)
            (alone,) = fg.autograd.grad(loss, [x], retain_graph=True)
        (together,) = fg.autograd.grad(loss, [x])
        assert found == [True]
        assert alone.numpy().tobytes() == together.numpy().tobytes()


class TestSetGradEnabled:
    """`set_grad_enabled(mode)`."""

    def test_acts_at_once_as_context_manager_and_as_decorator(self) -> None:
        fg.set_grad_enabled(False)
        assert not fg.is_grad_enabled()
        fg.set_grad_enabled(True)
        with fg.set_grad_enabled(False):
            assert not fg.is_grad_enabled()
        assert fg.is_grad_enabled()

        @fg.set_grad_enabled(False)
        def inside() -> bool:
            return fg.is_grad_enabled()

        assert fg.is_grad_enabled()
        assert not inside()


class TestInferenceMode:
    """`inference_mode(mode=True)`, `is_inference()`, `is_inference_mode_enabled()`."""

    def made(self) -> fg.Tensor:
        with fg.inference_mode():
            return leaf() * 2

    def test_what_is_an_inference_tensor(self) -> None:
        x = leaf()
        with fg.inference_mode():
            assert fg.is_inference_mode_enabled()
            assert not fg.is_grad_enabled()
            results = (x * 2, fg.ones(3), fg.tensor([1.0]), x.sum(), x @ x, (x * 2)[0])
            views = (x[1:], x.reshape(3, 1))
            with fg.inference_mode(False):
                normal = x * 2
        assert not fg.is_inference_mode_enabled()
        assert all(t.is_inference() and not t.requires_grad for t in results)
        assert not any(t.is_inference() for t in (x, *views, normal))
        assert not self.made().clone().is_inference()

    def test_may_be_read_in_normal_mode(self) -> None:
        x = leaf()
        y = (x + self.made()).sum()
        y.backward()
        assert x.grad.tolist() == [1, 1, 1]

    @pytest.mark.parametrize(
        "use",
        [
            lambda x, t: x * t,
            lambda x, t: fg.matmul(x, t),
            lambda x, t: x @ t,
            lambda x, t: fg.arctan2(x, t),
            lambda x, t: fg.nn.functional.mse_loss(x, t),
            lambda x, t: (x * 1).mul_(t),
        ],
    )
    def test_cannot_be_saved_for_backward(self, use: Any) -> None:
        with pytest.raises(InferenceError, match="cannot be saved for backward"):
            use(leaf(), self.made())
        with fg.no_grad():
            use(leaf(), self.made())

    def test_cannot_be_saved_by_a_function(self) -> None:
        kept = self.made()

        class Keep(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                ctx.save_for_backward(kept)
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                return g * 2

        with pytest.raises(InferenceError, match="cannot be saved for backward"):
            Keep.apply(leaf())

    def test_cannot_be_changed_outside(self) -> None:
        made = self.made()
        for change in (lambda: made.add_(1), lambda: made.__setitem__(0, 1.0), made.zero_):
            with pytest.raises(InferenceError, match="cannot be changed outside it"):
                change()
        with fg.inference_mode():
            made.add_(1)
        assert made.tolist() == [3, 5, 7]
        assert made.clone().add_(1).tolist() == [4, 6, 8]

    def test_cannot_require_grad_and_counts_no_changes(self) -> None:
        made = self.made()
        with pytest.raises(InferenceError, match="was to require grad"):
            made.requires_grad_()
        with pytest.raises(InferenceError, match="does not count its changes"):
            _ = made._version

    def test_a_normal_tensor_changed_inside_is_noticed(self) -> None:
        x = leaf()
        y = x * x
        with fg.inference_mode():
            x.add_(1)
        assert x._version == 1
        with pytest.raises(fg.errors.InPlaceError, match="saved by"):
            y.sum().backward()


class TestInsideFunction:
    """`Inside Function.forward`, inside backward and hooks."""

    @pytest.mark.parametrize("create_graph", [False, True])
    def test_modes(self, create_graph: bool) -> None:
        seen: list[Any] = []

        class Note(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                seen.append((fg.is_grad_enabled(), x.requires_grad))
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                seen.append(fg.is_grad_enabled())
                return g * 2

        x = leaf()
        fg.autograd.grad(Note.apply(x).sum(), x, create_graph=create_graph)
        assert seen == [(False, True), create_graph]
