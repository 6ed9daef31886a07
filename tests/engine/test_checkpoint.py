"""Checkpointing: the backward computes again what the forward did not keep.

The saved-tensor hooks below it: `test_parity_saved.py`.
"""

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

grad = fg.autograd.grad
checkpoint = fg.autograd.checkpoint
LAYERS = 32


def layer(x: fg.Tensor) -> fg.Tensor:
    return ((x * 1.01).sin().exp() * 0.5).tanh()


def stack(x: fg.Tensor, call: Callable[..., fg.Tensor]) -> fg.Tensor:
    for _ in range(LAYERS):
        x = call(layer, x)
    return x


def plainly(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def peak(call: Callable[..., fg.Tensor], size: int = 1 << 14) -> tuple[int, np.ndarray, float]:
    """Most bytes alive in forward and backward, the gradient, and the seconds it took."""
    x = fg.linspace(0.1, 1.0, size).requires_grad_()
    gc.collect()
    most, start = 0, fg.live_bytes()

    def look(*_: Any) -> None:
        nonlocal most
        most = max(most, fg.live_bytes() - start)

    begin = time.perf_counter()
    y = x
    for _ in range(LAYERS):
        y = call(layer, y)
        y.register_hook(look)
        look()
    y.sum().backward()
    return most, x.grad.numpy(), time.perf_counter() - begin


def test_peak_memory_is_at_most_half_of_the_plain_run_on_32_layers() -> None:
    most, gradient, _ = peak(checkpoint)
    plain, expected, _ = peak(plainly)
    np.testing.assert_array_equal(gradient, expected)
    assert most <= 0.5 * plain, f"{most} of {plain} bytes"


@pytest.mark.slow
def test_takes_less_than_twice_the_time_of_the_plain_run() -> None:
    size = 1 << 16
    ratios = [peak(checkpoint, size)[2] / peak(plainly, size)[2] for _ in range(5)]
    assert min(ratios) < 2.0, ratios


class TestSemantics:
    def test_grad_touches_no_leaf(self) -> None:
        x = fg.tensor([0.3, 0.4], requires_grad=True)
        y = stack(x, checkpoint)
        (g,) = grad(y.sum(), x)
        assert x.grad is None
        np.testing.assert_array_equal(g.numpy(), grad(stack(x, plainly).sum(), x)[0].numpy())

    def test_the_second_derivative(self) -> None:
        x = fg.tensor([0.3, 0.4], requires_grad=True)

        def twice(call: Callable[..., fg.Tensor]) -> fg.Tensor:
            (g,) = grad(call(layer, x).sum(), x, create_graph=True)
            return grad((g * g).sum(), x)[0]

        np.testing.assert_allclose(twice(checkpoint).numpy(), twice(plainly).numpy(), rtol=1e-14)

    def test_the_graph_may_be_retained(self) -> None:
        x = fg.tensor([0.3], requires_grad=True)
        y = checkpoint(layer, x).sum()
        (first,) = grad(y, x, retain_graph=True)
        (second,) = grad(y, x)
        assert first.tolist() == second.tolist()
        with pytest.raises(fg.errors.GraphFreedError):
            grad(y, x)

    def test_keywords_nested_results_and_other_arguments(self) -> None:
        x = fg.tensor([0.3], requires_grad=True)

        def f(x: fg.Tensor, power: int, *, scale: fg.Tensor, name: str) -> dict[str, Any]:
            return {name: x**power * scale, "power": power}

        scale = fg.tensor([5.0], requires_grad=True)
        out = checkpoint(f, x, 2, scale=scale, name="y")
        assert out["power"] == 2
        out["y"].sum().backward()
        np.testing.assert_allclose([x.grad.item(), scale.grad.item()], [3.0, 0.09])

    def test_parameters_in_a_closure_get_gradients(self) -> None:
        linear = fg.nn.Linear(3, 3)
        x = fg.ones(2, 3)
        checkpoint(lambda x: linear(x).tanh(), x).sum().backward()
        got = linear.weight.grad.numpy().copy()
        linear.zero_grad()
        linear(x).tanh().sum().backward()
        np.testing.assert_array_equal(got, linear.weight.grad.numpy())

    def test_without_recording_it_just_calls(self) -> None:
        x = fg.tensor([0.3], requires_grad=True)
        with fg.no_grad():
            assert not checkpoint(layer, x).requires_grad

    def test_an_argument_changed_in_place_counts_as_it_was(self) -> None:
        for changed in (False, True):
            x = fg.tensor([0.3, 0.4], requires_grad=True)
            h = x * 1
            y = checkpoint(layer, h)
            if changed:
                h += 1
                with fg.no_grad():
                    h[1] = 9
            y.sum().backward()
            if not changed:
                expected = x.grad.tolist()
        assert x.grad.tolist() == expected

    def test_an_argument_changed_in_place_is_noticed_where_that_is_refused(self) -> None:
        h = fg.tensor([0.3], requires_grad=True) * 1
        y = checkpoint(layer, h)
        with fg.no_grad(), fg.autograd.graph.disallow_mutation_on_saved_tensors():
            h += 1
        with pytest.raises(fg.errors.InPlaceError, match="checkpoint"):
            y.sum().backward()

    def test_custom_functions_inside(self) -> None:
        class Cube(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                (x,) = ctx.saved_tensors
                return 3 * g * x**2

        x = fg.tensor([2.0], requires_grad=True)
        checkpoint(lambda x: Cube.apply(x.exp()), x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 3 * np.exp(6.0))

    @pytest.mark.parametrize("threads", [1, 2, 4])
    def test_inside_a_parallel_backward(self, threads: int) -> None:
        fg.set_num_threads(threads)
        rng = np.random.default_rng(0)
        x = fg.tensor(rng.standard_normal((96, 96)), requires_grad=True)
        ws = [fg.tensor(rng.standard_normal((96, 96)) / 10) for _ in range(6)]
        parts = [checkpoint(lambda x, w: ((x @ w).tanh() @ w).tanh(), x, w) for w in ws]
        plain = [((x @ w).tanh() @ w).tanh() for w in ws]
        (got,) = grad(sum(part.sum() for part in parts + plain), x)
        (want,) = grad(sum(((x @ w).tanh() @ w).tanh().sum() for w in ws + ws), x)
        np.testing.assert_array_equal(got.numpy(), want.numpy())


class TestNested:
    def test_two_levels(self) -> None:
        x = fg.tensor([0.3, 0.4], requires_grad=True)

        def outer(x: fg.Tensor) -> fg.Tensor:
            return checkpoint(layer, checkpoint(layer, x.cos()) * x).exp()

        checkpoint(outer, x).sum().backward()
        got = x.grad.numpy().copy()
        x.grad = None
        layer(layer(x.cos()) * x).exp().sum().backward()
        np.testing.assert_array_equal(got, x.grad.numpy())

    def test_recursive_halves_keep_little(self) -> None:
        calls = 0

        def counted(x: fg.Tensor) -> fg.Tensor:
            nonlocal calls
            calls += 1
            return layer(x)

        def halves(x: fg.Tensor, n: int) -> fg.Tensor:
            if n == 1:
                return counted(x)
            return checkpoint(halves, checkpoint(halves, x, n // 2), n // 2)

        x = fg.tensor([0.3, 0.4], requires_grad=True)
        y = halves(x, 16)
        assert calls == 16
        y.sum().backward()
        got = x.grad.numpy().copy()
        x.grad = None
        for _ in range(16):
            y = layer(x if _ == 0 else y)
        y.sum().backward()
        np.testing.assert_array_equal(got, x.grad.numpy())
        assert calls <= 16 * 6

    def test_a_pass_within_the_checkpoint(self) -> None:
        def slope(x: fg.Tensor) -> fg.Tensor:
            (g,) = grad((x**3).sum(), x, create_graph=True)
            return g * x

        x = fg.tensor([2.0], requires_grad=True)
        y = checkpoint(slope, x)
        assert y.tolist() == [24.0]
        y.sum().backward()
        assert x.grad.tolist() == [36.0]


class TestRandomState:
    @pytest.mark.parametrize("own", [False, True], ids=["default", "own generator"])
    def test_the_repetition_draws_the_same_numbers(self, own: bool) -> None:
        generator = fg.Generator(3) if own else None
        masks = []

        def noisy(x: fg.Tensor) -> fg.Tensor:
            masks.append(fg.rand(4, generator=generator))
            return (x * masks[-1]).exp()

        fg.manual_seed(1)
        x = fg.ones(4, requires_grad=True)
        y = checkpoint(noisy, x)
        after = fg.rand(2, generator=generator).tolist()
        state = fg.Generator(3 if own else 1)
        y.sum().backward()
        assert masks[0].tolist() == masks[1].tolist()
        drawn = [fg.rand(4, generator=state), fg.rand(2, generator=state)]
        assert after == drawn[1].tolist()
        assert fg.rand(1, generator=generator).tolist() == fg.rand(1, generator=state).tolist()

    def test_it_can_be_left_alone(self) -> None:
        masks = []

        def noisy(x: fg.Tensor) -> fg.Tensor:
            masks.append(fg.rand(4))
            return (x * masks[-1]).exp()

        x = fg.ones(4, requires_grad=True)
        checkpoint(noisy, x, preserve_rng_state=False).sum().backward()
        assert masks[0].tolist() != masks[1].tolist()


class TestRepetition:
    @pytest.mark.parametrize(("early", "reached"), [(True, 1), (False, 2)])
    def test_early_stop(self, early: bool, reached: int) -> None:
        ends = []

        def f(x: fg.Tensor) -> fg.Tensor:
            y = x.exp()
            ends.append("end")
            return y + 1

        x = fg.ones(2, requires_grad=True)
        checkpoint(f, x, early_stop=early).sum().backward()
        assert len(ends) == reached
        np.testing.assert_allclose(x.grad.numpy(), np.exp(1.0))

    def test_pytorch_s_other_arguments_do_not_reach_the_function(self) -> None:
        x = fg.ones(2, requires_grad=True)
        checkpoint(fg.exp, x, determinism_check="default", debug=True).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), np.exp(1.0))

    def test_the_end_of_a_repetition_does_not_get_out(self) -> None:
        x = fg.ones(2, requires_grad=True)

        def swallows(x: fg.Tensor) -> fg.Tensor:
            try:
                return x.exp() * 1
            except Exception:
                return x * 0

        checkpoint(swallows, x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), np.exp(1.0))

    def test_fewer_saved_tensors_are_an_error(self) -> None:
        first = [True]

        def f(x: fg.Tensor) -> fg.Tensor:
            return x.exp().sin() if first.pop() else x * 2

        first.insert(0, False)
        x = fg.ones(2, requires_grad=True)
        with pytest.raises(ValueError, match="saved 2 tensors and the repetition 0"):
            checkpoint(f, x).sum().backward()
        assert x.grad is None

    def test_more_saved_tensors_are_an_error_without_early_stop(self) -> None:
        runs = []

        def f(x: fg.Tensor) -> fg.Tensor:
            runs.append(1)
            return x.exp() if len(runs) == 1 else x.exp().sin()

        x = fg.ones(2, requires_grad=True)
        with pytest.raises(ValueError, match="saved 1 tensors and the repetition 2"):
            checkpoint(f, x, early_stop=False).sum().backward()

    def test_another_shape_is_an_error(self) -> None:
        runs = []

        def f(x: fg.Tensor) -> fg.Tensor:
            runs.append(1)
            return x[: len(runs)].exp()

        x = fg.ones(3, requires_grad=True)
        with pytest.raises(ValueError, match=r"shape \(1,\) .* has shape \(2,\)"):
            checkpoint(f, x).sum().backward()

    def test_an_exception_in_the_repetition_passes_unchanged(self) -> None:
        runs = []

        def f(x: fg.Tensor) -> fg.Tensor:
            runs.append(1)
            if len(runs) == 2:
                raise KeyError("mine")
            return x.exp()

        x = fg.ones(3, requires_grad=True)
        y = checkpoint(f, x)
        with pytest.raises(KeyError, match="mine") as caught:
            y.sum().backward()
        assert "computed again" in "".join(caught.value.__notes__)
        y.sum().backward()
        assert x.grad is not None

    def test_reentrant_does_not_exist(self) -> None:
        with pytest.raises(NotImplementedError, match="leave it out"):
            checkpoint(layer, fg.ones(2), use_reentrant=True)

    def test_reentrant_false_is_the_default(self) -> None:
        x = fg.tensor([0.3], requires_grad=True)
        (got,) = grad(checkpoint(layer, x, use_reentrant=False).sum(), x)
        np.testing.assert_array_equal(got.numpy(), grad(layer(x).sum(), x)[0].numpy())


class TestWrapper:
    def test_a_call_at_once_is_pointed_to_the_other_spelling(self) -> None:
        wrapped: Any = fg.checkpoint
        for call in (
            lambda: wrapped(layer, fg.ones(2)),
            lambda: wrapped(layer, use_reentrant=False),
            lambda: wrapped(fg.ones(2)),
        ):
            with pytest.raises(fg.errors.ArgumentTypeError, match=r"autograd.checkpoint\(f, x\)"):
                call()

    def test_keeps_name_and_signature(self) -> None:
        block = fg.checkpoint(layer)
        assert block.__name__ == "layer"
        x = fg.tensor([0.3], requires_grad=True)
        (got,) = grad(block(x).sum(), x)
        assert got.tolist() == grad(layer(x).sum(), x)[0].tolist()

    def test_inside_a_transform(self) -> None:
        block = fg.checkpoint(layer)
        x = np.array([0.3, 0.4])
        got = fg.grad(lambda x: block(x).sum())(x)
        np.testing.assert_array_equal(got, fg.grad(lambda x: layer(x).sum())(x))


def test_nothing_is_left_behind() -> None:
    gc.collect()
    gc.disable()
    try:
        nodes, memory = fg.live_nodes(), fg.live_bytes()
        for backward in (False, True):
            x = fg.ones(1 << 10, requires_grad=True)
            y = stack(x, checkpoint).sum()
            if backward:
                y.backward()
            del x, y
            assert (fg.live_nodes(), fg.live_bytes()) == (nodes, memory)
    finally:
        gc.enable()
