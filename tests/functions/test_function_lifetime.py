"""`fg.Function`: errors, re-entry, and what must not leak.

Invariant: after each test the graph holds as many nodes as before.
"""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Function, Tensor
from function_support import Cube, Exp, function, leaf

grad = fg.autograd.grad


class TestErrors:
    def test_a_function_cannot_be_instantiated(self) -> None:
        with pytest.raises(TypeError, match=r"Cube cannot be instantiated.*Cube\.apply"):
            Cube()

    def test_no_forward(self) -> None:
        class Empty(Function):
            pass

        with pytest.raises(NotImplementedError, match="Empty: the class has no forward"):
            Empty.apply(1)

    def test_no_backward_is_refused_when_it_would_be_recorded(self) -> None:
        class Half(Function):
            @staticmethod
            def forward(ctx: Any, x: Tensor) -> Tensor:
                return x * 2

        assert Half.apply(fg.tensor(1.0)).item() == 2.0
        with pytest.raises(NotImplementedError, match="Half: the class has no backward"):
            Half.apply(leaf(1.0))

    def test_vjp_is_another_name_of_backward(self) -> None:
        class Named(Function):
            @staticmethod
            def forward(ctx: Any, x: Tensor) -> Tensor:
                return x * 2

            @staticmethod
            def vjp(ctx: Any, g: Tensor) -> Tensor:
                return g * 2

        x = leaf(1.0)
        Named.apply(x).backward()
        assert x.grad.tolist() == [2.0]
        Named.backward = Named.vjp
        Named.forward = staticmethod(lambda ctx, x: x)
        with pytest.raises(RuntimeError, match="both backward and vjp"):
            Named.apply(x)

    def test_exceptions_pass_with_a_note_and_the_graph_stays_usable(self) -> None:
        fail = True

        def backward(ctx: Any, g: Tensor) -> Tensor:
            if fail:
                raise KeyError("mine")
            (x,) = ctx.saved_tensors
            return g * 2 * x

        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * x

        x, w = leaf(3.0), leaf(1.0)
        y = function(forward, backward, "Bad").apply(x) + w
        with pytest.raises(KeyError, match="mine") as caught:
            y.backward()
        assert "raised in the backward of Bad" in caught.value.__notes__
        caught.value.__traceback__ = None
        assert x.grad is None
        assert w.grad is None
        fail = False
        y.backward()
        assert (x.grad.tolist(), w.grad.tolist()) == ([6.0], [1.0])

    def test_a_saved_value_changed_in_place(self) -> None:
        x = leaf(2.0, 3.0)
        y = x * 1
        z = Cube.apply(y).sum()
        y += 1.0
        z.backward(retain_graph=True)
        assert x.grad.tolist() == [12.0, 27.0]
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            y += 1.0
        with pytest.raises(RuntimeError, match='a value saved by "Cube" was changed in place'):
            z.backward()

    def test_grad_mode_is_restored_when_forward_raises(self) -> None:
        with pytest.raises(ZeroDivisionError):
            function(lambda ctx, x: 1 / 0, None).apply(leaf(1.0))
        assert fg.is_grad_enabled()

    def test_forward_may_be_replaced(self) -> None:
        f = function(lambda ctx, x: x * 2, lambda ctx, g: g)
        assert f.apply(fg.tensor(1.0)).item() == 2.0
        f.forward = staticmethod(lambda ctx, x: x * 3)
        assert f.apply(fg.tensor(1.0)).item() == 3.0

    def test_a_subclass_has_its_own_form(self) -> None:
        assert Cube.apply(fg.tensor(1.0)).item() == 1.0

        class Double(Cube):
            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

            @staticmethod
            def forward(x: Tensor, scale: float = 1.0) -> Tensor:
                return 2 * x

        assert Double.apply(fg.tensor(1.0)).item() == 2.0
        assert Cube.apply(fg.tensor(3.0)).item() == 27.0


def test_backward_may_run_a_backward_of_its_own() -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return fg.sin(x)

    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        with fg.enable_grad():
            again = x.detach().requires_grad_()
            (inner,) = grad(fg.sin(again), again)
        return g * inner

    x = fg.tensor(0.5, requires_grad=True)
    function(forward, backward).apply(x).backward()
    assert x.grad.item() == pytest.approx(np.cos(0.5), rel=1e-15)


