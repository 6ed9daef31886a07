"""What a compiled function makes and drops in each call: leaves, modules, optimisers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg


def slope(x: Any, _: Any) -> Any:
    x = (x * 1.0).requires_grad_()
    (x**2).sum().backward()
    return x.grad


def descent(x: Any, _: Any) -> Any:
    w = x.clone().requires_grad_()
    for _ in range(3):
        ((w[1:] - w[:-1] ** 2) ** 2).sum().backward()
        w = (w.detach() - 0.1 * w.grad).requires_grad_()
    return w.detach()


def penalised(x: Any, weight: Any) -> Any:
    """Its result has a history, which reaches the leaf."""
    point = (x * 0.5).detach().requires_grad_()
    (weight.detach() * point**3).sum().backward()
    return (weight * x * point.grad).sum()


def module(x: Any, _: Any) -> Any:
    inner = fg.nn.Linear(4, 1)
    inner.count = 1
    return inner(x).sum().detach()


def trained(x: Any, _: Any) -> Any:
    inner = fg.nn.Sequential(fg.nn.Linear(4, 1), fg.nn.Tanh())
    optimizer = fg.optim.Adam(inner.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        inner(x).sum().backward()
        optimizer.step()
    return inner[0].weight.detach()


MADE = [slope, descent, penalised, module, trained]


@pytest.mark.parametrize("f", MADE, ids=lambda f: f.__name__)
def test_what_is_made_inside_is_made_by_every_call(f: Callable[..., Any]) -> None:
    compiled = fg.compile(f)
    given = np.random.default_rng(0).standard_normal((6, 3, 4))
    for x in given:
        found = []
        for run in (f, compiled):
            fg.manual_seed(3)
            weight = fg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=f is penalised)
            result = run(fg.tensor(x), weight)
            if f is penalised:
                result.backward()
                found.append(weight.grad.tolist())
            found.append(result.tolist())
        assert found[: len(found) // 2] == found[len(found) // 2 :]
    assert len(compiled.programs) == 1, compiled.log
    assert len(compiled.log) == 1


def test_a_leaf_that_somebody_keeps_has_its_gradient() -> None:
    leaf = fg.tensor([2.0, 3.0], requires_grad=True)

    def f(x: Any) -> Any:
        inner = (x * 2.0).requires_grad_()
        (inner * leaf).sum().backward()
        return inner.grad

    compiled = fg.compile(f)
    for n in range(1, 5):
        assert compiled(fg.ones(2)).tolist() == [2.0, 3.0]
        assert leaf.grad.tolist() == [2.0 * n] * 2
