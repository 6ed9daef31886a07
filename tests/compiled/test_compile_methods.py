"""Compiled methods: every object has programs of its own."""

import dataclasses
import gc
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import CompileError


class Net(fg.nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.inner = fg.nn.Linear(2, 2)
        self.scale = scale

    @fg.compile
    def forward(self, x: Any, *, shift: float = 0.0) -> Any:
        return fg.tanh(self.inner(x)) * self.scale + shift

    @fg.compile(static_argnums=(1, -1))
    def power(self, n: int, x: Any, m: int) -> Any:
        """To the n."""
        assert type(n) is int
        assert type(m) is int
        return x**n * self.scale * m

    @classmethod
    @fg.compile
    def doubled(cls, x: Any) -> Any:
        return x * 2.0

    @staticmethod
    @fg.compile
    def tripled(x: Any) -> Any:
        return x * 3.0


def by_hand(net: Net, x: Any, shift: float) -> Any:
    return fg.tanh(net.inner(x)) * net.scale + shift


def test_every_object_has_programs_of_its_own() -> None:
    Net.forward.clear()
    nets = [Net(1.0), Net(2.0)]
    for n in range(4):
        x = fg.full((3, 2), float(n))
        for net in nets:
            assert net(x, shift=n / 2).tolist() == by_hand(net, x, n / 2).tolist()
            assert net.forward(x).tolist() == by_hand(net, x, 0.0).tolist()
    assert [len(net.forward.programs) for net in nets] == [2, 2]
    assert len(Net.forward.programs) == 4
    assert nets[0].forward.log[0] == "it was called for the first time"
    assert len(Net.forward.log) == 4
    assert nets[0].forward.explain(x).startswith("forward: ")
    nets[0].scale = 5.0
    assert nets[0](x).tolist() == by_hand(nets[0], x, 0.0).tolist()
    Net.forward.clear()
    assert nets[1].forward.programs == ()


def test_programs_die_with_the_object() -> None:
    Net.forward.clear()
    for n in range(5):
        net = Net(float(n))
        net(fg.ones(1, 2))
    assert len(Net.forward.programs) == 1
    assert Net(3.0).forward(fg.ones(1, 2)).shape == (1, 2)
    del net
    gc.collect()
    assert Net.forward.programs == ()


def test_numbers_of_static_arguments_count_the_object() -> None:
    net = Net(2.0)
    for n in (1, 2, 1):
        assert net.power(n, fg.full(1, 3.0), 5).item() == 10.0 * 3.0**n
    assert len(net.power.programs) == 2
    assert (net.power.__name__, net.power.__doc__) == ("power", "To the n.")
    x = fg.ones(2)
    for _ in range(2):
        assert (Net.doubled(x) + net.doubled(x) + Net.tripled(x) + net.tripled(x)).sum() == 20.0
    assert Net.power(net, 2, x, 1).tolist() == [2.0, 2.0]


def test_gradients_reach_the_members() -> None:
    net, x = Net(2.0), fg.ones(1, 2)
    for n in range(1, 4):
        net(x).sum().backward()
        want = fg.autograd.grad(by_hand(net, x, 0.0).sum(), [net.inner.bias])[0]
        np.testing.assert_allclose(net.inner.bias.grad, n * want.numpy())
    y = net(x.requires_grad_()).sum()
    (slope,) = fg.autograd.grad(y, [x], create_graph=True)
    slope.sum().backward()
    y = net(x).sum()
    del net
    gc.collect()
    with pytest.raises(CompileError, match="the object of the method forward is gone; keep it"):
        fg.autograd.grad(y, [x], create_graph=True)


@dataclasses.dataclass
class Held:
    weight: Any

    @fg.compile
    def times(self, x: Any) -> Any:
        return x * self.weight


class Named:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.factor == other.factor

    def __hash__(self) -> int:
        return hash(self.factor)

    @fg.compile
    def times(self, x: Any) -> Any:
        return x * self.factor


class Slotted:
    __slots__ = ("factor",)

    def __init__(self, factor: float) -> None:
        self.factor = factor

    @fg.compile
    def times(self, x: Any) -> Any:
        return x * self.factor


def test_objects_that_are_compared_by_what_they_hold_are_arguments() -> None:
    held = Held(np.ones(2))
    for n in range(3):
        held.weight = np.full(2, float(n))
        assert held.times(np.ones(2)).tolist() == [float(n)] * 2
    assert len(Held.times.programs) == 1
    for n in (0, 1, 2, 1, 2):
        assert Named(float(n)).times(np.ones(2)).tolist() == [float(n)] * 2
    assert len(Named.times.programs) == 3
    for n in range(3):
        assert Slotted(float(n)).times(np.ones(2)).tolist() == [float(n)] * 2
