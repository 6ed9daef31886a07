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


class TestErrors:
    def test_every_error_is_a_runtime_error_too(self) -> None:
        made = [e for e in vars(fg.errors).values() if isinstance(e, type)]
        errors = [e for e in made if issubclass(e, Exception) and not issubclass(e, Warning)]
        assert len(errors) > 15
        assert all(issubclass(e, RuntimeError) for e in errors)
        with pytest.raises(RuntimeError):
            fg.ones(3) + fg.ones(2)

    def test_a_cut_root_says_what_cut_it(self) -> None:
        x = leaf()
        with pytest.raises(RuntimeError, match="does not require grad: detach"):
            (x.detach() * 2).sum().backward()
        with pytest.raises(RuntimeError, match="does not require grad; set requires_grad=True"):
            fg.ones(1).backward()
        with fg.record_call_sites(), pytest.raises(RuntimeError, match=r"called at .*test_parity"):
            grad(x.argmax().astype(np.float64), x)

    @pytest.mark.parametrize(
        "constant",
        [
            lambda x: x.argmin(),
            lambda x: x.all(),
            lambda x: x.any(),
            lambda x: x.count_nonzero(),
            lambda x: x.argsort(),
            lambda x: x.nonzero()[0],
            lambda x: x.argwhere(),
            lambda x: x.flatnonzero(),
            lambda x: fg.searchsorted(x, [1.5]),
            lambda x: fg.searchsorted(fg.ones(1), x),
            lambda x: x.unique(return_counts=True)[1],
        ],
    )
    def test_constants_remember_what_they_are_made_of(self, constant: Any) -> None:
        made = constant(leaf()).astype(np.float64) * 2
        assert "an operation without a derivative made it" in fg.explain_no_grad(made)

    def test_an_output_that_is_no_scalar_names_the_argument(self) -> None:
        x = leaf()
        with pytest.raises(RuntimeError, match="pass grad_outputs= or"):
            grad(x * 2, x)
        with pytest.raises(RuntimeError, match="pass gradient= or"):
            (x * 2).backward()


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
    def test_outputs_must_keep_their_shapes(self, fast_mode: bool) -> None:
        def grows(x: fg.Tensor) -> fg.Tensor:
            return fg.concatenate([x, x]) if x.item() >= 1 else x

        with pytest.raises(RuntimeError, match="same shapes when inputs are perturbed"):
            fg.gradcheck(grows, leaf(1.0), fast_mode=fast_mode)

    def test_pytorch_s_other_arguments(self) -> None:
        assert fg.gradcheck(fg.sin, leaf(), check_batched_grad=True)
        assert fg.gradgradcheck(fg.sin, leaf(), check_batched_grad=True, check_grad_dtypes=True)
        with pytest.raises(NotImplementedError, match="backward only"):
            fg.gradcheck(fg.sin, leaf(), check_forward_ad=True)


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


class TestTensorNames:
    def test_shapes_and_dtypes_of_others(self) -> None:
        x, like = leaf(1.0, 2.0, 3.0, 4.0), fg.ones(2, 2, dtype=np.float32)
        assert x.view_as(like).shape == x.reshape_as(like).shape == (2, 2)
        assert x.view_as(like)._base is x
        assert x[:2].expand_as(like).tolist() == [[1.0, 2.0]] * 2
        assert x.type_as(like).dtype == np.float32
        assert x.view_as(like).t().tolist() == [[1.0, 3.0], [2.0, 4.0]]
        assert x.t().tolist() == x.tolist()
        with pytest.raises(ValueError, match="3 dimensions"):
            fg.ones(1, 1, 1).t()

    def test_new_tensors_have_the_dtype(self) -> None:
        like = fg.ones(1, dtype=np.float32)
        made = [
            like.new_zeros(2, 3),
            like.new_ones((2, 3)),
            like.new_empty(2, 3),
            like.new_full((2, 3), 7.0),
            like.new_tensor([[1, 2, 3]] * 2),
        ]
        assert [(t.shape, t.dtype) for t in made] == [((2, 3), np.float32)] * 5
        assert made[3].tolist() == [[7.0] * 3] * 2
        assert like.new_zeros(2, dtype=np.int64, requires_grad=False).dtype == np.int64

    def test_memory(self) -> None:
        x = fg.ones(2, 3)
        assert x.data_ptr() == x[:1].data_ptr() != x[1:].data_ptr()
        assert x.contiguous() is x
        copied = x.T.contiguous()
        assert copied.is_contiguous()
        assert copied.data_ptr() != x.data_ptr()
        assert x.is_floating_point()
        assert not x.argmax().is_floating_point()

    @pytest.mark.parametrize(
        "same",
        [
            lambda x: x.view(2),
            lambda x: x.reshape(2),
            lambda x: x.reshape(-1),
            lambda x: x.ravel(),
            lambda x: x.expand(2),
            lambda x: x.squeeze(),
            lambda x: x.view_as(x),
            lambda x: fg.broadcast_to(x, (2,)),
        ],
    )
    def test_a_view_of_the_same_shape_is_a_tensor_of_its_own(self, same: Any) -> None:
        x = leaf()
        y = same(x)
        assert y is not x
        assert not y.is_leaf
        assert y._base is x
        y.register_hook(lambda g: g * 10)
        (x + y).sum().backward()
        assert x.grad.tolist() == [11.0, 11.0]


class TestChangedDtypes:
    def test_wider_values_are_rounded(self) -> None:
        x = fg.zeros(2, dtype=np.float32)
        values = fg.tensor([0.1, 0.2], requires_grad=True)
        x += values
        assert x.dtype == np.float32
        assert x.tolist() == np.float32([0.1, 0.2]).tolist()
        (x * 2).sum().backward()
        assert values.grad.tolist() == [2.0, 2.0]
        assert values.grad.dtype == np.float64
        y = fg.zeros(2, dtype=np.int32)
        y += fg.tensor([1, 2])
        assert (y.dtype, y.tolist()) == (np.int32, [1, 2])
        with pytest.raises(fg.errors.DTypeError, match="tensor it goes into"):
            y += fg.tensor([0.5, 0.5])

    def test_copy_converts(self) -> None:
        x = fg.zeros(2, dtype=np.int64)
        assert x.copy_(fg.tensor([1.5, 2.5])).tolist() == [1, 2]
        assert fg.zeros(2, dtype=np.float32).copy_([1.0, 2.0]).dtype == np.float32


def test_a_node_s_context_dies_with_it() -> None:
    x = leaf()
    node = Double.apply(x).grad_fn
    alive = weakref.ref(node.context)
    del node
    assert alive() is None
