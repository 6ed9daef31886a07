"""Rows of the feature table: nodes and edges as objects, and the names that PyTorch's users expect.

Each class is a row; each test is one thing that the row says.
"""

import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.autograd import grad
from ferrograd.autograd.graph import GradientEdge, get_gradient_edge


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(values or (1.0, 2.0), requires_grad=True)


class Double(fg.Function):
    @staticmethod
    def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
        ctx.save_for_backward(x, None)
        ctx.note = "kept"
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
        return g * 2


class TestGradientEdge:
    def test_of_a_node_and_the_number_of_its_output(self) -> None:
        x, y = leaf(), leaf()
        a, b = x * 1, fg.stack([y, y]).unbind()[1]
        edges = (GradientEdge(a.grad_fn, a.output_nr), GradientEdge(b.grad_fn, b.output_nr))
        assert edges[1] == get_gradient_edge(b)
        found = grad((a * b).sum(), edges)
        assert [g.tolist() for g in found] == [[1.0, 2.0], [1.0, 2.0]]

    def test_of_a_leaf(self) -> None:
        x = leaf()
        accumulate = (x * 2).grad_fn.next_functions[0][0]
        assert grad((x * 3).sum(), GradientEdge(accumulate, 0))[0].tolist() == [3.0, 3.0]

    def test_of_an_output_that_nobody_has_seen_is_refused(self) -> None:
        node = (leaf() * 2).exp().grad_fn.next_functions[0][0]
        with pytest.raises(ValueError, match="shape of output 0 of the node is not known"):
            GradientEdge(node, 0)


class TestNode:
    def test_calling_it_computes_the_derivative(self) -> None:
        x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
        assert x.exp().grad_fn(fg.ones(2)).tolist() == fg.exp(x).tolist()
        by_x, by_y = (x * y).grad_fn(fg.ones(2))
        assert (by_x.tolist(), by_y.tolist()) == ([3.0, 4.0], [1.0, 2.0])
        assert by_x.requires_grad
        with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
            (x * y).grad_fn(fg.ones(2), fg.ones(2))

    def test_input_metadata(self) -> None:
        y = leaf().astype(np.float32) * 2
        (known,) = y.grad_fn._input_metadata
        assert (known.shape, known.dtype) == ((2,), np.float32)
        (known,) = Double.apply(leaf()).grad_fn._input_metadata
        assert (known.shape, known.dtype) == ((2,), np.float64)
        assert leaf().exp().log().grad_fn.next_functions[0][0]._input_metadata == (None,)

    def test_a_function_s_node_has_what_its_context_has(self) -> None:
        x = leaf()
        node = Double.apply(x).grad_fn
        assert node.note == "kept"
        assert node.saved_tensors == (x, None)
        with pytest.raises(AttributeError, match="nothing"):
            _ = node.nothing
        with pytest.raises(AttributeError, match="saved_tensors"):
            _ = x.exp().grad_fn.saved_tensors


class TestAccumulationIdentity:
    @pytest.mark.parametrize("create_graph", [False, True])
    def test_create_graph_makes_a_new_gradient(self, create_graph: bool) -> None:
        x = leaf()
        y = x + 2
        y.backward(fg.ones(2), retain_graph=True)
        first = x.grad
        y.backward(fg.ones(2), create_graph=create_graph)
        assert (x.grad is first) is not create_graph
        assert first.tolist() == ([1.0, 1.0] if create_graph else [2.0, 2.0])
        assert x.grad.tolist() == [2.0, 2.0]


