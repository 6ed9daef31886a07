"""Forward hooks of modules, and the conversions by name.

PyTorch's meaning.
"""

import copy
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn


class Add(nn.Module):
    def forward(self, x: Any, more: Any = 0.0) -> Any:
        return x + more


X = fg.tensor([1.0, 2.0])


def test_hooks_see_the_call_and_replace_what_they_answer() -> None:
    module, seen = Add(), []
    module.register_forward_pre_hook(lambda m, args: seen.append(("before", m, args)))
    module.register_forward_hook(lambda m, args, out: seen.append(("after", m, args, out)))
    out = module(X, more=1.0)
    assert out.tolist() == [2.0, 3.0]
    assert seen == [("before", module, (X,)), ("after", module, (X,), out)]
    module.register_forward_pre_hook(lambda m, args: (args[0] * 10, 5.0))
    module.register_forward_hook(lambda m, args, out: -out)
    assert module(X).tolist() == [-15.0, -25.0]
    module.register_forward_pre_hook(lambda m, args: args[0] * 0)
    assert module(X).tolist() == [0.0, 0.0]


def test_with_keywords() -> None:
    module = Add()
    module.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"more": kwargs["more"] + 1}), with_kwargs=True
    )
    module.register_forward_hook(
        lambda m, args, kwargs, out: out * kwargs["more"], with_kwargs=True
    )
    assert module(X, more=1.0).tolist() == [6.0, 8.0]
    module.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(fg.errors.ContractError, match=r"return None or \(args, kwargs\)"):
        module(X, more=1.0)


def test_order_removal_and_blocks() -> None:
    module, seen = Add(), []
    hooks = [
        module.register_forward_hook(lambda m, a, o, k=k: seen.append(k), prepend=k == "c")
        for k in "abc"
    ]
    module(X)
    assert seen == ["c", "a", "b"]
    hooks[0].remove()
    hooks[0].remove()
    seen.clear()
    with module.register_forward_hook(lambda m, a, o: seen.append("d")):
        module(X)
    module(X)
    assert seen == ["c", "b", "d", "c", "b"]


def test_always_call_runs_after_an_error() -> None:
    module, seen = Add(), []
    module.register_forward_hook(lambda m, a, o: seen.append("plain"))
    module.register_forward_hook(lambda m, a, o: seen.append(o), always_call=True)
    with pytest.raises(fg.errors.ShapeError):
        module(X, fg.ones(3))
    assert seen == [None]
    module.register_forward_hook(lambda m, a, o: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        module(X)
    assert seen[1] == "plain"
    assert len(seen) == 3


def test_gradients_go_through_and_children_have_their_own() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    shapes: list[Any] = []
    net[0].register_forward_hook(lambda m, a, out: shapes.append(out.shape))
    net[1].register_forward_hook(lambda m, a, out: 2 * out)
    net(fg.ones(3, 2)).sum().backward()
    assert shapes == [(3, 2)]
    assert net[0].weight.grad is not None
    other = copy.deepcopy(net)
    other(fg.ones(1, 2))
    assert shapes[-1] == (1, 2)


def test_a_hook_is_a_function() -> None:
    with pytest.raises(TypeError, match="the hook is a int"):
        Add().register_forward_hook(3)  # type: ignore[arg-type]


def test_conversions_by_name() -> None:
    layer = nn.Linear(2, 2)
    assert layer.float() is layer
    assert layer.weight.dtype == np.float32
    assert layer.double().weight.dtype == np.float64
    assert layer.bias.dtype == np.float64


class Pair(nn.Module):
    """Two results of two arguments."""

    def forward(self, x: Any, y: Any) -> Any:
        return {"product": x * y, "sum": x + y}


def test_backward_hooks_see_gradients_and_replace_them() -> None:
    module, seen = Pair(), []
    x, y = fg.tensor([2.0], requires_grad=True), fg.tensor([3.0], requires_grad=True)
    module.register_full_backward_pre_hook(lambda m, g: seen.append(("pre", m, g)))
    handle = module.register_full_backward_hook(lambda m, i, o: seen.append(("post", m, i, o)))
    out = module(x, y)
    (10 * out["product"] + out["sum"]).sum().backward()
    assert [entry[0] for entry in seen] == ["pre", "post"]
    assert [g.item() for g in seen[0][2]] == [10.0, 1.0]
    assert [g.item() for g in seen[1][2]] == [31.0, 21.0]
    assert [g.item() for g in seen[1][3]] == [10.0, 1.0]
    handle.remove()
    module.register_full_backward_pre_hook(lambda m, g: (g[0], None))
    module.register_full_backward_hook(lambda m, i, o: (i[0], -i[1]))
    module.register_full_backward_hook(lambda m, i, o: (i[0], i[1] * 2), prepend=True)
    x.grad = y.grad = None
    out = module(x, y)
    (10 * out["product"] + out["sum"]).sum().backward()
    assert (x.grad.item(), y.grad.item()) == (30.0, -40.0)


def test_backward_hooks_without_gradients_of_arguments() -> None:
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda m, i, o: seen.append((i, o[0].tolist())))
    layer(X).sum().backward()
    assert seen == [((None,), [1.0])]
    with fg.no_grad():
        assert layer(X).grad_fn is None
    # A pass that comes by twice calls them twice; one that uses only a part, once.
    net = nn.Sequential(layer, nn.ReLU())
    out = net(fg.ones(2, 2, requires_grad=True)).sum()
    out.backward(retain_graph=True)
    out.backward()
    assert len(seen) == 3
    layer.register_full_backward_hook(lambda m, i, o: (i[0], i[0]))
    with pytest.raises(fg.errors.ContractError, match="answered 2 gradients, and there are 1"):
        layer(X).sum().backward()


