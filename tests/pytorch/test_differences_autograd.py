"""Deliberate differences from PyTorch's autograd, one test a row of docs/differences.md."""

from typing import Any

import pytest

import ferrograd as fg
from ferrograd.autograd import grad
from ferrograd.autograd.graph import get_gradient_edge


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(values or (1.0, 2.0), requires_grad=True)


def test_a_hook_is_not_called_without_a_gradient() -> None:
    x = leaf()
    first, second = x.unbind()
    seen: list[Any] = []
    first.register_hook(seen.append)
    second.backward()
    assert seen == []
    first.backward()
    assert [g.item() for g in seen] == [1.0]
    assert x.grad.tolist() == [1.0, 1.0]


def test_node_hooks_see_the_tensors_of_a_function_only() -> None:
    class Mixed(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor, k: int) -> tuple[fg.Tensor, int, fg.Tensor]:
            return x * k, k, x + k

        @staticmethod
        def backward(ctx: Any, a: fg.Tensor, number: None, b: fg.Tensor) -> tuple[fg.Tensor, None]:
            assert number is None
            return a * 3 + b, None

    x = leaf()
    a, k, b = Mixed.apply(x, 3)
    seen: list[int] = []
    a.grad_fn.register_prehook(lambda grads: seen.append(len(grads)))
    assert (k, b.output_nr) == (3, 1)
    (a + b).sum().backward()
    assert seen == [2]
    assert x.grad.tolist() == [4.0, 4.0]


def test_what_a_post_accumulate_hook_returns_is_ignored() -> None:
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda x: x.grad * 100)
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_view_changed_by_a_function_of_several_outputs() -> None:
    class AddInPlace(fg.Function):
        @staticmethod
        def forward(ctx: Any, a: fg.Tensor, b: fg.Tensor) -> tuple[fg.Tensor, fg.Tensor]:
            a.add_(b)
            ctx.mark_dirty(a)
            return a, a + b

        @staticmethod
        def backward(ctx: Any, ga: fg.Tensor, gb: fg.Tensor) -> tuple[fg.Tensor, fg.Tensor]:
            return ga + gb, ga + 2 * gb

    def through_a_view(a: fg.Tensor, b: fg.Tensor) -> fg.Tensor:
        base = a * 1
        changed, total = AddInPlace.apply(base[1:], b)
        return (base * base).sum() + (total * changed).sum()

    assert fg.gradcheck(through_a_view, (leaf(1.0, 2.0, 3.0), leaf(4.0, 5.0)))


def test_a_saved_tensor_detached_in_place_keeps_its_gradient() -> None:
    x = leaf()
    y = x * 2
    z = y.sin()
    y.detach_()
    (first,) = grad(z.sum(), x, create_graph=True)
    assert first.tolist() == (2 * fg.cos(2 * x)).tolist()
    assert grad(first.sum(), x)[0].tolist() == (-4 * fg.sin(2 * x)).tolist()


def test_views_of_the_same_elements_have_a_gradient_each_after_a_change() -> None:
    base = leaf() * 1
    one, other = base[:], base[:]
    one.retain_grad()
    base.retain_grad()
    one.mul_(2)
    (one + 10 * other).sum().backward()
    assert one.grad.tolist() == [1.0, 1.0]
    assert base.grad.tolist() == [11.0, 11.0]


def test_a_hook_on_a_view_from_before_a_change_through_it() -> None:
    base = leaf() * 1
    view = base[:1]
    seen: list[Any] = []
    view.register_hook(lambda g: seen.append(g.tolist()))
    view *= 3
    (view * 10).sum().backward()
    assert seen == [[30.0]]


def test_a_hook_on_a_view_whose_data_were_changed() -> None:
    base = leaf() * 1
    view = base[:1]
    seen: list[Any] = []
    view.register_hook(lambda g: seen.append(g.tolist()))
    base.detach().fill_(2.0)
    (view * 10).sum().backward()
    assert seen == [[10.0]]


