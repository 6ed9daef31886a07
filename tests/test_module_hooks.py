"""Forward hooks of modules, and the conversions by name.

Owns: order, what an answer replaces, removal, `always_call`, keywords, copies. PyTorch's meaning.
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
