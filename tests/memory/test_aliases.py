"""A write through NumPy to memory that an operation took or gave never changes a derivative.

The whole sweep: `python -m hostile.aliases`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from hostile import aliases
from hostile.aliases import Cube, product


def half() -> tuple[fg.Tensor, np.ndarray]:
    """A leaf, and a writable array of its memory."""
    x = fg.tensor([0.5, 1.5], requires_grad=True)
    return x, np.asarray(x.detach())


KEEPERS: dict[str, Callable[[fg.Tensor], fg.Tensor]] = {
    "Function": lambda x: Cube.apply(x, fg.ones(2)),
    "primitive": lambda x: product(x, 1.5 * x.detach().clone()),
    "checkpoint": fg.checkpoint(lambda x: x**3),
    "checkpoint of a list": lambda x: fg.autograd.checkpoint(lambda xs: xs[0] ** 3, [x]),
    "checkpoint of a Function": fg.checkpoint(lambda x: Cube.apply(x, fg.ones(2))),
    "i0": fg.numpy.i0,
    "jv": lambda x: fg.scipy.special.jv(1.5, x),
}


@pytest.mark.parametrize("name", KEEPERS)
def test_a_leaf_that_is_kept_keeps_its_elements(name: str) -> None:
    x, array = half()
    z = fg.tensor(array, requires_grad=True)
    expected = fg.autograd.grad(KEEPERS[name](z).sum(), [z], create_graph=True)[0]
    again = fg.autograd.grad(expected.sum(), [z])[0].numpy()
    first = fg.autograd.grad(KEEPERS[name](x).sum(), [x], create_graph=True)[0]
    array[:] = 3.0
    assert x.tolist() == [3.0, 3.0]
    np.testing.assert_array_equal(fg.autograd.grad(first.sum(), [x])[0], again)
    x, array = half()
    y = KEEPERS[name](x).sum()
    array[:] = 3.0
    y.backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad, expected.detach())


@pytest.mark.parametrize("call", [product, fg.scipy.special.betainc], ids=["user", "scipy"])
def test_arrays_among_the_arguments_of_a_primitive_are_kept(call: Any) -> None:
    x, c = fg.tensor([0.25, 0.5], requires_grad=True), np.array([2.0, 4.0])
    args = (c, c, x) if call is not product else (x, c)
    expected = fg.autograd.grad(call(*args).sum(), [x])[0].tolist()
    y = call(*args).sum()
    c[:] = 100.0
    assert fg.autograd.grad(y, [x])[0].tolist() == expected


def test_arguments_of_a_checkpoint_are_kept() -> None:
    x, c, w = fg.tensor([1.0, 2.0], requires_grad=True), np.array([3.0, 4.0]), fg.ones(2)
    run = fg.checkpoint(lambda x, parts, *, w: x * x * parts["c"] * w)
    y = run(x, {"c": c}, w=w).sum()
    c[:], w[:] = 100.0, 100.0
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6.0, 16.0]


def test_solve_ivp_computes_its_steps_again_with_what_it_saw() -> None:
    rate = np.array([1.0, 2.0])
    y0 = fg.tensor([1.0, 1.0], requires_grad=True)
    found = []
    for write in (False, True):
        a = fg.from_numpy(rate.copy())
        solved = fg.scipy.integrate.solve_ivp(
            lambda t, y, a: -a * y * y, (0.0, 0.3), y0, args=(a,), checkpoint=True
        )
        if write:
            a.numpy(writable=True)[:] = 50.0
        found.append(fg.autograd.grad(solved.y.sum(), [y0])[0].tolist())
    assert found[0] == found[1]


def test_hooks_that_keep_the_tensor_itself_give_its_elements() -> None:
    w = fg.tensor([1.0, 2.0], requires_grad=True)
    with fg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        u = w * 1.0
        y = (u * u).sum()
    u += 5.0
    y.backward()
    assert w.grad is not None
    assert w.grad.tolist() == [2.0, 4.0]


def test_a_leaf_is_restored_as_itself_unless_its_memory_is_shared() -> None:
    seen = []

    class Seen(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
            seen.extend(ctx.saved_tensors)
            return 2 * g

    plain = fg.tensor([1.0, 2.0], requires_grad=True)
    Seen.apply(plain).sum().backward()
    x, array = half()
    Seen.apply(x).sum().backward()
    assert seen[0] is plain
    assert seen[1] is not x
    assert seen[1].requires_grad
    assert not np.shares_memory(seen[1].detach().numpy(), array)


@pytest.mark.parametrize(("of", "every"), [("keepers", 31), ("operations", 1499)])
def test_a_part_of_the_sweep(of: str, every: int) -> None:
    found = aliases.sweep(getattr(aliases, of)(), every)
    assert found.wrong == []
    assert found.held > 100


def test_the_sweep_sees_a_write() -> None:
    def careless(x: fg.Tensor) -> fg.Tensor:
        class Careless(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                ctx.kept = np.asarray(x.detach())
                return x * x

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                return 2 * g * ctx.kept

        return Careless.apply(x)

    found = aliases.sweep([aliases.Keeper("careless", careless, (np.ones(3),), 1)])
    assert found.wrong
