"""`fg.Function`: gradients in every form, and derivatives of higher order."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Function, Tensor
from ferrograd.autograd import once_differentiable
from function_support import Cube, Exp, function, leaf

grad = fg.autograd.grad


class TestGradients:
    def run(self, returned: Any, *shape: int) -> Any:
        f = function(lambda ctx, x: x * 1, lambda ctx, g: returned)
        x = fg.ones(shape, requires_grad=True)
        f.apply(x).sum().backward()
        return x.grad

    @pytest.mark.parametrize(
        "returned",
        [np.array([2.0]), np.float32(2.0), np.array([2], dtype=np.int32), 2.0, 2, (2.0,), [2.0]],
        ids=repr,
    )
    def test_arrays_scalars_and_numbers(self, returned: Any) -> None:
        if isinstance(returned, np.float32):
            g = self.run(returned)
            assert g.item() == 2.0
        else:
            g = self.run(returned, 1)
            assert g.tolist() == [2.0]
        assert g.dtype == fg.float64

    def test_a_number_stands_for_itself_at_every_element(self) -> None:
        g = self.run(3.0, 2, 2)
        assert g.tolist() == [[3.0, 3.0], [3.0, 3.0]]
        g += 1.0
        assert g.tolist() == [[4.0, 4.0], [4.0, 4.0]]

    @pytest.mark.parametrize("returned", [None, (None,), (None, None)])
    def test_none(self, returned: Any) -> None:
        assert self.run(returned, 2) is None

    @pytest.mark.parametrize("shape", [(4, 2), (3, 4, 2), (4, 1)])
    def test_a_gradient_that_broadcasting_explains_is_summed(self, shape: tuple[int, ...]) -> None:
        own = (1, 2) if shape[-1] == 2 else (1, 1)
        g = self.run(fg.ones(shape), *own)
        assert g.tolist() == np.ones(shape).sum(axis=0).reshape(-1, *own).sum(0).tolist() or (
            g.tolist() == [[np.prod(shape) / own[1]] * own[1]]
        )

    def test_the_dtype_is_the_argument_s(self) -> None:
        f = function(lambda ctx, x: x * 1, lambda ctx, g: g.astype(fg.float64) * 2)
        x = fg.ones(2, dtype=fg.float32, requires_grad=True)
        f.apply(x).sum().backward()
        assert x.grad.dtype == fg.float32

    def test_wrong_shapes_counts_and_types(self) -> None:
        with pytest.raises(ValueError, match=r"^Gradient at index 0 has shape \(3,\) but expec"):
            self.run(fg.ones(3), 2)
        with pytest.raises(ValueError, match=r"^Expected 1 gradients but got 2"):
            self.run((fg.ones(2), fg.ones(2)), 2)
        with pytest.raises(TypeError, match="Gradient at index 0 is a dict"):
            self.run({}, 2)
        with pytest.raises(TypeError, match="Gradient at index 0 is a str"):
            self.run("g", 2)

    def test_too_few_and_one_for_a_constant(self) -> None:
        y = function(lambda ctx, a, b: a * b, lambda ctx, g: g).apply(leaf(1.0), leaf(1.0))
        with pytest.raises(ValueError, match=r"^Expected 2 gradients but got 1"):
            y.backward()
        y = function(lambda ctx, a, k: a * k, lambda ctx, g: (g, g)).apply(leaf(1.0), 2.0)
        with pytest.raises(TypeError, match="index 1 belongs to an argument that is not a ten"):
            y.backward()

    def test_a_gradient_for_a_tensor_that_needs_none_is_ignored(self) -> None:
        f = function(lambda ctx, a, b: a * b, lambda ctx, g: (g, g))
        a, b = leaf(1.0), fg.tensor([1.0])
        f.apply(a, b).backward()
        assert b.grad is None

    def test_a_gradient_for_an_array_is_ignored(self) -> None:
        f = function(lambda ctx, a, b: a * b, lambda ctx, g: (g * 3.0, g))
        a = leaf(1.0)
        f.apply(a, np.array([3.0])).backward()
        assert a.grad.tolist() == [3.0]
        slope = fg.grad(lambda x: fg.sum(f.apply(x, np.array([3.0, 3.0]))))(np.ones(2))
        assert slope.tolist() == [3.0, 3.0]

    def test_two_gradients_never_share_memory(self) -> None:
        f = function(lambda ctx, a, b: a + b, lambda ctx, g: (g, g))
        a, b = leaf(1.0), leaf(1.0)
        f.apply(a, b).backward()
        first = a.grad
        first += 5.0
        assert (a.grad.tolist(), b.grad.tolist()) == ([6.0], [1.0])

    def test_changing_a_given_gradient_in_place_raises(self) -> None:
        def backward(ctx: Any, g: Tensor) -> Tensor:
            g *= 10.0
            return g

        a = leaf(1.0)
        y = function(lambda ctx, x: x * 1, backward).apply(a)
        with pytest.raises(RuntimeError, match=r"g\.clone\(\)"):
            y.backward()
        assert a.grad is None


class TestSecondOrder:
    def test_through_a_saved_input(self) -> None:
        x = fg.tensor(2.0, requires_grad=True)
        (g,) = grad(Cube.apply(x, 2.0), x, create_graph=True)
        (h,) = grad(g, x, create_graph=True)
        (third,) = grad(h, x)
        assert (g.item(), h.item(), third.item()) == (24.0, 24.0, 12.0)

    def test_through_a_saved_output(self) -> None:
        x = fg.tensor(0.5, requires_grad=True)
        y = Exp.apply(x)
        for _ in range(4):
            (y,) = grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(np.exp(0.5), rel=1e-14)

    @pytest.mark.parametrize("what", ["output", "input"])
    def test_through_a_context_attribute(self, what: str) -> None:
        def forward(ctx: Any, x: Tensor) -> Tensor:
            y = fg.exp(x)
            ctx.kept = y if what == "output" else x
            return y

        def backward(ctx: Any, g: Tensor) -> Tensor:
            return g * (ctx.kept if what == "output" else fg.exp(ctx.kept))

        x = fg.tensor(0.5, requires_grad=True)
        y = function(forward, backward).apply(x)
        (g,) = grad(y, x, create_graph=True)
        (h,) = grad(g, x, create_graph=True)
        (third,) = grad(h, x)
        assert third.item() == pytest.approx(np.exp(0.5), rel=1e-14)

    @pytest.mark.parametrize("how", ["saved", "attribute"])
    def test_a_gradient_through_an_intermediate_raises(self, how: str) -> None:
        def forward(ctx: Any, x: Tensor) -> Tensor:
            t = 2 * x
            ctx.save_for_backward(x, t)
            ctx.t = t
            return t * x

        def backward(ctx: Any, g: Tensor) -> Tensor:
            x, t = ctx.saved_tensors
            return g * ((t if how == "saved" else ctx.t) + 2 * x)

        f = function(forward, backward, "Twice")
        x = fg.tensor(3.0, requires_grad=True)
        (first,) = grad(f.apply(x), x)
        assert first.item() == 12.0
        (g,) = grad(f.apply(x), x, create_graph=True)
        assert g.item() == 12.0
        with pytest.raises(NotImplementedError, match="Twice: the second derivative flows thr"):
            grad(g, x)

    @pytest.mark.parametrize("constant", ["mask", "random", "detached", "integer"])
    def test_constants_of_forward_stay_legal(self, constant: str) -> None:
        def forward(ctx: Any, x: Tensor) -> Tensor:
            c = {
                "mask": lambda: (x > 0).astype(fg.float64),
                "random": lambda: fg.ones_like(x.detach()),
                "detached": lambda: (x * 0 + 1).detach(),
                "integer": lambda: (x > 0).astype(fg.int64),
            }[constant]()
            ctx.save_for_backward(x, c)
            return x * x * c

        def backward(ctx: Any, g: Tensor) -> Tensor:
            x, c = ctx.saved_tensors
            return g * 2 * x * c

        x = fg.tensor(3.0, requires_grad=True)
        (g,) = grad(function(forward, backward).apply(x), x, create_graph=True)
        (h,) = grad(g, x)
        assert h.item() == 2.0

    def test_a_captured_parameter(self) -> None:
        w = fg.tensor(5.0, requires_grad=True)

        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x, w)
            return x * x * w

        def backward(ctx: Any, g: Tensor) -> Tensor:
            x, kept = ctx.saved_tensors
            return g * 2 * x * kept

        x = fg.tensor(3.0, requires_grad=True)
        (g,) = grad(function(forward, backward).apply(x), x, create_graph=True)
        (dw,) = grad(g, w)
        assert dw.item() == 6.0

    def test_once_differentiable(self) -> None:
        class Once(Function):
            @staticmethod
            def forward(ctx: Any, x: Tensor) -> Tensor:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @once_differentiable
            def backward(ctx: Any, g: Tensor) -> Any:
                (x,) = ctx.saved_tensors
                assert not fg.is_grad_enabled()
                return g * 2 * x

        x = fg.tensor(3.0, requires_grad=True)
        (g,) = grad(Once.apply(x), x, create_graph=True)
        assert g.item() == 6.0
        with pytest.raises(NotImplementedError, match="once_differentiable"):
            grad(g, x)

    def test_without_create_graph_a_returned_gradient_has_no_history(self) -> None:
        w = fg.tensor(5.0, requires_grad=True)
        f = function(lambda ctx, x: x * 5, lambda ctx, g: w)
        x = fg.tensor(3.0, requires_grad=True)
        f.apply(x).backward()
        assert x.grad.item() == 5.0
        assert not x.grad.requires_grad


def test_an_intermediate_in_a_closure_refuses_at_second_order() -> None:
    kept: dict[str, fg.Tensor] = {}

    class Leaky(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            kept["e"] = x.exp()
            ctx.save_for_backward(x)
            return kept["e"] * x

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
            (x,) = ctx.saved_tensors
            doubled = kept["e"] * 2
            return g * doubled * 0.5 * (1 + x)

    x = fg.tensor([1.0, 2.0], requires_grad=True)
    (first,) = fg.autograd.grad(Leaky.apply(x).sum(), x, create_graph=True)
    with pytest.raises(fg.errors.NotDifferentiableError, match="intermediate"):
        fg.autograd.grad(first.sum(), x)
    kept.clear()


@pytest.mark.parametrize("write", ["setitem", "view", "method"])
def test_an_intermediate_written_to_a_buffer_refuses_at_second_order(write: str) -> None:
    class Buffered(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            kept = fg.zeros(2, 2)
            if write == "setitem":
                kept[0] = x * 2
            elif write == "view":
                kept[0].add_(x * 2)
            else:
                kept.add_(x * 2)
            ctx.save_for_backward(x, kept)
            return kept[0] * x

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
            x, kept = ctx.saved_tensors
            return g * (x * 2 + kept[0])

    x = fg.tensor([1.0, 2.0], requires_grad=True)
    (first,) = fg.autograd.grad(Buffered.apply(x).sum(), x, create_graph=True)
    np.testing.assert_array_equal(first.detach().numpy(), 4 * np.array([1.0, 2.0]))
    with pytest.raises(fg.errors.NotDifferentiableError, match="intermediate"):
        fg.autograd.grad(first.sum(), x)
