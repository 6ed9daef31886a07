"""`fg.FunctionContext`: saving by position and by key, objects, ranges and lifetimes."""

import gc

import pytest

import ferrograd as fg
from custom_function_support import Gradients, Identity, Product, Scale, leaf
from ferrograd import CustomFunction, FunctionContext, Tensor


class TestContext:
    """A context used by hand, and the lifetimes of what it keeps."""

    def test_saved_tensors_append(self) -> None:
        ctx = FunctionContext()
        a, b = fg.tensor(1.0), fg.tensor(2.0)
        ctx.save_for_backward(a)
        ctx.save_for_backward(None, b)
        assert ctx.saved_tensors == (a, None, b)
        assert ctx.saved_tensor_count == 3
        assert ctx.get_saved_tensor(2) is b
        assert ctx.get_saved_tensor(1) is None

    def test_index_out_of_range(self) -> None:
        ctx = FunctionContext()
        with pytest.raises(IndexError, match=r"Tensor index 0 is out of range: no tensors were"):
            ctx.get_saved_tensor(0)
        ctx.save_for_backward(fg.tensor(1.0), fg.tensor(2.0))
        text = r"^Tensor index 2 is out of range\. Valid range is 0 to 1$"
        with pytest.raises(IndexError, match=text):
            ctx.get_saved_tensor(2)
        with pytest.raises(IndexError, match="Tensor index -1 is out of range"):
            ctx.get_saved_tensor(-1)

    def test_only_tensors_can_be_saved(self) -> None:
        with pytest.raises(TypeError, match=r"an? int cannot be saved as a tensor"):
            FunctionContext().save_for_backward(1)

    def test_keyed_saving(self) -> None:
        ctx = FunctionContext()
        a, b = fg.tensor(1.0), fg.tensor(2.0)
        ctx.save_tensor("x", a)
        ctx.save_tensor("y", b)
        assert ctx.get_saved_tensor("x") is a
        ctx.save_tensor("x", b)
        assert ctx.get_saved_tensor("x") is b
        assert ctx.saved_tensor_count == 2
        with pytest.raises(KeyError, match="nothing was saved under the key"):
            ctx.get_saved_tensor("z")
        with pytest.raises(TypeError):
            ctx.save_tensor("x", "no tensor")

    def test_objects(self) -> None:
        ctx = FunctionContext()
        ctx.save_object([1, 2])
        ctx.save_object("axis", 3)
        ctx.save_object("axis", 4)
        assert ctx.get_saved_object(0) == [1, 2]
        assert ctx.get_saved_object("axis") == 4
        assert ctx.saved_objects == [[1, 2], 4]
        assert ctx.saved_object_count == 2
        ctx.save_object("nothing", None)
        assert ctx.get_saved_object("nothing") is None
        with pytest.raises(TypeError, match="pass an object, or a key and an object"):
            ctx.save_object()
        with pytest.raises(IndexError, match="Valid range is 0 to 2"):
            ctx.get_saved_object(3)
        with pytest.raises(KeyError):
            ctx.get_saved_object("other")

    @pytest.mark.parametrize("method", ["clear", "dispose"])
    def test_clear_is_idempotent_and_final(self, method: str) -> None:
        ctx = FunctionContext()
        ctx.save_for_backward(fg.tensor(1.0))
        ctx.save_object(1)
        for _ in range(2):
            getattr(ctx, method)()
        with pytest.raises(RuntimeError, match=r"^Cannot retrieve tensor from disposed context"):
            ctx.get_saved_tensor(0)
        with pytest.raises(RuntimeError, match=r"^Cannot retrieve tensor from disposed context"):
            _ = ctx.saved_tensors
        with pytest.raises(RuntimeError):
            ctx.get_saved_object(0)

    def test_saved_in_forward_by_key_and_object_seen_in_backward(self) -> None:
        class Keyed(CustomFunction):
            def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
                ctx.save_tensor("x", inputs[0])
                ctx.save_object("power", 2)
                ctx.scale = 3.0
                return [3.0 * inputs[0] ** 2]

            def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
                x, power = ctx.get_saved_tensor("x"), ctx.get_saved_object("power")
                assert ctx.get_saved_tensor(0).tolist() == x.tolist()
                return [grad_outputs[0] * ctx.scale * power * x]

        x = leaf(2.0)
        Keyed().apply(x).backward()
        assert x.grad is not None
        assert x.grad.tolist() == [12.0]

    def test_saved_values_outside_backward(self) -> None:
        kept: list[FunctionContext] = []

        class Keep(Product):
            def forward(self, inputs: tuple[Tensor, ...], ctx: FunctionContext) -> list[Tensor]:
                kept.append(ctx)
                return super().forward(inputs, ctx)

        a, b = leaf(2.0), leaf(3.0)
        y = Keep().apply(a, b)
        assert [t.tolist() for t in kept[0].saved_tensors] == [[2.0], [3.0]]
        y.backward()
        with pytest.raises(RuntimeError, match=r"^Cannot retrieve tensor from disposed context"):
            _ = kept[0].saved_tensors

    def test_saved_values_are_freed_unless_retained(self) -> None:
        a, b = leaf(2.0), leaf(3.0)
        y = Product().apply(a, b)
        y.backward(retain_graph=True)
        y.backward()
        assert a.grad is not None
        assert a.grad.tolist() == [6.0]
        with pytest.raises(RuntimeError, match='saved values of "Product" were freed'):
            y.backward()

    def test_saving_after_forward_is_refused(self) -> None:
        class Late(Identity):
            def backward(self, grad_outputs: tuple[Tensor, ...], ctx: FunctionContext) -> Gradients:
                ctx.save_for_backward(grad_outputs[0])
                return list(grad_outputs)

        with pytest.raises(RuntimeError, match="save tensors in forward"):
            Late().apply(leaf(1.0)).backward()


def test_saved_memory_is_given_back() -> None:
    x = fg.ones(100_000, requires_grad=True)
    gc.collect()
    before = fg.live_bytes()
    y = Product().apply(x, x).sum()
    y.backward()
    x.zero_grad()
    del y
    assert fg.live_bytes() <= before


def test_a_deep_chain_of_custom_functions_runs_and_drops() -> None:
    x = leaf(1.0)
    y, scale = x, Scale(1.0)
    for _ in range(20_000):
        y = scale.apply(y)
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0]
    z = x
    for _ in range(20_000):
        z = scale.apply(z)
    del z
