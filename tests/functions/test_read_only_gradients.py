"""Gradients that user code is given are read-only: a change raises before it is made.

Gradients that share no memory: `test_parity_backward.py`.
"""

import operator
from collections.abc import Callable
from typing import Any

import pytest

import ferrograd as fg

grad = fg.autograd.grad


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(list(values) or [1.0, 2.0], requires_grad=True)


class TestReadOnlyGradients:
    """Trap: a hook or backward that changes its gradient changes its siblings' and the caller's."""

    @pytest.mark.parametrize(
        "change",
        [
            lambda g: operator.imul(g, 10),
            lambda g: operator.iadd(g.view(-1), 1),
            lambda g: operator.isub(g.detach(), 7.0),
            lambda g: operator.setitem(g, 0, 5.0),
            lambda g: operator.iadd(g[:1], 1.0),
            lambda g: operator.ipow(g.T, 2),
            lambda g: setattr(g, "data", fg.zeros(2)),
            lambda g: g.numpy(writable=True).fill(0.0),
            lambda g: g.numpy().fill(0.0),
        ],
    )
    def test_a_hook_that_changes_its_gradient_raises_before_writing(
        self, change: Callable[[fg.Tensor], Any]
    ) -> None:
        x, v = leaf(), fg.ones(2)
        y = x * 1
        y.register_hook(lambda g: (change(g), None)[1])
        with pytest.raises((RuntimeError, ValueError)) as caught:
            y.backward(v)
        assert v.tolist() == [1.0, 1.0]
        assert x.grad is None
        if isinstance(caught.value, RuntimeError):
            assert "g.clone()" in str(caught.value)

    def test_a_backward_that_changes_its_gradient_raises_before_writing(self) -> None:
        class F(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                return x * 1

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                g *= 10
                return g

        for build in (lambda a, b: F.apply(a) + b, lambda a, b: b + F.apply(a)):
            a, b, v = leaf(), leaf(), fg.ones(2)
            with pytest.raises(fg.errors.InPlaceError, match=r"g\.clone\(\)"):
                build(a, b).backward(v)
            assert v.tolist() == [1.0, 1.0]
            assert (a.grad, b.grad) == (None, None)

    def test_a_clone_may_be_changed(self) -> None:
        x = leaf()
        x.register_hook(lambda g: operator.imul(g.clone(), 3))
        x.sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]
        x.grad *= 2
        assert x.grad.tolist() == [6.0, 6.0]

    def test_node_hooks_see_read_only_gradients(self) -> None:
        y = leaf() * 2
        y.grad_fn.register_prehook(lambda go: operator.imul(go[0], 0))
        with pytest.raises(fg.errors.InPlaceError):
            y.sum().backward()

    def test_a_returned_gradient_is_no_longer_read_only(self) -> None:
        x = leaf()
        y = x * 1
        y.register_hook(lambda g: g)
        (g,) = grad(y.sum(), x)
        g += 1
        assert g.tolist() == [2.0, 2.0]

    def test_a_kept_gradient_given_as_grad_accumulates_without_changing_it(self) -> None:
        x, kept = leaf(), []
        x.register_hook(kept.append)
        x.sum().backward()
        x.grad = kept[0]
        x.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
        assert kept[0].tolist() == [1.0, 1.0]
