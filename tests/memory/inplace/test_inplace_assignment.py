"""Assignments: to all elements, which copies, and to one after another, at constant cost each."""

import time
from typing import Any

import numpy as np
import pytest

import ferrograd as fg


class TestWholeAssignment:
    """`y[:] = m` is a copy with a node of its own."""

    KEYS = (slice(None), ..., (slice(None),), (..., slice(None)))

    @pytest.mark.parametrize("key", KEYS, ids=map(str, KEYS))
    @pytest.mark.parametrize("leaf", [True, False], ids=["leaf", "computed"])
    def test_it_never_merges_two_tensors(self, key: Any, leaf: bool) -> None:
        weights = np.array([5.0, 6, 7])
        source = fg.tensor([6.0, 12.0, 18.0], requires_grad=True)
        m = source if leaf else source * 1
        y = fg.zeros(3)
        y[key] = m
        assert not y.is_leaf
        assert y.grad_fn is not m.grad_fn
        seen: list[Any] = []
        y.register_hook(lambda g: (seen.append(g.tolist()), g * 100)[1])
        of_m, of_y = fg.autograd.grad((m * m).sum() + (y * weights).sum(), [m, y])
        assert seen == [[5, 6, 7]]
        np.testing.assert_array_equal(of_y.numpy(), weights * 100)
        np.testing.assert_array_equal(of_m.numpy(), 2 * m.detach().numpy() + weights * 100)

    @pytest.mark.parametrize("key", KEYS, ids=map(str, KEYS))
    def test_through_a_view(self, key: Any) -> None:
        m = fg.tensor([1.0, 2.0], requires_grad=True)
        y = fg.zeros(3)
        v = y[1:]
        v[key] = m
        assert not v.is_leaf
        of_m, of_v, of_y = fg.autograd.grad((m * m).sum() + (v * [5.0, 6]).sum(), [m, v, y])
        assert of_m.tolist() == [2 + 5, 4 + 6]
        assert of_v.tolist() == [5, 6]
        assert of_y.tolist() == [0, 5, 6]

    def test_the_target_is_an_ordinary_tensor(self) -> None:
        m = fg.tensor([1.0, 2.0], requires_grad=True)
        y = fg.zeros(2)
        y[:] = m
        y.retain_grad()
        y.mul_(2)
        (y * 3).sum().backward()
        assert y.grad.tolist() == [3, 3]
        assert m.grad.tolist() == [6, 6]
        y[:] = m
        y.detach_()
        assert (y.requires_grad, y.is_leaf, m.requires_grad) == (False, True, True)

    def test_by_the_same_tensor_twice(self) -> None:
        m = fg.tensor([1.0, 2.0], requires_grad=True) * 1
        y, z = fg.zeros(2), fg.zeros(2)
        y[:] = m
        z[...] = m
        of_y, of_z = fg.autograd.grad((y * 2 + z * 3).sum(), [y, z])
        assert (of_y.tolist(), of_z.tolist()) == ([2, 2], [3, 3])

    def test_an_operation_that_hands_its_operand_back(self) -> None:
        m = fg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True) * 1
        y = fg.zeros(2, 2)
        y += m
        of_m, of_y = fg.autograd.grad((m * 2 + y * 3).sum(), [m, y])
        assert of_m.tolist() == [[5, 5], [5, 5]]
        assert of_y.tolist() == [[3, 3], [3, 3]]


class TestManyAssignments:
    """`b[i] = v` in a loop costs the same at every step."""

    def test_they_are_one_node(self) -> None:
        x = fg.tensor([2.0, 3.0], requires_grad=True)
        b = fg.zeros(5_000) + x[0] * 0
        before = fg.live_nodes()
        for i in range(5_000):
            b[i] = 1.0
        assert fg.live_nodes() == before
        node = b.grad_fn
        assert fg.live_nodes() == before + 1
        assert b.grad_fn is node
        b[3] = x[1]
        b[4] = x[0]
        assert fg.live_nodes() == before + 1 + 2
        (g,) = fg.autograd.grad(b.sum(), x)
        assert g.tolist() == [1.0, 1.0]

    @pytest.mark.parametrize("create_graph", [False, True])
    def test_forward_and_backward_grow_linearly(self, create_graph: bool) -> None:
        def seconds(n: int) -> float:
            x = fg.tensor([2.0], requires_grad=True)
            start = time.thread_time()
            b = x.expand(n) * 1
            value = x[0]
            for i in range(n):
                b[i] = value
            (g,) = fg.autograd.grad((b * b).sum(), x, create_graph=create_graph)
            assert g.tolist() == [2 * 2 * n]
            if create_graph:
                (second,) = fg.autograd.grad(g, x)
                assert second.tolist() == [2 * n]
            return time.thread_time() - start

        # Processor time of this thread. Linear: 32 times as long. Quadratic: 1024 times.
        small = min(seconds(2_000) for _ in range(5))
        assert any(seconds(64_000) < 300 * small for _ in range(3))

    def test_reading_between_writes(self) -> None:
        x = fg.tensor([2.0, 0.5, 0.25], requires_grad=True)

        def recurrence(x: fg.Tensor) -> fg.Tensor:
            b = fg.zeros(6)
            b[0] = x[0] ** 3
            for i in range(1, 6):
                b[i] = (b[i - 1] * 0.5).clone() ** 2 + x[1] * x[2]
            return b.sum()

        def apart(x: fg.Tensor) -> fg.Tensor:
            values = [x[0] ** 3]
            for _ in range(1, 6):
                values.append((values[-1] * 0.5) ** 2 + x[1] * x[2])
            return fg.stack(values).sum()

        point = x.detach().numpy()
        np.testing.assert_allclose(fg.grad(recurrence)(point), fg.grad(apart)(point), rtol=1e-12)
        found, wanted = fg.hessian(recurrence)(point), fg.hessian(apart)(point)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)

    def test_adding_to_elements(self) -> None:
        x = fg.tensor([2.0, 0.5], requires_grad=True)
        b = x.expand(5, 2).reshape(-1) * 1
        nodes = fg.live_nodes()
        for i in range(10):
            b[i] += x[i % 2] * 2
        # The assignment of the changed element to itself adds nothing.
        assert fg.live_nodes() - nodes < 10 * 7
        (g,) = fg.autograd.grad((b * b).sum(), x, retain_graph=True)
        assert g.tolist() == [5 * 2 * 9 * 2.0, 5 * 2 * 9 * 0.5]
        b[0] = b[0].detach()
        assert fg.autograd.grad(b[0], x)[0].tolist() == [0, 0]
