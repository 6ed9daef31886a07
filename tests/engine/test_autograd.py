"""`backward` and `grad`: what accumulates where, what is kept, what is freed, what is refused.

Custom functions, leaks and threads have their own files.
"""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from function_support import failing

grad = fg.autograd.grad


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(list(values), requires_grad=True)


def equal(tensor: fg.Tensor | None, *expected: float) -> None:
    assert tensor is not None
    np.testing.assert_array_equal(tensor.detach().numpy().ravel(), expected)


class TestAccumulation:
    def test_passes_add_up_until_cleared(self) -> None:
        x = leaf(2.0)
        for expected in (4.0, 8.0, 12.0):
            (x * x).backward()
            equal(x.grad, expected)
        x.zero_grad()
        assert x.grad is None
        (x * 3).backward()
        equal(x.grad, 3.0)
        x.zero_grad(set_to_none=False)
        equal(x.grad, 0.0)
        x.grad = None
        assert x.grad is None

    def test_a_leaf_used_twice_and_a_root_that_is_a_leaf(self) -> None:
        x = leaf(3.0)
        (x * x + x).backward()
        equal(x.grad, 7.0)
        x.backward()
        equal(x.grad, 8.0)

    def test_intermediates_keep_no_gradient_unless_asked(self) -> None:
        x = leaf(1.0, 2.0)
        y, z = x * 2, x * 3
        z.retain_grad()
        assert (z.retains_grad, y.retains_grad, x.retains_grad) == (True, False, False)
        (y * z).sum().backward(retain_graph=True)
        with pytest.warns(UserWarning, match="no leaf, so backward does not keep its gradient"):
            assert y.grad is None
        equal(z.grad, 2.0, 4.0)
        equal(x.grad, 12.0, 24.0)
        (z * 1).sum().backward(inputs=[x])
        equal(z.grad, 3.0, 5.0)

    def test_a_stale_gradient_of_an_intermediate_does_not_leak_into_the_next_pass(self) -> None:
        x = leaf(2.0)
        y = x * 3
        y.retain_grad()
        z = y * y
        for expected in (36.0, 72.0):
            z.backward(retain_graph=True)
            equal(x.grad, expected)
        equal(y.grad, 24.0)

    def test_inputs_restrict_the_leaves(self) -> None:
        a, b = leaf(2.0), leaf(5.0)
        (a * b).backward(inputs=[a])
        equal(a.grad, 5.0)
        assert b.grad is None

    def test_several_roots_are_summed(self) -> None:
        x = leaf(2.0)
        fg.autograd.backward([x * 3, x * x, x * 3], [None, fg.tensor([10.0]), None])
        equal(x.grad, 46.0)

    def test_the_dtype_of_a_gradient_is_its_leaf_s(self) -> None:
        x = fg.tensor([1.0, 2.0], dtype=np.float32, requires_grad=True)
        w = leaf(3.0, 4.0)
        (x * w).sum().backward()
        assert (x.grad.dtype, w.grad.dtype) == (np.float32, np.float64)
        equal(x.grad, 3.0, 4.0)


