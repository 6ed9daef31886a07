"""PyTorch's rows on `Function` (facts 1d): one test for each, under its name.

Details of arguments, outputs and gradients: `test_function.py`, `test_function_gradients.py`.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

grad = fg.autograd.grad


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(list(values) or [1.0, 2.0], requires_grad=True)


class Scale(fg.Function):
    """The first form: forward takes the context."""

    @staticmethod
    def forward(ctx: Any, x: fg.Tensor, k: float = 3.0) -> fg.Tensor:
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> Any:
        return g * ctx.k, None


class Cube(fg.Function):
    """The second form: forward without the context, and setup_context."""

    @staticmethod
    def forward(x: fg.Tensor) -> fg.Tensor:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: fg.Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * g * x**2


class TestForms:
    def test_two_forms(self) -> None:
        x = leaf(2.0)
        assert grad(Scale.apply(x), x)[0].tolist() == [3.0]
        assert grad(Cube.apply(x), x)[0].tolist() == [12.0]

    def test_apply_takes_keywords(self) -> None:
        x = leaf(2.0)
        assert grad(Scale.apply(x, k=5.0), x)[0].tolist() == [5.0]
        assert grad(Scale.apply(x=x, k=7.0), x)[0].tolist() == [7.0]

    def test_tensors_in_lists_and_dicts_are_differentiated(self) -> None:
        class Sum(fg.Function):
            @staticmethod
            def forward(ctx: Any, parts: list[fg.Tensor], named: dict[str, fg.Tensor]) -> fg.Tensor:
                return parts[0] + 2 * parts[1] + 3 * named["c"]

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> Any:
                return [g, 2 * g], {"c": 3 * g}

        a, b, c = leaf(1.0), leaf(1.0), leaf(1.0)
        got = grad(Sum.apply([a, b], {"c": c}), (a, b, c))
        assert [g.item() for g in got] == [1.0, 2.0, 3.0]

    def test_vjp_is_backward_and_both_are_refused(self) -> None:
        class Vjp(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                return x * 2

            @staticmethod
            def vjp(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                return g * 2

        x = leaf(1.0)
        assert grad(Vjp.apply(x), x)[0].tolist() == [2.0]
        both = type("Both", (Vjp,), {"backward": Vjp.vjp})
        with pytest.raises(RuntimeError, match="both backward and vjp"):
            both.apply(x)

    def test_legacy_instance_call_is_refused(self) -> None:
        with pytest.raises(TypeError, match=r"call Scale\.apply"):
            Scale()

    def test_grad_mode_inside_forward_and_backward(self) -> None:
        seen: list[Any] = []

        class Look(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                seen.append((fg.is_grad_enabled(), x.requires_grad))
                return x * 1

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                seen.append(fg.is_grad_enabled())
                return g

        x = leaf()
        y = Look.apply(x).sum()
        grad(y, x, retain_graph=True)
        grad(y, x, create_graph=True)
        assert seen == [(False, True), False, True]


class TestOutputs:
    def test_tuples_lists_and_dicts_of_tensors(self) -> None:
        class Many(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor, kind: Any) -> Any:
                parts = (x * 1, x * 2, "text")
                return dict(zip("abc", parts, strict=True)) if kind is dict else kind(parts)

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                first = grads[0]
                a, b = (first["a"], first["b"]) if isinstance(first, dict) else grads[:2]
                return a + 2 * b, None

        x = leaf(1.0)
        for kind in (tuple, list):
            out = Many.apply(x, kind)
            assert type(out) is kind
            assert out[2] == "text"
            assert grad(out[1], x)[0].tolist() == [2.0]
        out = Many.apply(x, dict)
        assert grad(out["a"] + out["b"], x)[0].tolist() == [3.0]

    def test_an_input_returned_as_is_becomes_another_object_on_the_same_memory(self) -> None:
        class Same(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                return x

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                return g * 7

        x = leaf()
        y = Same.apply(x)
        assert y is not x
        assert np.shares_memory(y.detach().numpy(), x.detach().numpy())
        assert grad(y.sum(), x)[0].tolist() == [7.0, 7.0]

    def test_a_view_of_an_input_must_not_be_changed_in_place(self) -> None:
        class View(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                return x.view(-1)

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                return g.view(2)

        x = leaf()
        y = View.apply(x * 1)
        assert grad(y.sum(), x, retain_graph=True)[0].tolist() == [1.0, 1.0]
        with pytest.raises(fg.errors.InPlaceError, match="custom function returned"):
            y += 1

    def test_context_of_the_node_and_its_name(self) -> None:
        y = Cube.apply(leaf())
        assert y.grad_fn.name() == "CubeBackward"
        assert y.grad_fn.context.saved_tensors[0].tolist() == [1.0, 2.0]


class TestGradients:
    @pytest.mark.parametrize(
        "returned",
        [np.array([[1.0, 2.0]] * 3), fg.ones(3, 2), np.ones((3, 2), np.float32), np.int64(3)],
        ids=["array", "wide tensor", "float32", "scalar"],
    )
    def test_post_processing_sums_casts_and_takes_arrays(self, returned: Any) -> None:
        class Gives(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                return x * 1

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> Any:
                return returned

        x = leaf()
        Gives.apply(x).sum().backward()
        want = np.broadcast_to(np.asarray(returned, float), (3, 2)).sum(0)
        want = want if np.ndim(returned) else want / 3
        np.testing.assert_array_equal(x.grad.numpy(), want)
        assert x.grad.dtype == fg.float64

    def test_counts_trailing_nones_and_none(self) -> None:
        class Gives(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor, w: fg.Tensor, returned: Any) -> fg.Tensor:
                ctx.returned = returned
                return x * w

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> Any:
                return ctx.returned()

        x, w = leaf(), leaf()
        Gives.apply(x, w, lambda: (None, fg.ones(2), None, None, None)).sum().backward()
        assert (x.grad, w.grad.tolist()) == (None, [1.0, 1.0])
        with pytest.raises(ValueError, match="Expected 3 gradients but got 1"):
            Gives.apply(x, w, lambda: (fg.ones(2),)).sum().backward()
        with pytest.raises(TypeError, match="an argument that is not a tensor"):
            Gives.apply(x, w, lambda: (None, None, fg.ones(2))).sum().backward()

    @pytest.mark.parametrize("materialize", [True, False])
    def test_set_materialize_grads_and_mark_non_differentiable(self, materialize: bool) -> None:
        seen: list[Any] = []

        class Two(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> Any:
                ctx.set_materialize_grads(materialize)
                rank = fg.argsort(x)
                ctx.mark_non_differentiable(rank)
                return x * 1, x * 2, rank

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                seen.extend(grads)
                return grads[0]

        x = leaf()
        first, _, rank = Two.apply(x)
        assert not rank.requires_grad
        first.sum().backward()
        absent = [[0.0, 0.0], [0, 0]] if materialize else [None, None]
        assert [g if g is None else g.tolist() for g in seen[1:]] == absent

    def test_once_differentiable(self) -> None:
        class Once(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @fg.autograd.once_differentiable
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                (x,) = ctx.saved_tensors
                return fg.tensor(2 * x.detach().numpy()) * g

        x = leaf(3.0)
        (g,) = grad(Once.apply(x), x, create_graph=True)
        assert g.tolist() == [6.0]
        with pytest.raises(NotImplementedError, match="differentiate twice"):
            grad(g, x)


class TestContext:
    def test_save_for_backward_takes_tensors_and_none(self) -> None:
        class Saves(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor, more: Any) -> fg.Tensor:
                ctx.save_for_backward(x, None, more)
                return x * 1

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> Any:
                x, none, _ = ctx.saved_tensors
                assert none is None
                return g * x, None

        x = leaf()
        Saves.apply(x, None).sum().backward()
        assert x.grad.tolist() == [1.0, 2.0]
        with pytest.raises(TypeError, match="a int cannot be saved as a tensor"):
            Saves.apply(x, 3)

    def test_saved_tensors_are_checked_and_gone_after_release(self) -> None:
        w = leaf() * 1
        y = Cube.apply(w)
        with fg.no_grad(), fg.autograd.graph.disallow_mutation_on_saved_tensors():
            w += 1
        with pytest.raises(fg.errors.InPlaceError):
            y.sum().backward()
        y = Cube.apply(leaf())
        context = y.grad_fn.context
        y.sum().backward()
        with pytest.raises(RuntimeError, match="disposed context"):
            _ = context.saved_tensors

    def test_needs_input_grad_covers_every_argument(self) -> None:
        seen = []

        class Look(fg.Function):
            @staticmethod
            def forward(ctx: Any, *args: Any) -> fg.Tensor:
                seen.append(ctx.needs_input_grad)
                return args[0] * 1

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> Any:
                return (g, *[None] * 4)

        Look.apply(leaf(), fg.ones(2), 3, "text", [leaf()])
        assert seen == [(True, False, False, False, True)]

    def test_mark_dirty(self) -> None:
        class Double(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                x *= 2
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                return g * 2

        x = leaf()
        h = x * 1
        version = h._version
        out = Double.apply(h)
        assert out is h
        assert h._version > version
        assert grad(h.sum(), x)[0].tolist() == [2.0, 2.0]
        with pytest.raises(fg.errors.InPlaceError):
            Double.apply(leaf())
