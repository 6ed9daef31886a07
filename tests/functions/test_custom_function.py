"""Document 000: `fg.CustomFunction`, its context, its validation and its exact messages.

Invariant: after each test the graph holds as many nodes as before.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from custom_function_support import Gradients, Identity, Product, Returning, Scale, leaf
from ferrograd import CustomFunction, FunctionContext, Tensor


def test_identity_via_apply_and_apply_many() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0)
    assert Identity().apply(x, y).tolist() == [1.0, 2.0]
    first, second = Identity().apply_many(x, y)
    assert (first.tolist(), second.tolist()) == ([1.0, 2.0], [3.0])
    assert Identity()(x).tolist() == [1.0, 2.0]


def test_an_identity_output_is_an_alias_and_not_the_input_itself() -> None:
    x = leaf(1.0, 2.0)
    y = Identity().apply(x)
    assert y is not x
    assert x.is_leaf
    assert not y.is_leaf
    assert np.shares_memory(y.detach().numpy(), x.detach().numpy())
    y.backward(fg.tensor([5.0, 7.0]))
    assert x.grad is not None
    assert x.grad.tolist() == [5.0, 7.0]


def test_the_same_tensor_returned_twice_gives_two_outputs() -> None:
    class Twice(Identity):
        def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
            y = inputs[0] * 2
            return [y, y]

        def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
            return [2 * grad_outputs[0] + 20 * grad_outputs[1]]

    x = leaf(1.0)
    a, b = Twice().apply_many(x)
    assert a is not b
    (a + 10 * b).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [202.0]


def test_a_fresh_context_for_each_apply() -> None:
    seen: list[FunctionContext] = []

    class Look(Identity):
        def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
            seen.append(ctx)
            return [inputs[0] + 1]

    function = Look()
    function.apply(fg.tensor(1.0))
    function.apply(fg.tensor(1.0))
    assert len(seen) == 2
    assert seen[0] is not seen[1]
    assert all(isinstance(ctx, FunctionContext) for ctx in seen)


def test_the_context_of_forward_is_the_context_of_backward() -> None:
    seen: list[FunctionContext] = []

    class Look(Identity):
        def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
            seen.append(ctx)
            return [inputs[0] + 1]

        def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
            seen.append(ctx)
            return list(grad_outputs)

    Look().apply(leaf(1.0)).backward()
    assert seen[0] is seen[1]


def test_null_inputs_raise_a_type_error() -> None:
    x = leaf(1.0)
    with pytest.raises(TypeError, match="inputs must not be null: input 0 is None"):
        Identity().apply(None)
    with pytest.raises(TypeError, match="inputs must not be null: input 1 is None"):
        Identity().apply_many(x, None)
    with pytest.raises(TypeError, match="inputs must not be null"):
        Identity()(None)


def test_forward_returning_none() -> None:
    with pytest.raises(RuntimeError, match=r"^Forward pass returned null"):
        Returning(outputs=None).apply(leaf(1.0))
    with pytest.raises(RuntimeError, match=r"^Forward pass returned null"):
        Returning(outputs=[None]).apply_many(leaf(1.0))


def test_forward_returning_something_else() -> None:
    with pytest.raises(TypeError, match="Returning: forward returned a str"):
        Returning(outputs="y").apply(leaf(1.0))


def test_backward_returning_none() -> None:
    x = leaf(1.0)
    y = Returning(gradients=None).apply(x)
    with pytest.raises(RuntimeError, match=r"^Backward pass returned null"):
        y.backward()
    assert x.grad is None


def test_a_none_element_means_no_gradient() -> None:
    x = leaf(1.0)
    Returning(gradients=[None]).apply(x).backward()
    assert x.grad is None


def test_shape_mismatch_has_the_exact_message() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = Returning(gradients=[fg.tensor([1.0, 2.0])]).apply(x)
    with pytest.raises(
        ValueError, match=r"^Gradient at index 0 has shape \(2,\) but expected \(3,\)"
    ):
        y.sum().backward()
    assert x.grad is None


def test_every_wrong_gradient_is_reported_at_once() -> None:
    wrong = [fg.ones(2), None, fg.ones((3, 3))]
    y = Returning(gradients=wrong).apply(leaf(1.0), leaf(1.0), leaf(1.0, 2.0))
    with pytest.raises(ValueError, match="Gradient at index 0") as caught:
        y.backward()
    text = str(caught.value)
    assert "Gradient at index 0 has shape (2,) but expected (1,)" in text
    assert "Gradient at index 2 has shape (3, 3) but expected (2,)" in text


def test_a_broadcastable_gradient_is_an_error_that_names_the_remedy() -> None:
    x = leaf(1.0)
    y = Returning(gradients=[fg.ones((4, 1))]).apply(x)
    with pytest.raises(ValueError, match=r"\(4, 1\) but expected \(1,\) \(sum_to_size\(\(1,\)\)"):
        y.backward()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_count_mismatch(count: int) -> None:
    y = Returning(gradients=[fg.ones(1)] * count).apply(leaf(1.0), leaf(1.0))
    with pytest.raises(ValueError, match=rf"^Expected 2 gradients but got {count}"):
        y.backward()


def test_extra_trailing_nones_are_tolerated() -> None:
    x = leaf(1.0)
    Returning(gradients=[fg.ones(1), None, None]).apply(x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0]


def test_a_gradient_of_a_wrong_type() -> None:
    y = Returning(gradients=["g"]).apply(leaf(1.0))
    with pytest.raises(TypeError, match="Gradient at index 0 is a str"):
        y.backward()


def test_a_gradient_for_something_that_is_no_tensor() -> None:
    y = Returning(gradients=[fg.ones(1), fg.ones(1)]).apply(leaf(1.0), 2.0)
    with pytest.raises(TypeError, match="Gradient at index 1 belongs to an argument"):
        y.backward()


def test_no_outputs() -> None:
    function = Returning(outputs=[])
    with pytest.raises(RuntimeError, match=r"^Function produced no outputs"):
        function.apply(leaf(1.0))
    before = fg.live_nodes()
    assert function.apply_many(leaf(1.0)) == []
    assert fg.live_nodes() <= before + 1


@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
def test_requires_grad_propagates_from_any_input(flags: tuple[bool, bool]) -> None:
    a, b = (fg.tensor(2.0, requires_grad=flag) for flag in flags)
    assert Product().apply(a, b).requires_grad == any(flags)


def test_nothing_is_recorded_when_no_input_requires_grad() -> None:
    before = fg.live_nodes()
    y = Scale(2.0).apply(fg.tensor(1.0))
    assert (y.requires_grad, y.is_leaf, fg.live_nodes()) == (False, True, before)


def test_nothing_is_recorded_under_no_grad() -> None:
    x = leaf(1.0)
    before = fg.live_nodes()
    with fg.no_grad():
        y, z = Scale(2.0).apply(x), Identity().apply(x)
    assert not y.requires_grad
    assert not z.requires_grad
    assert fg.live_nodes() == before


def test_integer_outputs_do_not_require_grad() -> None:
    class Round(Identity):
        def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
            return [inputs[0] * 2, inputs[0].astype(fg.int64)]

        def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
            assert grad_outputs[1].tolist() == [0]
            return [grad_outputs[0] * 2]

    x = leaf(1.5)
    y, n = Round().apply_many(x)
    assert (y.requires_grad, n.requires_grad) == (True, False)
    y.backward()


def test_backward_is_called_once_with_the_right_gradients() -> None:
    calls: list[list[list[float]]] = []

    class Split(CustomFunction):
        def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
            return [inputs[0] * 2, inputs[0] * 3]

        def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
            calls.append([g.tolist() for g in grad_outputs])
            return [2 * grad_outputs[0] + 3 * grad_outputs[1]]

    x = leaf(1.0)
    a, b = Split().apply_many(x)
    (5 * a + 7 * b).backward()
    assert calls == [[[5.0], [7.0]]]
    assert x.grad is not None
    assert x.grad.tolist() == [31.0]


@pytest.mark.parametrize("used", [0, 1])
@pytest.mark.parametrize("materialize", [True, False])
def test_split_with_one_output_unused(used: int, materialize: bool) -> None:
    absent: list[Any] = []

    class Split(CustomFunction):
        def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
            ctx.set_materialize_grads(materialize)
            return [inputs[0] * 2, inputs[0] * 3]

        def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
            absent.append(grad_outputs[1 - used])
            return [grad_outputs[used] * (2, 3)[used]]

    x = leaf(1.0, 1.0)
    Split().apply_many(x)[used].sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [(2.0, 3.0)[used]] * 2
    if materialize:
        assert absent[0].tolist() == [0.0, 0.0]
    else:
        assert absent == [None]


def test_one_instance_applied_twice_before_one_backward() -> None:
    product = Product()
    x, w = leaf(2.0), leaf(5.0)
    y = product.apply(product.apply(x, w), w)
    y.backward()
    assert x.grad is not None
    assert w.grad is not None
    assert (x.grad.tolist(), w.grad.tolist()) == ([25.0], [20.0])


def test_add_used_twice_accumulates() -> None:
    class Add(CustomFunction):
        def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
            return [inputs[0] + inputs[1]]

        def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
            return [grad_outputs[0], grad_outputs[0]]

    x = leaf(1.0)
    Add().apply(x, x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0]


def test_the_same_tensor_as_both_factors_at_second_order() -> None:
    x = fg.tensor(3.0, requires_grad=True)
    y = Product().apply(x, x)
    (g,) = fg.autograd.grad(y, x, create_graph=True)
    (h,) = fg.autograd.grad(g, x)
    assert (g.item(), h.item()) == (6.0, 2.0)


def test_nested_custom_functions() -> None:
    class Outer(CustomFunction):
        def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
            return [Scale(3.0).apply(inputs[0])]

        def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
            return [Scale(3.0).apply(grad_outputs[0])]

    x = leaf(1.0)
    Outer().apply(x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0]


def test_a_graph_that_mixes_built_in_and_custom_operations() -> None:
    x = fg.tensor(0.5, requires_grad=True)
    y = Scale(2.0).apply(fg.sin(x)) * Product().apply(x, fg.exp(x))
    y.backward()
    expected = 2 * (
        np.cos(0.5) * 0.5 * np.exp(0.5) + np.sin(0.5) * (np.exp(0.5) + 0.5 * np.exp(0.5))
    )
    assert x.grad is not None
    assert x.grad.item() == pytest.approx(expected, rel=1e-14)


def test_forward_runs_with_recording_off() -> None:
    states: list[bool] = []

    class Look(Identity):
        def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
            states.append(fg.is_grad_enabled())
            y = inputs[0] * 2
            states.append(y.requires_grad)
            return [y]

    before = fg.live_nodes()
    x = leaf(1.0)
    y = Look().apply(x)
    assert states == [False, False]
    assert fg.is_grad_enabled()
    assert fg.live_nodes() == before + 2, "the leaf's accumulator and one node"
    del y


def test_exceptions_pass_through_with_a_note() -> None:
    class Broken(CustomFunction):
        def __init__(self, where: str) -> None:
            self.where = where

        def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
            if self.where == "forward":
                raise ZeroDivisionError("mine")
            return [inputs[0] * 1]

        def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
            raise LookupError("mine")

    with pytest.raises(ZeroDivisionError, match=r"^mine") as forward:
        Broken("forward").apply(leaf(1.0))
    assert forward.value.__notes__ == ["raised in the forward of Broken"]
    x = leaf(1.0)
    y = Broken("backward").apply(x)
    with pytest.raises(LookupError, match=r"^mine") as backward:
        y.backward()
    assert "raised in the backward of Broken" in backward.value.__notes__
    assert backward.traceback[-1].name == "backward"
    assert x.grad is None
    with pytest.raises(LookupError, match=r"^mine"):
        y.backward()
    forward.value.__traceback__ = backward.value.__traceback__ = None


def test_numpy_and_numbers_as_outputs_and_gradients() -> None:
    class Host(CustomFunction):
        def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> Any:
            return np.asarray(inputs[0].detach()) * 2

        def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
            return [np.asarray(grad_outputs[0].detach()) * 2]

    x = leaf(1.0, 2.0)
    y = Host().apply(x)
    assert isinstance(y, Tensor)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]