class TestGivenGradients:
    @pytest.mark.parametrize("given", [[1.0, 10.0], np.array([1.0, 10.0]), np.array([1, 10])])
    def test_arrays_and_lists(self, given: Any) -> None:
        x = leaf(2.0, 3.0)
        (x * x).backward(given)
        equal(x.grad, 4.0, 60.0)

    def test_one_element_of_any_shape_needs_none(self) -> None:
        x = fg.ones(1, 1, 1, requires_grad=True)
        (x * 3).backward()
        equal(x.grad, 3.0)

    def test_a_gradient_with_history_counts_only_with_create_graph(self) -> None:
        x, g = leaf(2.0), leaf(5.0)
        first = grad(x * x, x, g)[0]
        assert not first.requires_grad
        second = grad(x * x, x, g, create_graph=True)[0]
        equal(grad(second, [g])[0], 4.0)

    def test_gradients_never_share_memory(self) -> None:
        a, b, given = leaf(1.0, 2.0), leaf(3.0, 4.0), fg.ones(2)
        (a + b).backward(given)
        arrays = [a.grad.numpy(), b.grad.numpy(), given.numpy()]
        for i, one in enumerate(arrays):
            assert not any(np.shares_memory(one, other) for other in arrays[i + 1 :])
        a.grad[0] = 100.0
        equal(b.grad, 1.0, 1.0)
        equal(given, 1.0, 1.0)

    @pytest.mark.parametrize(
        "make", [lambda x: x, lambda x: x.reshape(1, 2), lambda x: x.T, lambda x: x[:]]
    )
    def test_nor_with_a_saved_value_or_a_view_of_the_given_one(
        self, make: Callable[..., Any]
    ) -> None:
        x = leaf(1.0, 2.0)
        y = make(x) * 1
        given = fg.ones(*y.shape)
        first, second = grad(y, [x], given, retain_graph=True)[0], grad(y, [x], given)[0]
        for other in (second, given):
            assert not np.shares_memory(first.numpy(), other.numpy())
        product = leaf(5.0, 6.0) * (w := leaf(7.0, 8.0))
        product.sum().backward()
        assert not np.shares_memory(w.grad.numpy(), product.detach().numpy())

    def test_an_expanded_gradient_is_written_out(self) -> None:
        x = fg.ones(3, requires_grad=True)
        x.sum().backward()
        assert x.grad.is_contiguous()
        x.grad[1] = 5.0
        equal(x.grad, 1.0, 5.0, 1.0)

    def test_what_is_assigned_is_read(self) -> None:
        x, g = leaf(1.0, 2.0), fg.tensor([5.0, 6.0])
        x.grad = g
        assert x.grad is g
        (x * 2).sum().backward()
        equal(x.grad, 7.0, 8.0)
        del x.grad
        assert x.grad is None
        x.grad = np.array([1.0, 1.0])
        equal(x.grad, 1.0, 1.0)


class TestGraphLifetime:
    def test_a_second_backward_needs_retain_graph(self) -> None:
        x = leaf(3.0)
        y = x * x
        y.backward(retain_graph=True)
        y.backward()
        equal(x.grad, 12.0)
        with pytest.raises(fg.errors.GraphFreedError, match="retain_graph=True"):
            y.backward()
        equal(x.grad, 12.0)

    def test_another_loss_survives_unless_it_shares_freed_nodes(self) -> None:
        x = leaf(2.0)
        shared = x * x
        a, b, c = shared * 3, shared * 5, x * x
        a.backward()
        c.backward()
        equal(x.grad, 16.0)
        with pytest.raises(fg.errors.GraphFreedError, match="multiply"):
            b.backward()
        equal(x.grad, 16.0)

    def test_create_graph_keeps_the_graph(self) -> None:
        x = leaf(2.0)
        y = x**3
        (first,) = grad(y, x, create_graph=True)
        y.backward()
        equal(x.grad, 12.0)
        equal(grad(first, x)[0], 12.0)

    def test_every_order_of_a_power(self) -> None:
        x = leaf(2.0)
        y, expected = x**5, [80.0, 160.0, 240.0, 240.0, 120.0, 0.0]
        for value in expected:
            (y,) = grad(y.sum(), x, create_graph=True)
            equal(y, value)

    def test_a_gradient_with_history_in_grad(self) -> None:
        x = leaf(3.0)
        (x**3).sum().backward(create_graph=True)
        assert x.grad.requires_grad
        (second,) = grad(x.grad.sum(), x)
        equal(second, 18.0)

    def test_no_grad_results_are_not_leaves_to_train(self) -> None:
        x = leaf(1.0)
        with fg.no_grad():
            y = x * 2
        assert (y.requires_grad, y.is_leaf, y.grad_fn) == (False, True, None)
        with pytest.raises(fg.errors.GradientError, match="not in the computational graph"):
            y.backward()

    def test_detached_parts_are_pruned(self) -> None:
        x = leaf(2.0)
        (x * (x * x).detach()).backward()
        equal(x.grad, 4.0)


