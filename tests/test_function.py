"""`fg.Function`: derivatives as two static methods, with PyTorch's semantics and fewer traps.

Owns: arguments and outputs of every structure, gradients in every form, second order, memory.
Document 000 has its own file. Invariant: after each test the graph holds as many nodes as before.
"""

import collections
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Function, Tensor
from ferrograd.autograd import once_differentiable

grad = fg.autograd.grad


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float = 1.0) -> Tensor:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x**3

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * ctx.scale * x**2, None


class Exp(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = fg.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return g * y


def function(forward: Any, backward: Any, name: str = "F") -> Any:
    """A Function made of two plain functions."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (Function,), body)


def leaf(*values: float) -> Tensor:
    return fg.tensor(list(values), requires_grad=True)


class TestArguments:
    @pytest.mark.parametrize("call", ["positional", "keyword", "all", "default"])
    def test_numbers_by_position_and_by_keyword(self, call: str) -> None:
        x = leaf(2.0)
        y = {
            "positional": lambda: Cube.apply(x, 2.0),
            "keyword": lambda: Cube.apply(x, scale=2.0),
            "all": lambda: Cube.apply(scale=2.0, x=x),
            "default": lambda: Cube.apply(x),
        }[call]()
        y.backward()
        k = 1.0 if call == "default" else 2.0
        assert y.tolist() == [8 * k]
        assert x.grad.tolist() == [12 * k]

    def test_keyword_only_and_unknown_keywords(self) -> None:
        def forward(ctx: Any, x: Tensor, *, w: Tensor, **rest: Any) -> Tensor:
            ctx.save_for_backward(x, w)
            return x * w + rest["b"]

        def backward(ctx: Any, g: Tensor) -> Any:
            x, w = ctx.saved_tensors
            return g * w, g * x, g

        x, w, b = leaf(2.0), leaf(3.0), leaf(1.0)
        function(forward, backward).apply(x, b=b, w=w).backward()
        assert [t.grad.tolist() for t in (x, w, b)] == [[3.0], [2.0], [1.0]]

    def test_a_missing_argument_is_python_s_own_error(self) -> None:
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            Cube.apply()

    def test_tensors_nested_in_arguments_and_gradients(self) -> None:
        def forward(ctx: Any, parts: list[Any], table: dict[str, Any], tag: str) -> Tensor:
            (a, (b, label)) = parts
            assert label == "k"
            ctx.save_for_backward(a, b, table["c"])
            return a * b * table["c"]

        def backward(ctx: Any, g: Tensor) -> Any:
            a, b, c = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, True, False)
            return [g * b * c, (g * a * c, None)], {"c": g * a * b}, None

        a, b, c = leaf(2.0), leaf(3.0), leaf(5.0)
        y = function(forward, backward).apply([a, (b, "k")], {"c": c, "n": 1}, "tag")
        assert y.requires_grad
        y.backward()
        assert [t.grad.tolist() for t in (a, b, c)] == [[15.0], [10.0], [6.0]]

    def test_one_list_argument_takes_one_list_of_gradients(self) -> None:
        f = function(lambda ctx, xs: xs[0] + 2 * xs[1], lambda ctx, g: [g, 2 * g])
        a, b = leaf(1.0), leaf(1.0)
        f.apply([a, b]).backward()
        assert (a.grad.tolist(), b.grad.tolist()) == ([1.0], [2.0])

    def test_a_nested_gradient_of_the_wrong_structure(self) -> None:
        f = function(lambda ctx, xs: xs[0] + xs[1], lambda ctx, g: ([g],))
        y = f.apply([leaf(1.0), leaf(1.0)])
        with pytest.raises(TypeError, match="Gradient at index 0 has 1 entries, but the arg"):
            y.backward()

    def test_a_list_that_contains_itself_is_refused(self) -> None:
        endless: list[Any] = []
        endless.append(endless)
        with pytest.raises(ValueError, match="nested more than 64 levels"):
            Cube.apply(endless)

    def test_the_same_tensor_twice(self) -> None:
        f = function(lambda ctx, a, b: a * 2 + b * 3, lambda ctx, g: (2 * g, 3 * g))
        x = leaf(1.0)
        f.apply(x, x).backward()
        assert x.grad.tolist() == [5.0]

    def test_needs_input_grad_is_narrowed_in_backward(self) -> None:
        seen = []

        def forward(ctx: Any, a: Tensor, k: float, b: Tensor) -> Tensor:
            seen.append(ctx.needs_input_grad)
            return a + k * b

        def backward(ctx: Any, g: Tensor) -> Any:
            seen.append(ctx.needs_input_grad)
            return g, None, 2.0 * g

        a, b = leaf(1.0), leaf(1.0)
        y = function(forward, backward).apply(a, 2.0, b)
        (only,) = grad(y, b)
        assert only.tolist() == [2.0]
        assert seen == [(True, False, True), (False, False, True)]

    def test_ndarrays_pass_through(self) -> None:
        weights = np.array([2.0, 3.0])

        def forward(ctx: Any, x: Tensor, w: Any) -> Tensor:
            assert w is weights
            return x * 2

        f = function(forward, lambda ctx, g: (g * 2, None))
        x = leaf(1.0)
        f.apply(x, weights).backward()
        assert x.grad.tolist() == [2.0]


class TestSetupContext:
    def make(self) -> Any:
        class Power(Function):
            @staticmethod
            def forward(x: Tensor, n: int = 2, scale: float = 1.0) -> Tensor:
                return scale * x**n

            @staticmethod
            def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
                x, ctx.n, ctx.scale = inputs
                ctx.save_for_backward(x, output)

            @staticmethod
            def backward(ctx: Any, g: Tensor) -> Any:
                x, y = ctx.saved_tensors
                assert y.tolist() == (ctx.scale * x**ctx.n).tolist()
                return ctx.scale * ctx.n * g * x ** (ctx.n - 1), None, None

        return Power

    @pytest.mark.parametrize(
        ("args", "kwargs", "expected"),
        [((), {}, 4.0), ((3,), {}, 12.0), ((), {"scale": 2.0}, 8.0), ((3, 2.0), {}, 24.0)],
    )
    def test_defaults_are_filled_in(self, args: Any, kwargs: Any, expected: float) -> None:
        x = leaf(2.0)
        self.make().apply(x, *args, **kwargs).backward()
        assert x.grad.tolist() == [expected]

    def test_second_order(self) -> None:
        x = fg.tensor(2.0, requires_grad=True)
        (g,) = grad(self.make().apply(x, 3), x, create_graph=True)
        (h,) = grad(g, x)
        assert (g.item(), h.item()) == (12.0, 12.0)


Pair = collections.namedtuple("Pair", ["left", "right"])


class TestOutputs:
    @pytest.mark.parametrize("container", [tuple, list, lambda both: Pair(*both)])
    def test_several_outputs_keep_their_container(self, container: Any) -> None:
        f = function(lambda ctx, x: container([x * 2, x * 3]), lambda ctx, a, b: 2 * a + 3 * b)
        x = leaf(1.0)
        out = f.apply(x)
        assert type(out) is type(container([1, 2]))
        (out[0] * 10 + out[1]).backward()
        assert x.grad.tolist() == [23.0]

    def test_a_dict_of_outputs(self) -> None:
        def backward(ctx: Any, grads: dict[str, Any]) -> Any:
            assert grads["name"] is None
            return 2 * grads["a"] + 3 * grads["b"][0]

        f = function(lambda ctx, x: {"a": x * 2, "b": [x * 3], "name": "out"}, backward)
        x = leaf(1.0)
        out = f.apply(x)
        assert out["name"] == "out"
        (out["a"] + out["b"][0]).backward()
        assert x.grad.tolist() == [5.0]

    def test_arrays_and_numpy_scalars_become_tensors_and_numbers_pass(self) -> None:
        def forward(ctx: Any, x: Tensor) -> Any:
            a = np.asarray(x.detach())
            return a * 2, np.float64(a.sum()), 7, "text"

        def backward(ctx: Any, *grads: Any) -> Any:
            assert grads[2:] == (None, None)
            return 2 * grads[0] + grads[1]

        x = leaf(1.0, 2.0)
        y, s, n, text = function(forward, backward).apply(x)
        assert isinstance(y, Tensor)
        assert isinstance(s, Tensor)
        assert (s.item(), n, text) == (3.0, 7, "text")
        (y.sum() + s).backward()
        assert x.grad.tolist() == [3.0, 3.0]

    def test_an_input_returned_is_an_alias(self) -> None:
        f = function(lambda ctx, x: x, lambda ctx, g: 10 * g)
        x = leaf(1.0)
        y = f.apply(x)
        assert y is not x
        assert x.is_leaf
        y.backward()
        assert x.grad.tolist() == [10.0]
        with fg.no_grad():
            z = f.apply(x)
        assert z is not x
        assert not z.requires_grad

    def test_a_view_of_an_input(self) -> None:
        f = function(lambda ctx, x: x.reshape(2, 1), lambda ctx, g: g.reshape(2))
        x = leaf(1.0, 2.0)
        (f.apply(x) * fg.tensor([[3.0], [4.0]])).sum().backward()
        assert x.grad.tolist() == [3.0, 4.0]

    def test_mark_non_differentiable(self) -> None:
        def forward(ctx: Any, x: Tensor) -> Any:
            order = x * 0 + 1
            ctx.mark_non_differentiable(order)
            return x * 2, order

        def backward(ctx: Any, g: Tensor, none: Tensor) -> Any:
            assert none.tolist() == [0.0]
            return g * 2

        y, order = function(forward, backward).apply(leaf(1.0))
        assert y.requires_grad
        assert not order.requires_grad
        y.backward()

    @pytest.mark.parametrize("materialize", [True, False])
    def test_set_materialize_grads(self, materialize: bool) -> None:
        seen = []

        def forward(ctx: Any, x: Tensor) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        def backward(ctx: Any, a: Any, b: Any) -> Any:
            seen.append(b)
            return a * 2

        function(forward, backward).apply(leaf(1.0))[0].backward()
        assert seen == [None] if not materialize else seen[0].tolist() == [0.0]

    def test_mark_dirty_moves_the_argument_to_the_node(self) -> None:
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.mark_dirty(x)
            x *= 3.0
            return x

        f = function(forward, lambda ctx, g: 3 * g)
        w = leaf(1.0, 2.0)
        x = w * 2
        y = f.apply(x)
        assert y is x
        assert x.tolist() == [6.0, 12.0]
        (x * fg.tensor([1.0, 10.0])).sum().backward()
        assert w.grad.tolist() == [6.0, 60.0]

    def test_mark_dirty_is_checked(self) -> None:
        def change(ctx: Any, x: Tensor) -> Tensor:
            ctx.mark_dirty(x)
            x *= 3.0
            return x

        def lose(ctx: Any, x: Tensor) -> Tensor:
            ctx.mark_dirty(x)
            return x * 1

        with pytest.raises(RuntimeError, match="a leaf that requires grad was changed in pl"):
            function(change, Cube.backward).apply(leaf(1.0))
        with pytest.raises(RuntimeError, match="marked dirty was not returned"):
            function(lose, Cube.backward).apply(leaf(1.0) * 1)


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


class TestErrors:
    def test_a_function_cannot_be_instantiated(self) -> None:
        with pytest.raises(TypeError, match=r"Cube cannot be instantiated.*Cube\.apply"):
            Cube()

    def test_no_forward(self) -> None:
        class Empty(Function):
            pass

        with pytest.raises(NotImplementedError, match="Empty: the class has no forward"):
            Empty.apply(1)

    def test_no_backward_is_refused_when_it_would_be_recorded(self) -> None:
        class Half(Function):
            @staticmethod
            def forward(ctx: Any, x: Tensor) -> Tensor:
                return x * 2

        assert Half.apply(fg.tensor(1.0)).item() == 2.0
        with pytest.raises(NotImplementedError, match="Half: the class has no backward"):
            Half.apply(leaf(1.0))

    def test_vjp_is_another_name_of_backward(self) -> None:
        class Named(Function):
            @staticmethod
            def forward(ctx: Any, x: Tensor) -> Tensor:
                return x * 2

            @staticmethod
            def vjp(ctx: Any, g: Tensor) -> Tensor:
                return g * 2

        x = leaf(1.0)
        Named.apply(x).backward()
        assert x.grad.tolist() == [2.0]
        Named.backward = Named.vjp
        Named.forward = staticmethod(lambda ctx, x: x)
        with pytest.raises(RuntimeError, match="both backward and vjp"):
            Named.apply(x)

    def test_exceptions_pass_with_a_note_and_the_graph_stays_usable(self) -> None:
        fail = True

        def backward(ctx: Any, g: Tensor) -> Tensor:
            if fail:
                raise KeyError("mine")
            (x,) = ctx.saved_tensors
            return g * 2 * x

        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * x

        x, w = leaf(3.0), leaf(1.0)
        y = function(forward, backward, "Bad").apply(x) + w
        with pytest.raises(KeyError, match="mine") as caught:
            y.backward()
        assert "raised in the backward of Bad" in caught.value.__notes__
        caught.value.__traceback__ = None
        assert x.grad is None
        assert w.grad is None
        fail = False
        y.backward()
        assert (x.grad.tolist(), w.grad.tolist()) == ([6.0], [1.0])

    def test_a_saved_value_changed_in_place(self) -> None:
        x = leaf(2.0)
        y = x * 1
        z = Cube.apply(y)
        y += 1.0
        with pytest.raises(RuntimeError, match='a value saved by "Cube" was changed in place'):
            z.backward()

    def test_grad_mode_is_restored_when_forward_raises(self) -> None:
        with pytest.raises(ZeroDivisionError):
            function(lambda ctx, x: 1 / 0, None).apply(leaf(1.0))
        assert fg.is_grad_enabled()

    def test_forward_may_be_replaced(self) -> None:
        f = function(lambda ctx, x: x * 2, lambda ctx, g: g)
        assert f.apply(fg.tensor(1.0)).item() == 2.0
        f.forward = staticmethod(lambda ctx, x: x * 3)
        assert f.apply(fg.tensor(1.0)).item() == 3.0

    def test_a_subclass_has_its_own_form(self) -> None:
        assert Cube.apply(fg.tensor(1.0)).item() == 1.0

        class Double(Cube):
            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

            @staticmethod
            def forward(x: Tensor, scale: float = 1.0) -> Tensor:
                return 2 * x

        assert Double.apply(fg.tensor(1.0)).item() == 2.0
        assert Cube.apply(fg.tensor(3.0)).item() == 27.0


def test_backward_may_run_a_backward_of_its_own() -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return fg.sin(x)

    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        with fg.enable_grad():
            again = x.detach().requires_grad_()
            (inner,) = grad(fg.sin(again), again)
        return g * inner

    x = fg.tensor(0.5, requires_grad=True)
    function(forward, backward).apply(x).backward()
    assert x.grad.item() == pytest.approx(np.cos(0.5), rel=1e-15)


def test_two_passes_lend_their_own_values() -> None:
    x = fg.tensor(2.0, requires_grad=True)
    y = Cube.apply(x)
    (a,) = grad(y, x, retain_graph=True)
    (b,) = grad(y, x, create_graph=True)
    (c,) = grad(b, x, retain_graph=True)
    (d,) = grad(y, x)
    assert (a.item(), b.item(), c.item(), d.item()) == (12.0, 12.0, 12.0, 12.0)


def test_a_deep_chain_runs_and_drops() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = Exp.apply(y * 0)
    y.backward()
    z = x
    for _ in range(20_000):
        z = Cube.apply(z)
    del z


class Canary:
    """An object whose death can be watched."""


def keep_output_attribute(ctx: Any, y: Tensor) -> None:
    ctx.y = y


def keep_view_attribute(ctx: Any, y: Tensor) -> None:
    ctx.y = y.reshape(-1)


def keep_saved_view(ctx: Any, y: Tensor) -> None:
    ctx.save_for_backward(y.reshape(-1))


def keep_saved_output(ctx: Any, y: Tensor) -> None:
    ctx.save_for_backward(y)


def keep_context(ctx: Any, y: Tensor) -> None:
    ctx.itself = ctx


def keep_in_a_list(ctx: Any, y: Tensor) -> None:
    ctx.parts = [y]


def keep_as_an_object(ctx: Any, y: Tensor) -> None:
    ctx.save_object("y", y)


PATTERNS = [
    keep_output_attribute,
    keep_view_attribute,
    keep_saved_view,
    keep_saved_output,
    keep_in_a_list,
    keep_as_an_object,
]


@pytest.mark.parametrize("keep", PATTERNS)
@pytest.mark.parametrize("run", ["dropped", "backward", "create_graph"])
def test_no_pattern_leaks(keep: Any, run: str) -> None:
    """Freed by reference counts alone: the collector is off."""

    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.canary = canary
        y = x * 2
        keep(ctx, y)
        return y

    f = function(forward, lambda ctx, g: 2 * g)
    canary: Any = Canary()
    watch = weakref.ref(canary)
    gc.collect()
    gc.disable()
    try:
        x = fg.tensor([1.0, 2.0], requires_grad=True)
        before = fg.live_nodes()
        y = f.apply(x)
        if run == "backward":
            y.sum().backward()
        elif run == "create_graph":
            (g,) = grad(y.sum(), x, create_graph=True)
            del g
        del y
        assert fg.live_nodes() <= before + 1, "only the leaf's accumulator may live"
        canary = None
        assert watch() is None
    finally:
        gc.enable()


def test_a_context_that_holds_itself_is_collected() -> None:
    f = function(lambda ctx, x: keep_context(ctx, x) or x * 2, lambda ctx, g: 2 * g)
    x = leaf(1.0)
    f.apply(x)
    gc.collect()
    assert fg.live_nodes() <= 1 or x is not None


def test_a_result_that_its_own_context_holds_is_collected() -> None:
    """The one cycle a user can close by hand: the attached output, put back into the context."""
    kept = []

    def forward(ctx: Any, x: Tensor) -> Tensor:
        kept.append(ctx)
        return x * 2

    x = leaf(1.0)
    before = fg.live_nodes()
    y = function(forward, lambda ctx, g: 2 * g).apply(x)
    kept.pop().result = y
    del y
    gc.collect()
    assert fg.live_nodes() <= before + 1


def test_classes_die() -> None:
    watches = []
    for _ in range(20):
        f = function(lambda ctx, x: x * 2, lambda ctx, g: 2 * g)
        f.apply(leaf(1.0)).backward()
        watches.append(weakref.ref(f))
        del f
    gc.collect()
    assert not any(watch() for watch in watches)


def test_gradcheck_to_second_order() -> None:
    x = fg.tensor([0.3, -0.7, 1.2], requires_grad=True)
    assert fg.gradcheck(lambda t: Cube.apply(t, 2.0), (x,))
    assert fg.gradgradcheck(lambda t: Cube.apply(t, 2.0), (x,))
    assert fg.gradgradcheck(Exp.apply, (x,))
