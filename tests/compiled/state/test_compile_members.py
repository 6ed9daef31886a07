"""Compiled modules as members of modules: registered, walked, saved, copied."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentError, ArgumentTypeError


class Outer(fg.nn.Module):
    def __init__(self, compiled: bool = True) -> None:
        super().__init__()
        inner = fg.nn.Sequential(fg.nn.Linear(3, 2), fg.nn.Tanh())
        self.inner = fg.compile(inner) if compiled else inner
        self.scale = fg.nn.Parameter([2.0, 3.0])

    def forward(self, x: Any) -> Any:
        return self.inner(x) * self.scale


def test_its_parameters_are_registered_under_the_names_of_the_module() -> None:
    compiled, plain = Outer(), Outer(compiled=False)
    assert [n for n, _ in compiled.named_parameters()] == [n for n, _ in plain.named_parameters()]
    assert [n for n, _ in compiled.named_modules()] == [n for n, _ in plain.named_modules()]
    assert [type(m) for m in compiled.modules()] == [type(m) for m in plain.modules()]
    assert [type(m) for m in compiled.children()] == [fg.nn.Sequential]
    compiled.load_state_dict(plain.state_dict())
    assert [*compiled.state_dict()] == [*plain.state_dict()]
    for module in (compiled, plain):
        module.eval()
    x = fg.tensor(np.linspace(0, 1, 6).reshape(2, 3))
    for _ in range(3):
        assert compiled(x).tolist() == plain(x).tolist()
    assert len(compiled.inner.programs) == 1
    assert not any(m.training for m in compiled.modules())


def test_it_trains() -> None:
    model = Outer()
    model.eval()
    optimizer = fg.optim.SGD(model.parameters(), lr=0.01)
    x = fg.ones(2, 3)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = ((model(x) - 1.0) ** 2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(p.grad is not None for p in model.parameters())
    assert losses == sorted(losses, reverse=True)


def test_containers_call_what_is_compiled() -> None:
    f = fg.compile(fg.nn.Linear(2, 2))
    net = fg.nn.Sequential(f, fg.nn.Tanh())
    for _ in range(3):
        net(fg.ones(1, 2))
    assert net[0] is f
    assert len(f.programs) == 1
    assert len(list(net.parameters())) == 2
    assert len(list(fg.nn.ModuleList([f, f]).parameters())) == 2
    assert [n for n, _ in fg.nn.ModuleDict({"a": f}).named_parameters()] == ["a.weight", "a.bias"]
    assert "compiled" in repr(net)


def test_members_are_replaced_removed_and_copied() -> None:
    model = Outer()
    twin = copy.deepcopy(model)
    assert twin.inner.__wrapped__ is not model.inner.__wrapped__
    assert next(twin.parameters()) is not next(model.parameters())
    again = pickle.loads(pickle.dumps(model))
    assert [n for n, _ in again.named_parameters()] == [n for n, _ in model.named_parameters()]
    model.inner = fg.nn.Linear(3, 2)
    assert len(list(model.parameters())) == 3
    model.inner = fg.compile(fg.compile(fg.nn.Linear(3, 2, bias=False)))
    assert len(list(model.parameters())) == 2
    model.inner = None
    assert [n for n, _ in model.named_parameters()] == ["scale"]
    model.inner = fg.compile(fg.nn.Linear(3, 2))
    del model.inner
    assert [n for n, _ in model.named_parameters()] == ["scale"]


def test_what_cannot_be_a_member() -> None:
    model = Outer()
    model.function = fg.compile(lambda x: x * 2.0)  # a plain attribute
    assert len(list(model.parameters())) == 3
    with pytest.raises(ArgumentTypeError, match="register a Module"):
        model.register_module("f", fg.compile(lambda x: x * 2.0))
    with pytest.raises(ArgumentError, match="cannot be inside itself"):
        model.me = fg.compile(model)
    assert isinstance(fg.nn.Sequential(fg.compile(fg.nn.Tanh())), fg.nn.Module)


def test_a_module_compiles_its_own_forward() -> None:
    model = fg.nn.Sequential(fg.nn.Linear(2, 3), fg.nn.Tanh())
    names, x, seen = [*model.state_dict()], fg.ones(4, 2), []
    want = model(x).tolist()
    assert model.compile(check=2) is None  # type: ignore[func-returns-value]
    handle = model.register_forward_hook(lambda module, given, result: seen.append(1))
    for _ in range(3):
        assert model(x).tolist() == want
    handle.remove()
    assert len(seen) == 3
    assert len(model.forward.programs) == 1  # type: ignore[attr-defined]
    assert [*model.state_dict()] == names
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other(x).tolist() == want
        other[0].weight.data.mul_(2.0)
        assert other(x).tolist() != want
    outer = fg.compile(fg.nn.Sequential(model, fg.nn.Linear(3, 1)))
    for _ in range(2):
        assert outer(x).tolist() == outer.__wrapped__(x).tolist()
    model.compile()
    assert model.forward.programs == ()  # type: ignore[attr-defined]
    assert model(x).tolist() == want