class TestGrad:
    def test_it_touches_no_grad(self) -> None:
        x, w = leaf(2.0), leaf(3.0)
        gx, gw = grad(x * w, [x, w])
        equal(gx, 3.0)
        equal(gw, 2.0)
        assert x.grad is None
        assert w.grad is None

    def test_of_intermediates_duplicates_and_the_output_itself(self) -> None:
        x = leaf(2.0)
        y = x * 3
        z = y * y
        gz, gy, gx, again = grad(z, [z, y, x, y])
        equal(gz, 1.0)
        equal(gy, 12.0)
        equal(gx, 36.0)
        equal(again, 12.0)
        assert not np.shares_memory(gy.numpy(), again.numpy())

    def test_duplicate_outputs_are_summed(self) -> None:
        x = leaf(2.0)
        y = x * x
        equal(grad([y, y], x)[0], 8.0)

    def test_dicts(self) -> None:
        x, w = leaf(2.0), leaf(3.0)
        found = grad(x * w, {"x": x, "w": w})
        assert sorted(found) == ["w", "x"]
        equal(found["x"], 3.0)

    def test_unused_inputs(self) -> None:
        x, unused = leaf(2.0), leaf(1.0, 1.0)
        with pytest.raises(fg.errors.GradientError, match="input 1 was not used"):
            grad(x * x, [x, unused])
        assert grad(x * x, [x, unused], allow_unused=True)[1] is None
        equal(grad(x * x, [x, unused], materialize_grads=True)[1], 0.0, 0.0)
        with pytest.raises(fg.errors.ArgumentError, match="materialize_grads"):
            grad(x * x, [x], allow_unused=False, materialize_grads=True)

    def test_a_zero_gradient_is_zeros_and_not_none(self) -> None:
        x = leaf(1.5)
        equal(grad(fg.floor(x) * 0.0 + x * 0.0, x)[0], 0.0)

    def test_the_grad_of_a_gradient_penalty(self) -> None:
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        (g,) = grad((x * x * w).sum(), x, create_graph=True)
        (g * g).sum().backward()
        equal(w.grad, 8 * 3.0, 8 * 16.0)


class TestFailure:
    def test_a_failing_rule_leaves_every_grad(self) -> None:
        Bad = failing(ValueError, "by intent")
        a, b = leaf(1.0), leaf(2.0)
        a.grad = fg.tensor([100.0])
        loss = (a * 3 + Bad.apply(b * 2) + b * 5).sum()
        with pytest.raises(ValueError, match="by intent"):
            loss.backward()
        equal(a.grad, 100.0)
        assert b.grad is None
        (a * 2).backward()
        equal(a.grad, 102.0)

    def test_a_saved_value_changed_in_place(self) -> None:
        x = leaf(1.0, 2.0)
        w = fg.tensor([3.0, 4.0])
        y = (x * w).sum()
        w[0] = 5.0
        y.backward()
        equal(x.grad, 3.0, 4.0)

    def test_a_saved_value_changed_in_place_where_that_is_refused(self) -> None:
        x = leaf(1.0, 2.0)
        w = fg.tensor([3.0, 4.0])
        y = (x * w).sum()
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            w[0] = 5.0
        text = (
            r'a value saved by "multiply" was changed in place by "setitem"'
            r" \(version 0 became 1\)"
        )
        with pytest.raises(fg.errors.InPlaceError, match=text):
            y.backward()
        assert x.grad is None

    def test_a_change_after_the_last_use_is_fine(self) -> None:
        x, w = leaf(1.0, 2.0), fg.tensor([3.0, 4.0])
        (x + w).sum().backward()
        y = (x * w).sum()
        y.backward()
        w[0] = 5.0
        equal(x.grad, 4.0, 5.0)


INTERRUPTED = """
import os, signal, threading, time
import numpy as np, ferrograd as fg
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
fg.set_num_threads({threads})
x = fg.tensor(np.full((700, 700), 1e-3), requires_grad=True)
y = x
for _ in range({steps}):
    y = fg.tanh(y @ x)
x.grad = fg.zeros(700, 700)
loss = y.sum()
sent = []
def send():
    time.sleep(0.3)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=send, daemon=True).start()
try:
    loss.backward()
except KeyboardInterrupt:
    late = time.perf_counter() - sent[0]
    assert not x.grad.numpy().any(), "a gradient was changed"
    assert late < 2, late  # the whole pass takes longer than that
    print("interrupted")
else:
    print("too fast")
"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_long_backward(threads: int) -> None:
    script = INTERRUPTED.format(threads=threads, steps=120)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=110
    )
    assert done.stdout.strip() == "interrupted", done.stdout + done.stderr
