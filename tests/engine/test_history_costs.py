"""What an operation, a pass or a hook costs does not grow with history that it does not need.

What is counted is how many nodes the engine looked at, so no clock decides.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd._core import _discovered_nodes
from ferrograd.autograd import functional, graph

Program = Callable[[fg.Tensor], object]


def after(depth: int) -> fg.Tensor:
    """A tensor with this many operations behind it."""
    x = fg.tensor([0.5, 1.5, 2.5], requires_grad=True)
    for _ in range(depth):
        x = x * 0.999
    return x


def looked_at(program: Program, depth: int) -> int:
    x = after(depth)
    before = _discovered_nodes()
    program(x)
    return _discovered_nodes() - before


def cube(x: fg.Tensor) -> fg.Tensor:
    return (x * x * x).sum()


def is_grads_batched(x: fg.Tensor) -> Any:
    return fg.autograd.grad(x * x, x, fg.ones((4, 3)), is_grads_batched=True)


def retained_hooks(x: fg.Tensor) -> None:
    x.retain_grad()
    handle = x.register_hook(lambda g: g * 2)
    y = x * x
    node_hooks = [y.grad_fn.register_hook(lambda i, o: None), y.grad_fn.register_prehook(print)]
    node_hooks[1].remove()
    y.sum().backward(inputs=[x])
    handle.remove()
    node_hooks[0].remove()
    assert x.grad.tolist() == pytest.approx((4 * x.detach().numpy()).tolist())


def several_gradients_hook(x: fg.Tensor) -> None:
    y, z = x * 2, x * 3
    seen: list[Any] = []
    with graph.register_multi_grad_hook([y, z], seen.append):
        (y * z).sum().backward(inputs=[x])
    assert len(seen) == 1


def parallel(x: fg.Tensor) -> None:
    wide = fg.ones((3, 200)) * x.reshape(3, 1)
    parts = [(wide.T @ wide).exp().sum() for _ in range(6)]
    fg.autograd.grad(sum(parts), x)


def changed_in_place(x: fg.Tensor) -> None:
    y = x * 1.0
    y[0] = 4.0
    y += 1.0
    y.T.mul_(2.0)
    fg.autograd.grad((y * y).sum(), x)


def inspected(x: fg.Tensor) -> None:
    y = x * x
    assert y.grad_fn.next_functions[0][0] is x.grad_fn
    assert y.grad_fn.name() == "MultiplyBackward"
    assert y.grad_fn.saved["input0"].tolist() == x.tolist()
    edge = graph.get_gradient_edge(x)
    assert edge.node is x.grad_fn
    repr(y), y.is_leaf, y.detach(), y.requires_grad, y._version
    fg.autograd.grad(y.sum(), edge)


def own_function(x: fg.Tensor) -> None:
    class Square(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
            (x,) = ctx.saved_tensors
            return 2 * g * x

    fg.autograd.grad(Square.apply(x).sum(), x)
    fg.grad(lambda t: (Square.apply(t) * x).sum())(np.ones(3))
    fg.grad(lambda s: fg.grad(lambda t: (Square.apply(t) * s).sum())(fg.ones(3)).sum())(x)


PROGRAMS: dict[str, Program] = {
    "grad": lambda x: fg.autograd.grad(cube(x), x),
    "grad of itself": lambda x: fg.autograd.grad(x.sum(), x),
    "grad, recorded": lambda x: fg.autograd.grad(cube(x), x, create_graph=True),
    "grad, twice": lambda x: fg.autograd.grad(
        fg.autograd.grad(cube(x), x, create_graph=True)[0].sum(), x
    ),
    "grad, unused": lambda x: fg.autograd.grad(
        cube(x), [x, fg.ones(3, requires_grad=True)], allow_unused=True
    ),
    "is_grads_batched": is_grads_batched,
    "backward(inputs)": lambda x: cube(x).backward(inputs=[x]),
    "backward(inputs), in parallel": parallel,
    "hooks": retained_hooks,
    "hook on several gradients": several_gradients_hook,
    "in place": changed_in_place,
    "inspection": inspected,
    "Function": own_function,
    "checkpoint": lambda x: fg.autograd.grad(fg.autograd.checkpoint(cube, x), x),
    "anomaly": lambda x: fg.autograd.detect_anomaly()(
        lambda: fg.autograd.grad(cube(x), x),
    )(),
    "functional.jacobian": lambda x: functional.jacobian(lambda t: t * t, x),
    "functional.hessian": lambda x: functional.hessian(cube, x),
    "functional.vjp": lambda x: functional.vjp(cube, x),
    "functional.jvp": lambda x: functional.jvp(cube, x, fg.ones(3)),
    "functional.hvp": lambda x: functional.hvp(cube, x, fg.ones(3)),
    "functional.vhp": lambda x: functional.vhp(cube, x, fg.ones(3)),
    "functional, recorded": lambda x: functional.jacobian(lambda t: t * t, x, create_graph=True),
    "functional, strict": lambda x: functional.jacobian(lambda t: t * t, x, strict=True),
    "fg.grad": lambda x: fg.grad(cube)(x),
    "fg.grad, closing over": lambda x: fg.grad(lambda t: (t * x).sum())(fg.ones(3)),
    "fg.grad of an array, closing over": lambda x: fg.grad(lambda t: (t * x).sum())(np.ones(3)),
    "fg.grad of a container": lambda x: fg.grad(lambda d: (d["a"] * x).sum())({"a": fg.ones(3)}),
    "fg.grad, nested": lambda x: fg.grad(lambda t: fg.grad(cube)(t).sum())(x),
    "fg.value_and_grad": lambda x: fg.value_and_grad(cube)(x),
    "fg.elementwise_grad": lambda x: fg.elementwise_grad(lambda t: t * t)(x),
    "fg.jacobian": lambda x: fg.jacobian(lambda t: t * t)(x),
    "fg.hessian": lambda x: fg.hessian(cube)(x),
    "fg.vjp": lambda x: fg.vjp(cube, x)[1](fg.tensor(1.0)),
    "fg.make_jvp": lambda x: fg.make_jvp(lambda t: t * x)(fg.ones(3))(fg.ones(3)),
    "fg.hvp": lambda x: fg.hvp(cube)(x, fg.ones(3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_history_below_is_not_looked_at(name: str) -> None:
    program = PROGRAMS[name]
    assert looked_at(program, 500) == looked_at(program, 250)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_counter_counts(name: str) -> None:
    assert looked_at(PROGRAMS[name], 10) >= 1


def test_a_loop_of_nested_derivatives_is_linear() -> None:
    def steps(count: int) -> int:
        x = fg.ones(1, requires_grad=True)
        before = _discovered_nodes()
        for _ in range(count):
            (slope,) = fg.autograd.grad((x * x).sum(), x, create_graph=True)
            x = x - 0.01 * slope
        return _discovered_nodes() - before

    assert steps(80) == 2 * steps(40)


def test_the_number_of_rows_in_a_pass_depends_on_what_runs() -> None:
    def passes(depth: int) -> int:
        x = after(depth)
        calls = []

        class Identity(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                return x * 1

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                calls.append(tuple(g.shape))
                return g

        fg.autograd.grad(Identity.apply(x), x, fg.ones((64, 3)), is_grads_batched=True)
        return len(calls)

    assert passes(20_000) == passes(2)


class TestWhatTheShortcutMustNotChange:
    def test_targets_of_different_age(self) -> None:
        w = fg.tensor([2.0], requires_grad=True)
        h = w * 3
        x = h * h
        late = fg.tensor([5.0], requires_grad=True)
        y = (x * late * w).sum()
        found = fg.autograd.grad(y, [late, x, h, w])
        assert [g.tolist() for g in found] == [[72.0], [10.0], [120.0], [540.0]]

    def test_a_target_made_after_the_output_is_unused(self) -> None:
        w = fg.tensor([2.0], requires_grad=True)
        y = (w * w).sum()
        late = w * 1
        assert fg.autograd.grad(y, late, allow_unused=True, retain_graph=True) == (None,)
        with pytest.raises(fg.errors.GradientError, match="input 0"):
            fg.autograd.grad(y, late)

    def test_two_outputs_of_one_node(self) -> None:
        x = after(5)
        a, b = fg.split(x * 1, 3)[:2]
        found = fg.autograd.grad((a * b).sum(), [a, b])
        assert [g.tolist() for g in found] == [b.tolist(), a.tolist()]

    def test_an_output_older_than_every_target(self) -> None:
        w = fg.tensor([2.0], requires_grad=True)
        y = w * 3
        x = w * 5
        gy, gx = fg.autograd.grad(
            [y.sum(), (x * x).sum()], [y.detach().requires_grad_(), x], allow_unused=True
        )
        assert gy is None
        assert gx.tolist() == [20.0]

    def test_a_freed_history_below_is_no_matter_and_above_is_one(self) -> None:
        w = fg.tensor([2.0], requires_grad=True)
        x = w * w
        x.sum().backward()
        y = (x * x).sum()
        assert fg.autograd.grad(y, x, retain_graph=True)[0].tolist() == [8.0]
        with pytest.raises(fg.errors.GraphFreedError):
            fg.autograd.grad(y, w)

    def test_leaves_below_keep_their_gradients(self) -> None:
        w = fg.tensor([2.0], requires_grad=True)
        x = w * 3
        (x * x).sum().backward(inputs=[x])
        assert x.grad.tolist() == [12.0]
        assert w.grad is None
