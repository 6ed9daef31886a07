"""Document 002, and the core of document 001: one test per line of the checklist, named after it.

Functors and modules have their own file.
"""

import gc
from collections.abc import Callable

import numpy as np
import pytest

import ferrograd as fg

grad = fg.autograd.grad


def scalar(value: float) -> fg.Tensor:
    return fg.tensor(value, requires_grad=True)


def raising_under_no_grad() -> None:
    assert not fg.is_grad_enabled()
    raise ZeroDivisionError


def value(tensor: fg.Tensor | None) -> float:
    assert tensor is not None
    return float(tensor.detach().item())


class TestDocument002:
    def test_scalar_chain(self) -> None:
        x = scalar(2.0)
        y = x + 1
        (y * y).backward()
        assert value(x.grad) == 6.0

    def test_chain_of_plus_one_times_two_minus_one(self) -> None:
        x = scalar(5.0)
        ((x + 1) * 2 - 1).backward()
        assert value(x.grad) == 2.0

    def test_branch(self) -> None:
        x = scalar(1.0)
        (2 * x + 3 * x).backward()
        assert value(x.grad) == 5.0

    def test_retained_second_backward_doubles_grad(self) -> None:
        x = scalar(3.0)
        loss = x * x
        loss.backward(retain_graph=True)
        assert value(x.grad) == 6.0
        loss.backward(retain_graph=True)
        assert value(x.grad) == 12.0

    def test_not_retained_is_a_clear_error(self) -> None:
        loss = scalar(3.0).exp()
        loss.backward()
        with pytest.raises(RuntimeError, match=r'"exp" were freed .* pass retain_graph=True'):
            loss.backward()

    def test_custom_initial_gradient(self) -> None:
        x = scalar(1.0)
        (x * 3).backward(np.array(2.0))
        assert value(x.grad) == 6.0

    def test_from_an_intermediate(self) -> None:
        x = scalar(2.0)
        y = x * x
        z = y * 10
        y.backward(retain_graph=True)
        assert value(x.grad) == 4.0
        z.backward()
        assert value(x.grad) == 44.0

    def test_linear_regression(self) -> None:
        w, b, x = scalar(2.0), scalar(1.0), fg.tensor(3.0)
        error = w * x + b - 8.0
        (error * error).backward()
        assert (value(w.grad), value(b.grad)) == (-6.0, -2.0)

    def test_five_doublings_and_ten_layers(self) -> None:
        x = scalar(1.0)
        y = x
        for _ in range(5):
            y = y + y
        y.backward(retain_graph=True)
        assert value(x.grad) == 32.0
        deep = y
        for _ in range(10):
            deep = deep * 2
        x.grad = None
        deep.backward()
        assert value(x.grad) == 32.0 * 1024

    def test_several_inputs(self) -> None:
        a, b, c = scalar(2.0), scalar(3.0), scalar(4.0)
        (a * b + c * a).backward()
        assert (value(a.grad), value(b.grad), value(c.grad)) == (7.0, 2.0, 2.0)

    def test_several_outputs(self) -> None:
        x = scalar(2.0)
        fg.autograd.backward([x * 3, x * x], [fg.tensor(1.0), fg.tensor(10.0)])
        assert value(x.grad) == 43.0

    FUNCTIONS: tuple[tuple[str, Callable[[fg.Tensor], fg.Tensor]], ...] = (
        ("square", lambda x: x * x),
        ("cubic", lambda x: x**3 - 2 * x),
        ("exp of sin", lambda x: fg.exp(fg.sin(x))),
        ("quotient", lambda x: x / (1 + x * x)),
        ("log sum exp", lambda x: fg.log(fg.exp(x).sum())),
        ("matrix", lambda x: fg.tanh(x.reshape(2, 2) @ x.reshape(2, 2))),
    )

    @pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
    def test_against_numerical_gradients(
        self, name: str, function: Callable[[fg.Tensor], fg.Tensor]
    ) -> None:
        point = np.array([0.3, -0.7, 1.1, 0.5])
        x = fg.tensor(point, requires_grad=True)
        analytic = grad(function(x).sum(), x)[0].numpy()
        eps, numeric = 1e-6, np.zeros(4)
        for i in range(4):
            step = np.eye(4)[i] * eps
            high, low = (function(fg.tensor(point + s)).sum().item() for s in (step, -step))
            numeric[i] = (high - low) / (2 * eps)
        np.testing.assert_allclose(analytic, numeric, 1e-6, 1e-8)
        assert fg.gradcheck(function, fg.tensor(point, requires_grad=True)).passed

    def test_a_zero_gradient_is_zeros_and_not_none(self) -> None:
        x = scalar(4.0)
        (x * 0.0).backward()
        assert value(x.grad) == 0.0

    def test_relative_error_near_zero(self) -> None:
        x = fg.tensor([1e-9, 0.0, -1e-12], requires_grad=True)
        report = fg.gradcheck(lambda t: t * t, x)
        assert report.passed
        assert report.max_abs_error < 1e-9


