"""PyTorch's rows on single saved tensors and on saved tensors that are changed in place.

Hooks around whole blocks: `test_parity_saved.py`.
"""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.autograd import graph

grad = fg.autograd.grad
hooks = graph.saved_tensors_hooks


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(list(values) or [1.0, 2.0], requires_grad=True)


class TestRawSaved:
    def test_hooks_on_one_saved_tensor(self) -> None:
        x, w = leaf(), leaf(3.0, 4.0)
        y = x * w
        seen: list[Any] = []

        def pack(t: fg.Tensor) -> list[float]:
            seen.append(("pack", t.tolist(), t.requires_grad))
            return t.tolist()

        def unpack(values: list[float]) -> fg.Tensor:
            seen.append(("unpack", values))
            return fg.tensor(values) * 10

        y.grad_fn._raw_saved_self.register_hooks(pack, unpack)
        assert seen == [("pack", [1.0, 2.0], False)]
        assert y.grad_fn._saved_other.tolist() == [3.0, 4.0]
        y.sum().backward()
        assert (x.grad.tolist(), w.grad.tolist()) == ([3.0, 4.0], [10.0, 20.0])

    def test_what_is_packed_is_freed(self) -> None:
        x = fg.ones(100_000, requires_grad=True)
        y = (x * 2).exp()
        before = fg.live_bytes()
        y.grad_fn._raw_saved_result.register_hooks(lambda t: None, lambda _: fg.ones(100_000))
        del y
        assert fg.live_bytes() <= before - 800_000

    def test_the_derivative_of_an_unpacked_value_is_right(self) -> None:
        x = leaf()
        y = x.exp()
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t.numpy().copy(), lambda a: a)
        (slope,) = grad(y.sum(), x, create_graph=True)
        (curve,) = grad(slope.sum(), x)
        np.testing.assert_allclose(curve.numpy(), np.exp([1.0, 2.0]))

    def test_all_of_a_node(self) -> None:
        y = leaf() * leaf()
        handles = y.grad_fn._raw_saved_tensors
        assert len(handles) == 2
        assert all(type(handle) is graph.SavedTensor for handle in handles)
        for handle in handles:
            handle.register_hooks(lambda t: t, lambda t: t * 1)
        y.sum().backward()

    def test_of_a_custom_function(self) -> None:
        class Square(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                (x,) = ctx.saved_tensors
                return 2 * g * x

        x = leaf()
        y = Square.apply(x)
        (handle,) = y.grad_fn._raw_saved_tensors
        unpacked: list[list[float]] = []

        def unpack(values: list[float]) -> np.ndarray:
            unpacked.append(values)
            return np.array(values)

        handle.register_hooks(lambda t: t.tolist(), unpack)
        y.sum().backward()
        assert unpacked == [[1.0, 2.0]]
        assert x.grad.tolist() == [2.0, 4.0]

    def test_refusals(self) -> None:
        x = leaf()
        y = x.exp()
        handle = y.grad_fn._raw_saved_result
        with pytest.raises(TypeError, match="register_hooks"):
            handle.register_hooks(3, lambda t: t)
        with pytest.raises(fg.errors.InPlaceError, match="changed the tensor"):
            handle.register_hooks(lambda t: t.mul_(2), lambda t: t)
        y = x.exp()
        handle = y.grad_fn._raw_saved_result
        with pytest.raises(ZeroDivisionError):
            handle.register_hooks(lambda t: 1 / 0, lambda t: t)
        handle.register_hooks(lambda t: t, lambda t: t)
        with pytest.raises(RuntimeError, match="already"):
            handle.register_hooks(lambda t: t, lambda t: t)
        y.sum().backward()
        with pytest.raises(fg.errors.GraphFreedError):
            handle.register_hooks(lambda t: t, lambda t: t)
        with pytest.raises(AttributeError):
            _ = x.sin().grad_fn._raw_saved_nonsense
        with hooks(lambda t: t, lambda t: t):
            z = x.exp()
        with pytest.raises(RuntimeError, match="already"):
            z.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)

    def test_while_other_threads_use_the_values(self) -> None:
        x = fg.ones(2_000, requires_grad=True)
        for _ in range(20):
            y = x.exp()
            for _ in range(20):
                y = (y * 0.5).exp()
            nodes, node = [], y.grad_fn
            while node is not None and node.name() != "AccumulateGrad":
                nodes.append(node)
                node = node.next_functions[0][0]
            found: list[Any] = []

            def passes(y: fg.Tensor = y, found: list[Any] = found) -> None:
                for _ in range(4):
                    found.extend(grad(y.sum(), x, retain_graph=True))

            threads = [threading.Thread(target=passes) for _ in range(2)]
            for thread in threads:
                thread.start()
            for node in nodes:
                for handle in node._raw_saved_tensors:
                    try:
                        handle.register_hooks(lambda t: t.numpy().copy(), lambda a: a)
                    except RuntimeError as error:
                        assert "used by another thread" in str(error)  # noqa: PT017
            for thread in threads:
                thread.join()
            assert len(found) == 8
            for other in found[1:]:
                np.testing.assert_array_equal(other.numpy(), found[0].numpy())