class TestIsGradsBatched:
    def test_the_first_axis_counts_vectors(self) -> None:
        x = leaf(1.0, 2.0)
        y = x**2
        (found,) = grad(y, x, np.eye(2), is_grads_batched=True)
        assert found.tolist() == [[2.0, 0.0], [0.0, 4.0]]
        y = (x**2).sum()
        named = grad(y, {"x": x}, fg.arange(3), is_grads_batched=True)
        assert named["x"].tolist() == [[0.0, 0.0], [2.0, 4.0], [4.0, 8.0]]

    def test_of_several_outputs_and_of_higher_order(self) -> None:
        x, z = leaf(1.0, 2.0), leaf(3.0)
        batches = (fg.ones(4, 2), None)
        one, none = grad(
            (x**3, x.sum()), (x, z), batches, is_grads_batched=True, create_graph=True,
            allow_unused=True,
        )  # fmt: skip
        assert none is None
        assert one[3].tolist() == [4.0, 13.0]
        assert grad(one.sum(), x)[0].tolist() == [24.0, 48.0]

    def test_each_row_is_a_gradient_of_its_own(self) -> None:
        random = np.random.default_rng(0)
        x, w = leaf(*random.normal(size=5)), leaf(*random.normal(size=5))
        y, z = fg.tanh(x * w), (x.exp() * w).sum()
        rows, ones = random.normal(size=(7, 5)).astype(np.float32), random.normal(size=7)
        found = grad((y, z), [w, x], (rows, ones), retain_graph=True, is_grads_batched=True)
        for k in range(7):
            single = grad((y, z), [w, x], (rows[k], ones[k]), retain_graph=True)
            for whole, one in zip(found, single, strict=True):
                np.testing.assert_allclose(whole[k].numpy(), one.numpy(), rtol=1e-14)

    def test_by_the_gradients_too(self) -> None:
        x, g = leaf(1.0, 2.0), fg.ones(3, 2, requires_grad=True)
        (rows,) = grad(x**3, x, g, is_grads_batched=True, create_graph=True)
        by_g, by_x = grad(rows.sum(), (g, x))
        assert by_g.tolist() == [[3.0, 12.0]] * 3
        assert by_x.tolist() == [18.0, 36.0]

    def test_the_graph_is_freed_after_the_last_row(self) -> None:
        x = leaf()
        y = x.exp()
        grad(y, x, fg.eye(2), is_grads_batched=True, retain_graph=True)
        grad(y, x, fg.eye(2), is_grads_batched=True)
        with pytest.raises(RuntimeError, match="freed by an earlier backward"):
            grad(y, x, fg.eye(2), is_grads_batched=True)

    def test_hooks_see_single_rows(self) -> None:
        x, seen = leaf(1.0, 2.0), []
        y = x * 2
        y.register_hook(lambda g: seen.append(g.shape))
        (rows,) = grad(y * 3, x, fg.ones(4, 2), is_grads_batched=True)
        assert rows.tolist() == [[6.0, 6.0]] * 4
        assert seen == [(2,)] * 4

    def test_inputs_that_were_not_used(self) -> None:
        x, z = leaf(1.0, 2.0), leaf(3.0)
        with pytest.raises(RuntimeError, match="not used"):
            grad(x * 2, (x, z), fg.ones(4, 2), is_grads_batched=True)
        _, zeros = grad(x * 2, (x, z), fg.ones(4, 2), is_grads_batched=True, materialize_grads=True)
        assert zeros.tolist() == [[0.0]] * 4

    def test_an_output_without_gradients_is_one_number(self) -> None:
        x = leaf(1.0, 2.0)
        y = x**2
        (rows,) = grad((y, y.sum()), x, (fg.eye(2), None), is_grads_batched=True)
        assert rows.tolist() == [[4.0, 4.0], [2.0, 8.0]]
        with pytest.raises(RuntimeError, match=r"an output has shape \(2,\) and no gradients"):
            grad((x**2, x.sum()), x, (None, fg.ones(3)), is_grads_batched=True)

    def test_an_empty_batch(self) -> None:
        x = leaf()
        assert grad(x * 2, x, fg.ones(0, 2), is_grads_batched=True)[0].shape == (0, 2)

    def test_shapes_and_sizes_are_checked(self) -> None:
        x = leaf()
        with pytest.raises(RuntimeError, match="If `is_grads_batched=True`, we interpret the f"):
            grad(x * 2, x, fg.ones(2), is_grads_batched=True)
        with pytest.raises(ValueError, match=r"sizes \[2, 3\]"):
            grad((x, x), x, (fg.ones(2, 2), fg.ones(3, 2)), is_grads_batched=True)
        with pytest.raises(ValueError, match="1 outputs and 2 batches"):
            grad(x, x, (fg.ones(2, 2), fg.ones(2, 2)), is_grads_batched=True)
        with pytest.raises(TypeError, match="GradientEdge"):
            grad([get_gradient_edge(x)], x, fg.ones(2, 2), is_grads_batched=True)