class TestDocument001:
    def test_producer_is_set_when_recording(self) -> None:
        y = scalar(1.0) * 2
        assert y.grad_fn is not None
        assert y.grad_fn.name() == "MultiplyBackward"
        with fg.no_grad():
            z = scalar(1.0) * 2
        assert z.grad_fn is None
        assert not z.requires_grad

    def test_guards_nest_and_restore_on_exceptions(self) -> None:
        with fg.no_grad():
            with fg.enable_grad():
                assert fg.is_grad_enabled()
                with pytest.raises(ZeroDivisionError), fg.no_grad():
                    raising_under_no_grad()
                assert fg.is_grad_enabled()
            assert not fg.is_grad_enabled()
        assert fg.is_grad_enabled()

    def test_leaf_flags(self) -> None:
        x, c = scalar(1.0), fg.tensor(1.0)
        y = x * c
        assert (x.is_leaf, x.requires_grad) == (True, True)
        assert (c.is_leaf, c.requires_grad) == (True, False)
        assert (y.is_leaf, y.requires_grad) == (False, True)
        y.backward()
        assert c.grad is None

    def test_add_with_two_and_three(self) -> None:
        x, y = fg.ones(2, requires_grad=True), fg.ones(2, requires_grad=True)
        (2.0 * x + 3.0 * y).backward(np.ones(2))
        assert (x.grad.tolist(), y.grad.tolist()) == ([2, 2], [3, 3])

    def test_chain(self) -> None:
        x = scalar(1.0)
        y = 2 * x
        (3 * y).backward()
        assert value(x.grad) == 6.0

    def test_diamond(self) -> None:
        x, y = scalar(1.0), scalar(1.0)
        w = x + y
        w.retain_grad()
        v = w + y
        z = v + w
        z.backward()
        assert (value(x.grad), value(y.grad), value(w.grad)) == (2.0, 3.0, 2.0)


class TestRegressions:
    """Bugs of the reference that must never be ours."""

    def test_stale_grad_of_an_intermediate(self) -> None:
        x = scalar(2.0)
        y = x * x
        y.retain_grad()
        z = y * 3
        z.backward(retain_graph=True)
        first = value(x.grad)
        x.grad = None
        z.backward()
        assert value(x.grad) == first == 12.0

    def test_doubled_child_gradient(self) -> None:
        x, w = scalar(2.0), scalar(5.0)
        (x * w).backward()
        assert (value(x.grad), value(w.grad)) == (5.0, 2.0)

    def test_diamond_with_unequal_arms(self) -> None:
        x = scalar(1.5)
        short = x * 2
        long = short
        for _ in range(7):
            long = long * 1.5
        (short * long).backward()
        assert value(x.grad) == pytest.approx(2 * 4 * 1.5**7 * 1.5)

    def test_a_chain_of_100_000_runs_and_drops(self) -> None:
        nodes = fg.live_nodes()
        x = scalar(1.0)
        y = x
        for _ in range(100_000):
            y = y + 1.0
        y.backward()
        assert value(x.grad) == 1.0
        del x, y
        gc.collect()
        assert fg.live_nodes() == nodes

    def test_a_node_with_an_unused_second_output(self) -> None:
        class Split(fg.CustomFunction):
            def forward(self, inputs, ctx):  # type: ignore[no-untyped-def]
                return [inputs[0] * 2, inputs[0] * 3]

            def backward(self, grad_outputs, ctx):  # type: ignore[no-untyped-def]
                return [grad_outputs[0] * 2 + grad_outputs[1] * 3]

        x = scalar(1.0)
        _, second = Split().apply_many(x)
        second.backward()
        assert value(x.grad) == 3.0

    def test_x_times_x(self) -> None:
        x = scalar(3.0)
        (x * x).backward()
        assert value(x.grad) == 6.0
        m = fg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        (m @ m).sum().backward()
        np.testing.assert_array_equal(m.grad.numpy(), [[7, 11], [9, 13]])

    def test_an_identity_keeps_its_input_a_leaf(self) -> None:
        class Same(fg.Function):
            @staticmethod
            def forward(ctx, x):  # type: ignore[no-untyped-def]
                return x

            @staticmethod
            def backward(ctx, g):  # type: ignore[no-untyped-def]
                return g * 5

        x = scalar(1.0)
        y = Same.apply(x)
        assert x.is_leaf
        assert not y.is_leaf
        y.backward()
        assert value(x.grad) == 5.0

    def test_outputs_under_no_grad_are_not_like_leaves(self) -> None:
        x = scalar(1.0)
        with fg.no_grad():
            y = x * 2
        (y * x).backward()
        assert y.grad is None
        assert not y.requires_grad
        assert value(x.grad) == 2.0

    def test_the_graph_of_another_loss_survives(self) -> None:
        x = scalar(2.0)
        a, b = x.exp(), x.sin()
        a.backward()
        b.backward()
        assert value(x.grad) == pytest.approx(np.exp(2.0) + np.cos(2.0))

    @pytest.mark.parametrize("reduction", ["mean", "sum"])
    def test_an_upstream_gradient_reaches_through_every_loss(self, reduction: str) -> None:
        logits = fg.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]], requires_grad=True)
        target = np.array([2, 0])
        for loss in (
            lambda: fg.cross_entropy(logits, target, reduction=reduction),
            lambda: getattr((logits * logits), reduction)(),
        ):
            (plain,) = grad(loss(), logits)
            (scaled,) = grad(loss(), logits, np.array(-3.0))
            np.testing.assert_allclose(scaled.numpy(), -3.0 * plain.numpy(), 1e-12)

    def test_a_change_in_place_after_saving(self) -> None:
        x = fg.ones(2, requires_grad=True)
        y = x * 1
        z = y * y
        y += 1
        z.sum().backward(retain_graph=True)
        assert x.grad.tolist() == [2.0, 2.0]
        x.grad = None
        z = y * y
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            y += 1
        with pytest.raises(fg.errors.InPlaceError, match='saved by "multiply"'):
            z.sum().backward()
        assert x.grad is None
