"""`fg.Function`: arguments and outputs of every structure.

Gradients, errors and lifetimes have files of their own.
"""

import collections
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Function, Tensor
from function_support import Cube, function, leaf

grad = fg.autograd.grad


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
