"""Custom functions and hooks in compiled functions: captured, or called again by every call.

Other foreign steps are in `test_compile_foreign.py`.
"""

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import scipy.special

import ferrograd as fg
from ferrograd.errors import CompileError
from test_compile import Cube, draw, replays, same_bits


class Bessel(fg.Function):
    """Its forward and its backward are SciPy's."""

    @staticmethod
    def forward(ctx: Any, x: Any, order: int = 0) -> Any:
        ctx.save_for_backward(x)
        ctx.order = order
        return fg.tensor(scipy.special.jv(order, x.numpy()))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * scipy.special.jvp(ctx.order, x.numpy()), None


class ReadsForward(fg.Function):
    """Only its forward looks at values, and hands one to its backward."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.scale = float(x.max())
        return x * ctx.scale

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.scale


class ReadsBackward(fg.Function):
    """Only its backward looks at values."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.half = x / 2.0
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return fg.tensor(np.asarray(g) * 2.0 * x.numpy() + 0.0 * ctx.half.numpy())


class Several(fg.Function):
    """Several outputs, one without a derivative, and nested arguments."""

    @staticmethod
    def forward(ctx: Any, pair: Any, k: int, *, w: Any) -> Any:
        a, b = (np.asarray(x) for x in pair)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(pair[0], w)
        order = fg.tensor(np.argsort(a))
        ctx.mark_non_differentiable(order)
        return fg.tensor(a * b), {"w": w * k, "order": order}, None

    @staticmethod
    def backward(ctx: Any, first: Any, rest: Any, nothing: Any) -> Any:
        a, w = ctx.saved_tensors
        seen = (first is None, rest["w"] is None, ctx.needs_input_grad)
        assert seen[1] is False
        assert float(w[0]) > -1e9
        return (None, None if first is None else first * a), None, rest["w"] * 2.0