def test_two_passes_lend_their_own_values() -> None:
    x = fg.tensor(2.0, requires_grad=True)
    y = Cube.apply(x)
    (a,) = grad(y, x, retain_graph=True)
    (b,) = grad(y, x, create_graph=True)
    (c,) = grad(b, x, retain_graph=True)
    (d,) = grad(y, x)
    assert (a.item(), b.item(), c.item(), d.item()) == (12.0, 12.0, 12.0, 12.0)


def test_a_deep_chain_runs_and_drops() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = Exp.apply(y * 0)
    y.backward()
    z = x
    for _ in range(20_000):
        z = Cube.apply(z)
    del z


class Canary:
    """An object whose death can be watched."""


def keep_output_attribute(ctx: Any, y: Tensor) -> None:
    ctx.y = y


def keep_view_attribute(ctx: Any, y: Tensor) -> None:
    ctx.y = y.reshape(-1)


def keep_saved_view(ctx: Any, y: Tensor) -> None:
    ctx.save_for_backward(y.reshape(-1))


def keep_saved_output(ctx: Any, y: Tensor) -> None:
    ctx.save_for_backward(y)


def keep_context(ctx: Any, y: Tensor) -> None:
    ctx.itself = ctx


def keep_in_a_list(ctx: Any, y: Tensor) -> None:
    ctx.parts = [y]


def keep_as_an_object(ctx: Any, y: Tensor) -> None:
    ctx.save_object("y", y)


PATTERNS = [
    keep_output_attribute,
    keep_view_attribute,
    keep_saved_view,
    keep_saved_output,
    keep_in_a_list,
    keep_as_an_object,
]


@pytest.mark.parametrize("keep", PATTERNS)
@pytest.mark.parametrize("run", ["dropped", "backward", "create_graph"])
def test_no_pattern_leaks(keep: Any, run: str) -> None:
    """Freed by reference counts alone: the collector is off."""

    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.canary = canary
        y = x * 2
        keep(ctx, y)
        return y

    f = function(forward, lambda ctx, g: 2 * g)
    canary: Any = Canary()
    watch = weakref.ref(canary)
    gc.collect()
    gc.disable()
    try:
        x = fg.tensor([1.0, 2.0], requires_grad=True)
        before = fg.live_nodes()
        y = f.apply(x)
        if run == "backward":
            y.sum().backward()
        elif run == "create_graph":
            (g,) = grad(y.sum(), x, create_graph=True)
            del g
        del y
        assert fg.live_nodes() <= before + 1, "only the leaf's accumulator may live"
        canary = None
        assert watch() is None
    finally:
        gc.enable()


def test_a_context_that_holds_itself_is_collected() -> None:
    f = function(lambda ctx, x: keep_context(ctx, x) or x * 2, lambda ctx, g: 2 * g)
    x = leaf(1.0)
    f.apply(x)
    gc.collect()
    assert fg.live_nodes() <= 1 or x is not None


def test_a_result_that_its_own_context_holds_is_collected() -> None:
    """The one cycle a user can close by hand: the attached output, put back into the context."""
    kept = []

    def forward(ctx: Any, x: Tensor) -> Tensor:
        kept.append(ctx)
        return x * 2

    x = leaf(1.0)
    before = fg.live_nodes()
    y = function(forward, lambda ctx, g: 2 * g).apply(x)
    kept.pop().result = y
    del y
    gc.collect()
    assert fg.live_nodes() <= before + 1


def test_classes_die() -> None:
    watches = []
    for _ in range(20):
        f = function(lambda ctx, x: x * 2, lambda ctx, g: 2 * g)
        f.apply(leaf(1.0)).backward()
        watches.append(weakref.ref(f))
        del f
    gc.collect()
    assert not any(watch() for watch in watches)


def test_gradcheck_to_second_order() -> None:
    x = fg.tensor([0.3, -0.7, 1.2], requires_grad=True)
    assert fg.gradcheck(lambda t: Cube.apply(t, 2.0), (x,))
    assert fg.gradgradcheck(lambda t: Cube.apply(t, 2.0), (x,))
    assert fg.gradgradcheck(Exp.apply, (x,))


def test_a_class_that_was_called_can_be_collected() -> None:
    def use() -> Any:
        class Once(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                return g * 2 if Once else g

        Once.apply(fg.tensor(1.0, requires_grad=True)).backward()
        return weakref.ref(Once)

    gone = use()
    gc.collect()
    assert gone() is None
