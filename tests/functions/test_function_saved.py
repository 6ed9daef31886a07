"""The saved tensors of a custom function in a backward that is not recorded.

Lifetimes are held by test_function_lifetime.py and test_leak_matrix.py.
"""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import ferrograd as fg


def f(x: fg.Tensor) -> fg.Tensor:
    return x * x * x


class Differentiates(fg.Function):
    """Takes the derivative of `f` in its backward."""

    @staticmethod
    def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
        ctx.save_for_backward(x)
        return f(x)

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        with fg.enable_grad():
            return fg.autograd.grad(f(x), x, g, create_graph=True)


class DifferentiatesStrictly(fg.CustomFunction):
    """The same in the other form."""

    def forward(self, inputs: Any, ctx: Any) -> Any:
        ctx.save_for_backward(inputs[0])
        return [f(inputs[0])]

    def backward(self, grads: Any, ctx: Any) -> Any:
        x = ctx.get_saved_tensor(0)
        with fg.enable_grad():
            return fg.autograd.grad(f(x), x, grads[0], create_graph=True)


APPLY = {
    "Function": Differentiates.apply,
    "CustomFunction": DifferentiatesStrictly(),
}
LEAF = {"leaf": lambda x: x, "computed": lambda x: x * 1, "view": lambda x: (x * 1)[:]}
both = pytest.mark.parametrize("apply", APPLY.values(), ids=APPLY)
each = pytest.mark.parametrize("made", LEAF.values(), ids=LEAF)


@both
@each
def test_a_backward_may_differentiate_by_a_saved_input(apply: Any, made: Any) -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    y = apply(made(x))
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]


@both
def test_also_under_create_graph(apply: Any) -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    (g,) = fg.autograd.grad(apply(x * 1).sum(), x, create_graph=True)
    (second,) = fg.autograd.grad(g.sum(), x)
    assert second.tolist() == [6.0, 12.0]


def saved_in_backward(save: Any, *inputs: Any, **options: Any) -> Any:
    """`ctx.saved_tensors` in the backward of a function that saves `save(inputs, output)`."""
    seen: list[Any] = []

    class Keeps(fg.Function):
        @staticmethod
        def forward(ctx: Any, *args: fg.Tensor) -> fg.Tensor:
            out = args[0] * 2
            ctx.save_for_backward(*save(args, out))
            return out

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> Any:
            seen.extend(ctx.saved_tensors)
            return (g * 2,) + (None,) * (len(inputs) - 1)

    out = Keeps.apply(*inputs)
    out.sum().backward(**options)
    return seen, out


@each
@pytest.mark.parametrize("create_graph", [False, True])
def test_they_are_the_objects_that_were_saved(made: Any, create_graph: bool) -> None:
    x = made(fg.tensor([1.0, 2.0], requires_grad=True))
    constant = fg.tensor([3.0, 4.0])
    outside = fg.tensor([5.0, 6.0], requires_grad=True) * 1
    seen, _ = saved_in_backward(
        lambda args, out: (*args, outside), x, constant, create_graph=create_graph
    )
    assert [a is b for a, b in zip(seen, (x, constant, outside), strict=True)] == [True] * 3


def test_requires_grad_history_and_output_number() -> None:
    x = fg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    _, second = x.unbind()
    node = second.grad_fn
    constant = fg.ones(2)
    inputs = [second, constant]
    seen, out = saved_in_backward(lambda args, out: (*args, out), *inputs)
    assert [t.requires_grad for t in seen] == [True, False, True]
    assert (seen[0].grad_fn is node, seen[0].output_nr, seen[0].is_leaf) == (True, 1, False)
    assert seen[2].grad_fn is out.grad_fn


def test_an_object_that_is_gone_comes_back_with_its_history() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    seen: list[Any] = []

    class Keeps(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> Any:
            (kept,) = ctx.saved_tensors
            seen.append((kept.requires_grad, kept.grad_fn.name(), kept.tolist()))
            with fg.enable_grad():
                return fg.autograd.grad((kept * 2).sum(), kept)

    middle = x * 3
    name = middle.grad_fn.name()
    gone = weakref.ref(middle)
    y = Keeps.apply(middle)
    del middle
    assert gone() is None
    y.sum().backward()
    assert seen == [(True, name, [3.0, 6.0])]
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_tensor_detached_in_place_since_is_not_the_one_saved() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    middle = x * 3
    y = Differentiates.apply(middle)
    middle.detach_()
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 3 * 3 * (3 * np.array([1.0, 2.0])) ** 2)


def test_a_saved_gradient_may_be_returned_as_it_is() -> None:
    class Odd(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> Any:
            return ctx.saved_tensors[0]

    x = fg.tensor([1.0, 2.0], requires_grad=True)
    Odd.apply(x * 1).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0]
    assert not x.grad.requires_grad
    Odd.apply(x).sum().backward()
    assert (x.grad.tolist(), x.tolist()) == ([2.0, 4.0], [1.0, 2.0])


@both
@each
def test_nothing_stays(apply: Any, made: Any) -> None:
    gc.collect()
    nodes, held = fg.live_nodes(), fg.live_bytes()
    for retain in (False, True):
        x = fg.tensor([1.0, 2.0], requires_grad=True)
        y = apply(made(x))
        y.sum().backward(retain_graph=retain)
        del x, y
        assert (fg.live_nodes(), fg.live_bytes()) == (nodes, held)