class Once(fg.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return fg.tensor(np.sin(x.numpy()))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    @fg.autograd.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        assert np.array_equal(np.sin(x.numpy()), y.numpy())
        return g * np.cos(x.numpy())


class Power(fg.CustomFunction):
    """An instance with a parameter."""

    def __init__(self, n: int) -> None:
        self.n = n

    def forward(self, inputs: Any, ctx: Any) -> Any:
        ctx.save_for_backward(inputs[0])
        return [fg.tensor(np.power(inputs[0].numpy(), self.n))]

    def backward(self, grad_outputs: Any, ctx: Any) -> Any:
        (x,) = ctx.saved_tensors
        return [grad_outputs[0] * self.n * np.power(x.numpy(), self.n - 1)]


def several(x: Any) -> Any:
    _, rest, nothing = Several.apply((x, x * 2.0), 3, w=x + 1.0)
    assert nothing is None
    return (rest["w"] * rest["order"]).sum()


def twice(x: Any) -> Any:
    y = Bessel.apply(x, 1)
    return (Bessel.apply(y * x) * ReadsForward.apply(y)).sum()


READING = {
    "both": lambda x: Bessel.apply(x * 2.0).sum(),
    "with an option": lambda x: Bessel.apply(x, 2).sum() * x.sum(),
    "twice": twice,
    "forward": lambda x: ReadsForward.apply(x * x).sum(),
    "backward": lambda x: (ReadsBackward.apply(x * 3.0) * x).sum(),
    "several": several,
    "once": lambda x: Once.apply(x * 2.0).sum(),
    "instance": lambda x: (Power(3)(x * 2.0) * Power(2).apply(x)).sum(),
    "of an argument itself": lambda x: Bessel.apply(x).sum(),
    "the same argument twice": lambda x: AddReading.apply(x, x).sum(),
}


class AddReading(fg.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x.numpy() + 2.0 * y.numpy()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, g * 2.0


@pytest.mark.parametrize("name", READING)
@pytest.mark.parametrize("transform", ["value", "grad", "value_and_grad"])
def test_functions_that_look_at_values_are_called_again(name: str, transform: str) -> None:
    f = READING[name]
    g = {"value": f, "grad": fg.grad(f), "value_and_grad": fg.value_and_grad(f)}[transform]
    compiled = replays(g, *((fg.tensor(draw(4, seed=s)),) for s in range(4)))
    if (name, transform) == ("backward", "value"):
        return  # nothing has looked at values yet
    names = [step[0] for step in compiled.programs[0].steps()]
    assert any(n.split()[0] in globals() for n in names)


def test_jacobians_pull_several_times() -> None:
    replays(
        fg.jacobian(lambda x: Bessel.apply(x * 2.0) * x),
        *((fg.tensor(draw(3, seed=s)),) for s in range(3)),
    )


@pytest.mark.parametrize("name", READING)
def test_calls_that_are_nodes(name: str) -> None:
    w = fg.tensor(1.5, requires_grad=True)

    def f(x: Any) -> Any:
        return READING[name](x * w)

    compiled = fg.compile(f)
    for seed in range(3):
        found = []
        for run in (f, compiled):
            x = fg.tensor(draw(4, seed=seed), requires_grad=True)
            y = run(x)
            again = fg.autograd.grad(y, [x, w], retain_graph=True)
            found.append([y.detach(), *again, *fg.autograd.grad(y, [x, w])])
        same_bits(found[1], found[0])
    assert len(compiled.programs) == 1


def test_a_forward_runs_once_at_each_call() -> None:
    calls: list[str] = []

    class Counted(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            calls.append("forward")
            return fg.tensor(x.numpy() * 2.0)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            calls.append("backward")
            return fg.tensor(g.numpy() * 2.0)

    f = fg.compile(fg.grad(lambda x: Counted.apply(x).sum()))
    for _ in range(3):
        f(np.ones(2))
    assert calls == ["forward", "backward"] * 3


def test_training_through_such_a_function() -> None:
    def train(run: Any) -> list[Any]:
        w = fg.tensor([0.5, 1.5], requires_grad=True)
        optimizer = fg.optim.SGD([w], lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = (Bessel.apply(x * w) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        f = run(step)
        return [*(f(fg.tensor(draw(2, seed=s))) for s in range(6)), w.detach(), w.grad]

    same_bits(train(fg.compile), train(lambda f: f))


def test_functions_of_tensor_operations_are_captured() -> None:
    f = fg.compile(fg.hessian(lambda x: (Cube.apply(x) * x[0]).sum()))
    for seed in range(3):
        x = fg.tensor(draw(3, seed=seed))
        same_bits(f(x), f.__wrapped__(x))
    assert not any("Cube" in step[0] for step in f.programs[0].steps())


def test_in_place_functions_of_tensor_operations() -> None:
    class Double(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2.0)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.0

    replays(
        fg.grad(lambda x: (Double.apply(x * 1.0) * x).sum()),
        *((fg.tensor(draw(3, seed=s)),) for s in range(3)),
    )


def test_errors_of_forward_and_backward_pass() -> None:
    class Strict(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            if x.numpy()[0] > 1:
                raise KeyError("forward")
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if g.numpy()[0] > 1:
                raise KeyError("backward")
            return g

    f = fg.compile(fg.grad(lambda x, k: (Strict.apply(x) * k).sum()))
    for _ in range(2):
        f(np.ones(2), np.ones(2))
        with pytest.raises(KeyError, match="forward"):
            f(np.ones(2) * 2, np.ones(2))
        with pytest.raises(KeyError, match="backward"):
            f(np.ones(2), np.ones(2) * 2)


def use_of_a_class_of_its_own() -> list[Any]:
    class Own(fg.Function):
        holder: Any = None

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return fg.tensor(np.sin(x.numpy()))

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * np.cos(x.numpy())

    f = fg.compile(fg.grad(lambda x: Own.apply(x).sum()))
    Own.holder = f
    for seed in range(3):
        f(draw(100, seed=seed))
    x = fg.ones(3, requires_grad=True)
    node = fg.compile(lambda x: Own.apply(x).sum())
    node(x).backward()
    return [weakref.ref(each) for each in (f, node, Own)]


def test_they_die_with_their_program() -> None:
    gc.collect()
    before = fg.live_nodes(), fg.live_bytes()
    gone = use_of_a_class_of_its_own()
    gc.collect()
    assert [each() for each in gone] == [None, None, None]
    assert (fg.live_nodes(), fg.live_bytes()) == before


def test_hooks() -> None:
    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        y = x * 2.0
        y.register_hook(lambda g: g * 3.0 + x.detach())
        return fg.autograd.grad((y * y).sum(), x)[0]

    replays(f, *((fg.tensor(draw(4, seed=s)),) for s in range(3)))

    def reading(x: Any) -> Any:
        x = x.detach().requires_grad_()
        y = x * 2.0
        y.register_hook(lambda g: print(g))
        return fg.autograd.grad((y * y).sum(), x)[0]

    with pytest.raises(CompileError, match=r"fg\.where") as caught:
        fg.compile(reading)(fg.ones(2))
    assert any("hook" in note for note in caught.value.__notes__)
