"""What somebody who knows PyTorch and NumPy tries first works, or the message says what to do."""

import pickle

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(list(values), requires_grad=True)


class Cube(fg.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


class Doubled(fg.Function):
    """Changes its argument in place, and says so."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return 2 * g


class TestFunctions:
    def test_a_function_takes_arrays(self):
        x = np.array([-1.0, 0.5])
        np.testing.assert_array_equal(Cube.apply(x).numpy(), Cube.apply(fg.tensor(x)).numpy())
        assert fg.functions.ReLU6().apply(np.array([-1.0, 7.0])).tolist() == [0, 6]
        assert fg.gradcheck(Cube.apply, (x,))

    def test_a_saved_array_is_a_copy_and_a_constant(self):
        class Scaled(fg.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x * x * w

            @staticmethod
            def backward(ctx, g):
                x, w = ctx.saved_tensors
                return 2 * g * x * w, None

        x, w = leaf(3.0), np.array([5.0])
        y = Scaled.apply(x, w)
        w[:] = 0
        (g,) = fg.autograd.grad(y, x, create_graph=True)
        assert g.tolist() == [30]
        assert fg.autograd.grad(g, x)[0].tolist() == [10]

    def test_an_array_made_in_forward_refuses_at_second_order(self):
        class Exp(fg.Function):
            @staticmethod
            def forward(ctx, x):
                y = np.exp(x.numpy())
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, g):
                return g * ctx.saved_tensors[0]

        x = leaf(0.0)
        (g,) = fg.autograd.grad(Exp.apply(x), x, create_graph=True)
        assert g.tolist() == [1]
        with pytest.raises(fg.errors.NotDifferentiableError, match="second derivative"):
            fg.autograd.grad(g, x)

    def test_other_objects_are_still_refused(self):
        class Wrong(fg.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(3)

            @staticmethod
            def backward(ctx, g):
                return g

        with pytest.raises(TypeError, match=r"a int cannot be saved.*attributes of ctx"):
            Wrong.apply(leaf(1.0))

    def test_a_change_that_was_not_declared_raises(self):
        class Silent(fg.Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(3)
                return x * 1

            @staticmethod
            def backward(ctx, g):
                return g

        with pytest.raises(fg.errors.InPlaceError, match=r"Silent: .*argument 0.*mark_dirty\(x\)"):
            Silent.apply(leaf(1.0) * 1)
        assert Silent.apply(fg.tensor([1.0])).tolist() == [3]

    def test_the_in_place_error_names_the_function_that_changed_the_value(self):
        x = leaf(1.0, 2.0)
        y = x * 2
        z = y * y
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            Doubled.apply(y)
        with pytest.raises(
            fg.errors.InPlaceError, match=r'in place by "Doubled" \(version 0 became 1\)'
        ):
            z.sum().backward()

    def test_a_leaf_is_refused_by_the_function_that_changes_it(self):
        with pytest.raises(fg.errors.InPlaceError, match=r"Doubled: a leaf .*clone\(\)"):
            Doubled.apply(leaf(1.0))

    def test_swapped_parameters_are_named(self):
        class Swapped(fg.CustomFunction):
            def forward(self, ctx, inputs):
                return [inputs[0] * 1]

            def backward(self, grads, ctx):
                return grads

        with pytest.raises(TypeError, match=r"forward\(self, inputs, ctx\)"):
            Swapped()(leaf(1.0))


class TestModules:
    def test_a_tensor_does_not_replace_a_parameter(self):
        layer = nn.Linear(2, 2)
        with pytest.raises(TypeError, match=r"'weight' is a parameter.*nn\.Parameter.*copy_"):
            layer.weight = fg.ones((2, 2))
        assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
        layer.weight = nn.Parameter(fg.ones((2, 2)))
        assert layer.weight.tolist() == [[1, 1], [1, 1]]
        layer.bias = None
        assert [name for name, _ in layer.named_parameters()] == ["weight"]

    def test_a_transposed_weight_says_layout_torch(self):
        layer = nn.Linear(2, 3)
        state = {"weight": np.zeros((3, 2)), "bias": np.zeros(3)}
        with pytest.raises(fg.errors.StateDictError, match=r'transposed.*layout="torch"'):
            layer.load_state_dict(state)
        layer.load_state_dict(state, layout="torch")


class TestReasons:
    @pytest.mark.parametrize(
        "cut",
        [
            lambda x: nn.functional.one_hot(x.argmax(), 3).float(),
            lambda x: fg.ones(3)[x.argmax()],
            lambda x: fg.ones(3)[x.argsort()],
        ],
    )
    def test_indices_pass_the_reason_on(self, cut):
        assert "an operation without a derivative" in fg.explain_no_grad(cut(leaf(1.0, 2.0)))

    @pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "rint", "round", "sign"])
    def test_steps_have_a_gradient_of_zero(self, name):
        x = leaf(1.5)
        y = getattr(fg, name)(x) * 2
        y.backward()
        assert x.grad.tolist() == [0]
        assert "zero everywhere" in fg.explain_no_grad(getattr(fg, name)(x) * 2)
        assert "nothing is cut" in fg.explain_no_grad(getattr(fg, name)(x) * x)


class TestMessages:
    def test_out_is_not_an_operator(self):
        with pytest.raises(fg.errors.GraphCutError, match="leave out= out"):
            np.exp(leaf(1.0), out=np.zeros(1))
        array = np.zeros(1)
        with pytest.raises(fg.errors.GraphCutError, match=r"a = a \+ t instead"):
            array += leaf(1.0)

    def test_gradcheck_of_a_dict_names_the_way(self):
        with pytest.raises(fg.errors.ArgumentError, match=r"input 0 is a dict.*one by one"):
            fg.gradcheck(lambda d: d["a"], ({"a": leaf(1.0)},))

    def test_the_star_of_a_structure_is_explained(self):
        _, pull = fg.vjp(lambda d: {"r": d["a"], "s": d["a"]}, {"a": np.ones(2)})
        with pytest.raises(fg.errors.ArgumentError, match=r"where \* is an array"):
            pull(np.ones(2))

    def test_a_pickle_of_an_object_with_history_says_detach(self):
        with pytest.raises(fg.errors.GradientError, match=r"pickle: .*detach\(\)"):
            pickle.dumps(leaf(1.0) * 2)

    def test_an_index_says_what_the_tensor_is(self):
        with pytest.raises(TypeError, match=r"float64 of shape \[2\]; use int\(t.item\(\)\)"):
            range(leaf(1.0, 2.0))
        assert list(range(fg.tensor(2))) == [0, 1]