def test_a_retained_gradient_of_a_view_after_a_change_of_its_base() -> None:
    base = leaf() * 1
    view = base[:1]
    view.retain_grad()
    used = view * 2
    base.zero_()
    used.sum().backward()
    assert view.grad is None


def test_a_view_of_a_custom_function_after_a_change() -> None:
    class Reversed(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            return x[:1]

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> Any:
            return -g.reshape(1) * fg.tensor([1.0, 0.0])

    base = leaf() * 1
    view = Reversed.apply(base)
    base.mul_(2)
    with pytest.raises(
        fg.errors.InPlaceError, match="a view that a custom function returned was used after"
    ):
        view.sum().backward()


def test_what_was_overwritten_entirely_gets_no_gradient() -> None:
    x = leaf()
    y = x * 2
    y[...] = fg.ones(2)
    y.sum().backward()
    assert x.grad is None
    z = x * 2
    z[0] = 5.0
    z.sum().backward()
    assert x.grad.tolist() == [0.0, 2.0]


def test_setting_data_copies_into_the_tensor() -> None:
    p = fg.ones(2, requires_grad=True)
    view, other = p.data, fg.tensor([2.0, 0.1], dtype="float32")
    p.data = other
    assert p.dtype == "float64"
    assert p.tolist() == view.tolist() == other.tolist()
    other += 1
    assert p.tolist() == view.tolist() != other.tolist()


def test_a_tensor_keeps_its_shape() -> None:
    for name in ("t_", "squeeze_", "unsqueeze_", "resize_", "set_"):
        assert not hasattr(fg.ones(2, 3), name)
    x = fg.ones(2)
    with pytest.raises(fg.errors.ShapeError):
        x.data = fg.ones(3)
    with pytest.raises(fg.errors.ShapeError, match="keeps its shape"):
        fg.ones(2, 3).transpose_(0, 1)
    square = fg.tensor([[1.0, 2.0], [3.0, 4.0]])
    rows = square[0]
    assert square.transpose_(0, 1) is square
    assert square.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert rows.tolist() == [1.0, 3.0]


def test_an_edge_that_was_not_used_gets_zeros_when_asked() -> None:
    x, y = leaf(), leaf() * 1
    edge = get_gradient_edge(y)
    (found,) = grad(x.sum(), edge, materialize_grads=True)
    assert found.tolist() == [0.0, 0.0]


def test_gradcheck_refuses_a_function_without_float_outputs() -> None:
    with pytest.raises(fg.errors.ArgumentError, match="nothing to check"):
        fg.gradcheck(lambda x: (), leaf())


def test_marking_what_is_no_argument_dirty_raises() -> None:
    class Wrong(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            y = x * 3
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
            return g * 3

    with pytest.raises(fg.errors.InPlaceError, match="names a tensor that is no argument"):
        Wrong.apply(leaf())


def test_backward_into_an_edge_that_is_no_leaf_raises() -> None:
    y = leaf() * 2
    edge = get_gradient_edge(y)
    with pytest.raises(fg.errors.ArgumentError, match="edge of a tensor that is no leaf"):
        fg.autograd.backward(y.sum(), inputs=edge)
    fg.autograd.backward(y.sum(), inputs=y)
    assert y.grad.tolist() == [1.0, 1.0]


def test_nothing_is_recorded_for_inputs_that_require_no_grad() -> None:
    functional, x = fg.autograd.functional, fg.tensor([1.0, 2.0])
    for recorded in (False, True):
        x.requires_grad_(recorded)
        found = functional.jacobian(lambda x: x**3, x, create_graph=True)
        assert found.requires_grad is recorded
        assert found.tolist() == [[3.0, 0.0], [0.0, 12.0]]
        _, product = functional.hvp(lambda x: (x**3).sum(), x, fg.ones(2), create_graph=True)
        assert product.requires_grad is recorded
        assert product.tolist() == [6.0, 12.0]


def test_numpy_of_a_tensor_that_requires_grad() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    array = x.numpy()
    assert array.tolist() == [1, 2]
    assert not array.flags.writeable
    with pytest.raises(fg.errors.GraphCutError, match="numpy"):
        fg.grad(lambda t: t.numpy().sum())(x)