def test_backward_hooks_of_second_derivatives() -> None:
    layer = nn.Tanh()
    layer.register_full_backward_hook(lambda m, i, o: (2 * i[0],))
    x = fg.tensor([0.5], requires_grad=True)
    (g,) = fg.autograd.grad(layer(x).sum(), [x], create_graph=True)
    np.testing.assert_allclose(g.item(), 2 * (1 - np.tanh(0.5) ** 2))
    (h,) = fg.autograd.grad(g.sum(), [x])
    t = np.tanh(0.5)
    np.testing.assert_allclose(h.item(), -4 * t * (1 - t**2))


def test_hooks_of_states() -> None:
    net, seen = nn.Sequential(nn.Linear(2, 1, bias=False), nn.ReLU()), []
    layer = net[0]
    layer.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((m, prefix, keep)))

    def add(module: Any, state: Any, prefix: str, metadata: Any) -> None:
        state[prefix + "extra"] = fg.tensor(3.0)

    layer.register_state_dict_post_hook(add)
    state = net.state_dict()
    assert seen == [(layer, "0.", False)]
    assert list(state) == ["0.weight", "0.extra"]
    given = dict(state)
    with pytest.raises(fg.errors.StateDictError, match=r"0\.extra"):
        net.load_state_dict(given)

    def take(module: Any, state: Any, prefix: str, *others: Any) -> None:
        seen.append(state.pop(prefix + "extra").item())

    with layer.register_load_state_dict_pre_hook(take):
        report = net.load_state_dict(given)
    assert seen[1:] == [3.0]
    assert report.unexpected_keys == []
    assert "0.extra" in given


def test_hooks_after_loading_forgive_keys_or_change_nothing() -> None:
    net = nn.Sequential(nn.Linear(2, 1))
    before, values = net[0].weight.tolist(), []
    state = {"0.weight": fg.ones(2, 1), "more": fg.ones(1)}
    handle = net.register_load_state_dict_post_hook(
        lambda m, report: values.append((net[0].weight.tolist(), list(report.missing_keys)))
    )
    with pytest.raises(fg.errors.StateDictError, match="nothing was"):
        net.load_state_dict(state)
    assert values == [([[1.0], [1.0]], ["0.bias"])]
    assert net[0].weight.tolist() == before
    handle.remove()

    def forgive(module: Any, report: Any) -> None:
        report.missing_keys.clear()
        report.unexpected_keys.clear()

    net.register_load_state_dict_post_hook(forgive)
    net.load_state_dict(state)
    assert net[0].weight.tolist() == [[1.0], [1.0]]


def test_half() -> None:
    assert nn.Linear(2, 1).half().weight.dtype == np.float16