allowed = graph.allow_mutation_on_saved_tensors


class TestAllowMutationOnSavedTensors:
    def test_an_operand_and_a_result(self) -> None:
        x = leaf()
        with allowed():
            a = x * 1
            b = a**2
            c = b.exp()
            a += 100
            c *= 7
            c.sum().backward()
        values = np.array([1.0, 2.0])
        np.testing.assert_allclose(x.grad.numpy(), 7 * 2 * values * np.exp(values**2))

    def test_changes_and_backward_may_follow_the_block(self) -> None:
        x = leaf()
        with allowed():
            a = x * 1
            b = (a**3).sum()
            a.fill_(0)
            a.fill_(5)
        a.fill_(7)
        b.backward()
        assert x.grad.tolist() == [3.0, 12.0]

    @pytest.mark.parametrize(
        "change",
        [
            lambda a: a.__setitem__(0, 9.0),
            lambda a: a[1:].mul_(3),
            lambda a: a.exp_(),
            lambda a: a.copy_(fg.zeros(2)),
            lambda a: a.zero_(),
            lambda a: np.add(a, 1.0, out=a),
            lambda a: a.T.add_(1),
            lambda a: a.clamp_(0, 1),
        ],
    )
    def test_every_kind_of_change(self, change: Callable[[fg.Tensor], object]) -> None:
        x, w = leaf(), fg.tensor([3.0, 4.0])
        with allowed():
            y = (x * w).sum()
            change(w)
            y.backward()
        assert x.grad.tolist() == [3.0, 4.0]

    def test_what_is_not_changed_is_not_copied(self) -> None:
        x = fg.ones(100_000, requires_grad=True)
        with allowed():
            a = x * 1
            before = fg.live_bytes()
            b = a.exp()
            assert fg.live_bytes() - before < 1_000_000
            c = b * 1
            c += 1
            assert fg.live_bytes() - before < 2_000_000
            b += 1
            assert fg.live_bytes() - before < 3_000_000
        (c.sum() + b.sum()).backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(1.0))

    def test_second_order(self) -> None:
        x = leaf()
        with allowed():
            a = x * 1
            b = a**3
            a *= 0
            (slope,) = grad(b.sum(), x, create_graph=True)
            (curve,) = grad(slope.sum(), x)
        assert curve.tolist() == [6.0, 12.0]

    def test_it_nests_and_ends(self) -> None:
        with allowed(), allowed(), hooks(lambda t: t, lambda t: t):
            leaf().exp()
        refused = fg.autograd.graph.disallow_mutation_on_saved_tensors
        for blocks, raises in (
            ((), False),
            ((refused,), True),
            ((refused, allowed), False),
            ((refused, allowed, refused), True),
        ):
            x, w = leaf(), fg.ones(2)
            y = (x * w).sum()
            with contextlib.ExitStack() as stack:
                for block in blocks:
                    stack.enter_context(block())
                if blocks:
                    with allowed():
                        pass
                w += 1
            w += 1  # Behind the blocks, which says nothing.
            if raises:
                with pytest.raises(fg.errors.InPlaceError):
                    y.backward()
                assert x.grad is None
            else:
                y.backward()
                assert x.grad.tolist() == [1, 1]

    def test_the_refusal_belongs_to_a_thread(self) -> None:
        x, w = leaf(), fg.ones(2)
        y = (x * w).sum()
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            other = threading.Thread(target=lambda: w.add_(1))
            other.start()
            other.join()
        y.backward()
        assert x.grad.tolist() == [1, 1]

    def test_a_leaf_stays_refused(self) -> None:
        x = leaf()
        with allowed(), pytest.raises(fg.errors.InPlaceError):
            x += 1