class TestOutputsOfAFunction:
    def test_one_object_returned_twice_is_one_object(self) -> None:
        class Twice(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> tuple[fg.Tensor, fg.Tensor]:
                y = x * 2
                return y, y

            @staticmethod
            def backward(ctx: Any, a: fg.Tensor, b: fg.Tensor) -> fg.Tensor:
                return a * 2 + b * 2

        x = leaf()
        a, b = Twice.apply(x)
        assert a is b
        assert grad((a + b).sum(), x)[0].tolist() == [4.0, 4.0]

        def both(x: fg.Tensor) -> fg.Tensor:
            a, b = Twice.apply(x)
            return a * b

        assert fg.gradcheck(both, x)
        assert fg.gradgradcheck(both, x)


class TestClearSavedTensorsOnAccess:
    class Cube(fg.Function):
        clear_saved_tensors_on_access = True
        twice = False

        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            ctx.save_for_backward(x)
            assert ctx.saved_tensors == ctx.saved_tensors == (x,)
            return x**3

        @classmethod
        def backward(cls, ctx: Any, g: fg.Tensor) -> fg.Tensor:
            (x,) = ctx.saved_tensors
            if cls.twice:
                _ = ctx.saved_tensors
            return g * 3 * x**2

    def test_read_once(self) -> None:
        x = leaf()
        y = self.Cube.apply(x).sum()
        y.backward(retain_graph=True)
        y.backward()
        assert x.grad.tolist() == [6.0, 24.0]

    def test_read_twice_raises(self) -> None:
        class Twice(TestClearSavedTensorsOnAccess.Cube):
            twice = True

        with pytest.raises(RuntimeError, match="can only be accessed once"):
            Twice.apply(leaf()).sum().backward()

    def test_save_for_forward_keeps_nothing(self) -> None:
        ctx = fg.FunctionContext()
        ctx.save_for_forward(leaf())
        assert ctx.saved_tensors == ()


class TestFunctionalStrict:
    def test_with_create_graph_the_derivative_must_vary(self) -> None:
        functional = fg.autograd.functional
        x, v = leaf(), fg.ones(2)
        for product in (functional.vjp, functional.jvp):
            with pytest.raises(RuntimeError, match="jacobian of the user-provided function"):
                product(lambda x: x * 2, x, v, create_graph=True, strict=True)
            found = product(fg.sin, x, v, create_graph=True, strict=True)[1]
            assert found.requires_grad
        with pytest.raises(RuntimeError, match="jacobian of the user-provided function"):
            functional.jacobian(lambda x: x * 2, x, create_graph=True, strict=True)

    def test_of_second_order_the_first_must_vary(self) -> None:
        functional = fg.autograd.functional
        for curvature in (functional.hvp, functional.vhp):
            with pytest.raises(RuntimeError, match=r"output 0 of the jacobian of .* input 0"):
                curvature(lambda x: (x * 2).sum(), leaf(), fg.ones(2), strict=True)
        with pytest.raises(RuntimeError, match="output 0 of the jacobian of"):
            functional.hessian(lambda x: (x * 2).sum(), leaf(), strict=True)
        cubes = functional.hessian(lambda x: (x**3).sum(), leaf(), strict=True)
        assert cubes.tolist() == [[6.0, 0.0], [0.0, 12.0]]

    def test_strategies_of_pytorch_are_accepted(self) -> None:
        functional = fg.autograd.functional
        squares = functional.jacobian(lambda x: x**2, leaf(), strategy="forward-mode")
        assert squares.tolist() == [[2.0, 0.0], [0.0, 4.0]]
        found = functional.hessian(
            lambda x: (x**2).sum(), leaf(), outer_jacobian_strategy="forward-mode"
        )
        assert found.tolist() == [[2.0, 0.0], [0.0, 2.0]]


class TestModes:
    def test_decorating_a_class_is_deprecated(self) -> None:
        with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

            @fg.no_grad()
            class Made:
                def __init__(self) -> None:
                    self.recorded = fg.is_grad_enabled()

        assert not Made().recorded
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not fg.no_grad(fg.is_grad_enabled)()

    def test_hooks_in_force_cannot_be_forbidden(self) -> None:
        graph = fg.autograd.graph
        with (
            graph.saved_tensors_hooks(lambda t: t, lambda t: t),
            pytest.raises(RuntimeError, match="not here"),
            graph.disable_saved_tensors_hooks("not here"),
        ):
            pass
        with graph.disable_saved_tensors_hooks("not here"):
            pass


class TestGradcheckFunctions:
    def test_a_function_may_register_hooks(self) -> None:
        def hooked(x: fg.Tensor) -> fg.Tensor:
            y = x * 1
            y.register_hook(lambda g: g + 0.01)
            return y

        for fast_mode in (False, True):
            with pytest.raises(fg.errors.GradcheckError):
                fg.gradcheck(hooked, leaf(), fast_mode=fast_mode)

    @pytest.mark.parametrize("fast_mode", [False, True])
    def test_backward_must_be_linear(self, fast_mode: bool) -> None:
        def shifted(x: fg.Tensor) -> fg.Tensor:
            y = x * 1
            y.register_hook(lambda g: g + 0.01)
            return y

        with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
            fg.gradcheck(shifted, leaf(), atol=0.1, fast_mode=fast_mode)

    @pytest.mark.parametrize("fast_mode", [False, True])
    def test_outputs_must_keep_their_shapes(self, fast_mode: bool) -> None:
        def grows(x: fg.Tensor) -> fg.Tensor:
            return fg.concatenate([x, x]) if x.item() >= 1 else x

        with pytest.raises(RuntimeError, match="same shapes when inputs are perturbed"):
            fg.gradcheck(grows, leaf(1.0), fast_mode=fast_mode)

    def test_pytorch_s_other_arguments(self) -> None:
        assert fg.gradcheck(fg.sin, leaf(), check_batched_grad=True)
        assert fg.gradgradcheck(fg.sin, leaf(), check_batched_grad=True, check_grad_dtypes=True)
        assert fg.gradcheck(fg.sin, leaf(), check_forward_ad=True)
        assert fg.gradgradcheck(fg.sin, leaf(), check_fwd_over_rev=True)


class TestCheckpointContexts:
    def test_one_around_each_run(self) -> None:
        seen = []

        class Around:
            def __init__(self, name: str) -> None:
                self.name = name

            def __enter__(self) -> None:
                seen.append(self.name)

            def __exit__(self, *exception: object) -> None:
                seen.append("-" + self.name)

        x = leaf()
        y = fg.autograd.checkpoint(
            lambda x: x.exp(), x, context_fn=lambda: (Around("first"), Around("again"))
        )
        assert seen == ["first", "-first"]
        y.sum().backward()
        assert seen == ["first", "-first", "again", "-again"]
        assert x.grad.tolist() == fg.exp(x).tolist()


def test_a_node_s_context_dies_with_it() -> None:
    x = leaf()
    node = Double.apply(x).grad_fn
    alive = weakref.ref(node.context)
    del node
    assert alive() is None


class TestClassOfANode:
    def test_one_class_for_each_operation(self) -> None:
        x = leaf()
        a, b, c = x * 2, x * 3, x.exp()
        assert type(a.grad_fn).__name__ == a.grad_fn.name() == "MultiplyBackward"
        assert type(a.grad_fn) is type(b.grad_fn)
        assert type(c.grad_fn) is not type(a.grad_fn)
        assert type(c.grad_fn).__name__ == "ExpBackward"
        assert isinstance(a.grad_fn, fg.autograd.graph.Node)
        assert type(a.grad_fn.next_functions[0][0]).__name__ == "AccumulateGrad"
        assert type(a.grad_fn).__module__ == "ferrograd.autograd.graph"

    def test_of_a_custom_function(self) -> None:
        node = Double.apply(leaf()).grad_fn
        assert type(node).__name__ == node.name() == "DoubleBackward"

    def test_a_node_keeps_its_object(self) -> None:
        y = leaf() * 2
        node = y.grad_fn
        assert y.grad_fn is node
        assert weakref.ref(node)() is node

    def test_classes_cannot_be_made_up(self) -> None:
        with pytest.raises(TypeError):
            type((leaf() * 2).grad_fn)()
