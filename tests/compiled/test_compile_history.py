"""Compiled functions whose results have a history: one node, with a program for each direction."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import CompileError, FerrogradError
from test_compile import Cube

rng = np.random.default_rng(3)


def leaf(*shape: int, dtype: Any = np.float64) -> Any:
    return fg.tensor(rng.standard_normal(shape).astype(dtype), requires_grad=True)


def bits(x: Any) -> bytes:
    return (
        b"none"
        if x is None
        else np.asarray(x.detach() if isinstance(x, fg.Tensor) else x).tobytes()
    )


def several(x: fg.Tensor, w: fg.Tensor) -> tuple[fg.Tensor, fg.Tensor]:
    hidden = fg.tanh(x @ w)
    return hidden.sum(axis=0), fg.exp(hidden).mean()


FUNCTIONS: dict[str, Callable[[fg.Tensor, fg.Tensor], Any]] = {
    "product": lambda x, w: x @ w,
    "network": lambda x, w: fg.logsumexp(fg.relu(x @ w) @ w.T, axis=1),
    "several": several,
    "dict": lambda x, w: {"sum": (x @ w).sum(), "first": x[0] * 2.0},
    "one argument unused": lambda x, w: fg.sort(x, axis=1) * 3.0,
    "a result is an argument": lambda x, w: (x, (x @ w).sum()),
    "a result twice": lambda x, w: [y := x @ w, y],
    "an index": lambda x, w: (fg.max(x @ w, axis=0), fg.argmax(x @ w, axis=0)),
    "in place": lambda x, w: (x * 1.0).mul_(w.sum()).add_(x),
    "norm": lambda x, w: fg.linalg.norm(x @ w, axis=1),
    "solve": lambda x, w: fg.linalg.solve(x.T @ x + fg.eye(4), w),
    "no history": lambda x, w: (x @ w).detach(),
}


def tensors(tree: Any) -> list[fg.Tensor]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [tree] if isinstance(tree, fg.Tensor) else list(tree)


def gradients(results: Any, inputs: list[fg.Tensor]) -> list[Any]:
    outputs = [y for y in tensors(results) if y.requires_grad]
    if not outputs:
        return []
    weights = [
        fg.tensor(np.cos(np.arange(y.numel())).reshape(y.shape), dtype=y.dtype) for y in outputs
    ]
    return list(fg.autograd.grad(outputs, inputs, weights, allow_unused=True))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_have_the_bits_of_eager(name: str, dtype: Any) -> None:
    f = FUNCTIONS[name]
    compiled = fg.compile(f)
    for _ in range(3):
        x, w = leaf(5, 4, dtype=dtype), leaf(4, 3, dtype=dtype)
        found, expected = compiled(x, w), f(x, w)
        got, want = gradients(found, [x, w]), gradients(expected, [x, w])
        assert [bits(y) for y in tensors(found)] == [bits(y) for y in tensors(expected)]
        assert [y.requires_grad for y in tensors(found)] == [
            y.requires_grad for y in tensors(expected)
        ]
        assert [bits(g) for g in got] == [bits(g) for g in want]
    assert len(compiled.programs) == 1


def test_a_call_is_one_node() -> None:
    f = fg.compile(lambda x: fg.sin(fg.exp(x * x)) + 1.0)
    x = leaf(3)
    y = f(x)
    assert y.grad_fn.name() == "CompiledBackward"
    assert len(y.grad_fn.next_functions) == 1


def test_only_what_requires_grad_gets_one() -> None:
    f = fg.compile(lambda x, w: (x * w).sum())
    x, w = fg.tensor([1.0, 2.0]), leaf(2)
    for _ in range(2):
        w.grad = None
        f(x, w).backward()
        assert x.grad is None
        assert w.grad.tolist() == [1.0, 2.0]
    with fg.no_grad():
        assert not f(x, w).requires_grad


def test_gradients_reach_what_the_function_closes_over() -> None:
    model = fg.nn.Sequential(fg.nn.Linear(4, 8), fg.nn.Tanh(), fg.nn.Linear(8, 1))
    compiled = fg.compile(model)
    optimizer = fg.optim.SGD(model.parameters(), lr=0.1)
    data = rng.standard_normal((6, 4))
    for _ in range(4):
        found = []
        for function in (compiled, model):
            optimizer.zero_grad()
            loss = (function(fg.tensor(data)) ** 2).mean()
            loss.backward()
            found.append([bits(loss), *(bits(p.grad) for p in model.parameters())])
        assert found[0] == found[1]
        optimizer.step()
    assert len(compiled.programs) == 1


@pytest.mark.parametrize(
    "transform", [fg.grad, fg.value_and_grad, fg.jacobian, fg.hessian], ids=lambda t: t.__name__
)
def test_transforms_of_compiled_functions(transform: Any) -> None:
    def f(x: Any) -> Any:
        return (x**3 * fg.sin(x)).sum()

    compiled = fg.compile(f)
    for _ in range(3):
        x = rng.standard_normal(4)
        found, expected = transform(compiled)(x), transform(f)(x)
        both = (found, expected) if isinstance(found, tuple) else ((found,), (expected,))
        for got, want in zip(*both, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-14)


def test_higher_derivatives() -> None:
    def f(x: Any) -> Any:
        return fg.exp(x) * x * x

    third = fg.grad(fg.grad(fg.grad(f)))
    compiled = fg.grad(fg.grad(fg.grad(fg.compile(f))))
    for value in (0.5, -1.25):
        assert compiled(value) == pytest.approx(third(value), rel=1e-14)
    x = leaf(3)
    y = fg.compile(f)(x).sum()
    (first,) = fg.autograd.grad(y, x, create_graph=True)
    (second,) = fg.autograd.grad(first.sum(), x)
    expected = np.exp(x.detach().numpy()) * (x.detach().numpy() ** 2 + 4 * x.detach().numpy() + 2)
    np.testing.assert_allclose(second.numpy(), expected, rtol=1e-13)


def test_two_arguments_of_which_one_is_made_of_the_other() -> None:
    def f(x: fg.Tensor, z: fg.Tensor) -> fg.Tensor:
        return (x * z).sum()

    compiled = fg.compile(f)
    for function in (f, compiled, compiled):
        x = fg.tensor([1.0, 2.0], requires_grad=True)
        (slope,) = fg.autograd.grad(function(x, x * x), x, create_graph=True)
        assert slope.tolist() == [3.0, 12.0]
        (curve,) = fg.autograd.grad(slope.sum(), x)
        assert curve.tolist() == [6.0, 12.0]


def test_a_result_without_a_gradient_takes_no_part() -> None:
    def f(x: fg.Tensor) -> tuple[fg.Tensor, fg.Tensor]:
        return x * 2.0, fg.log(x * 0.0)

    compiled = fg.compile(f)
    for _ in range(2):
        x = leaf(3)
        first, _ = compiled(x)
        first.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_saved_value_survives_a_change() -> None:
    f = fg.compile(lambda x, y: x * y * x)
    for _ in range(3):
        x, y = leaf(3), fg.ones(3)
        z = f(x, y)
        y.mul_(2.0)
        (slope,) = fg.autograd.grad(z.sum(), x, create_graph=True)
        np.testing.assert_array_equal(slope.detach().numpy(), 2 * x.detach().numpy())
        y.fill_(9.0)
        (curve,) = fg.autograd.grad(slope.sum(), x)
        assert curve.tolist() == [2.0, 2.0, 2.0]


def test_a_saved_value_that_was_changed_is_found_where_that_is_refused() -> None:
    f = fg.compile(lambda x, y: x * y)
    for _ in range(2):
        x, y = leaf(3), fg.ones(3)
        z = f(x, y)
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            y.mul_(2.0)
        with pytest.raises(FerrogradError, match=r"in-place|in place|changed"):
            z.sum().backward()


def test_a_result_may_be_changed_in_place() -> None:
    f = fg.compile(lambda x: fg.exp(x))
    for _ in range(2):
        x = leaf(3)
        y = f(x)
        y.mul_(3.0)
        y.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), 3.0 * fg.exp(x.detach()).numpy())


def test_backward_twice() -> None:
    f = fg.compile(lambda x: fg.sin(x).sum())
    for _ in range(2):
        x = leaf(3)
        y = f(x)
        y.backward(retain_graph=True)
        once = bits(x.grad)
        x.grad = None
        y.backward()
        assert bits(x.grad) == once
        with pytest.raises(FerrogradError):
            y.backward()


def test_running_statistics_are_updated_once_per_call() -> None:
    state = [fg.zeros(3) for _ in range(2)]

    def update(memory: fg.Tensor) -> Callable[[fg.Tensor], fg.Tensor]:
        def f(x: fg.Tensor) -> fg.Tensor:
            with fg.no_grad():
                memory.mul_(0.9).add_(x.mean(axis=0))
            return x * memory

        return f

    eager, compiled = update(state[0]), fg.compile(update(state[1]))
    for _ in range(3):
        x = leaf(5, 3)
        assert bits(eager(x)) == bits(compiled(x))
        assert bits(state[0]) == bits(state[1])


def test_what_runs_eagerly_says_so() -> None:
    w = leaf(3)
    history = w * 2.0
    closed = fg.compile(lambda x: (x * history).sum(), name="f")
    x = leaf(3)
    closed(x).backward()
    assert w.grad is not None
    assert "closes over a tensor with a history" in closed.explain(x)
    w.register_hook(lambda g: g * 2.0)
    hooked = fg.compile(lambda x: (x * w).sum(), name="f")
    w.grad = None
    hooked(x).backward()
    np.testing.assert_array_equal(w.grad.numpy(), 2.0 * x.detach().numpy())
    assert "a leaf that has hooks" in hooked.explain(x)
    setting = fg.compile(lambda x: (x.sum().backward(), x * 1.0)[1], name="f")
    assert setting(x).requires_grad
    assert "sets gradients of leaves" in setting.explain(x)


def test_closing_over_the_variable_of_a_transform_runs_eagerly() -> None:
    for value in (2.0, 3.0):

        def outer(w: Any) -> Any:
            return (inner(fg.ones(2), w)).sum()

        assert fg.grad(outer)(value) == 2.0
    holder: dict[str, Any] = {}
    product = fg.compile(lambda x: x * holder["w"])

    def loss(w: Any) -> Any:
        holder["w"] = w
        return product(fg.ones(2)).sum() * w

    assert fg.grad(loss)(2.0) == 8.0
    assert fg.grad(loss)(5.0) == 20.0


@fg.compile
def inner(x: Any, w: Any) -> Any:
    return x * w


def test_nothing_is_left_behind() -> None:
    class Owner:
        def __init__(self) -> None:
            self.last: Any = None
            self.step = fg.compile(self.compute)

        def compute(self, x: Any) -> Any:
            return fg.sin(x * x)

    gc.collect()
    before = fg.live_nodes()
    owner = Owner()
    for _ in range(3):
        owner.last = owner.step(leaf(4))
    del owner
    gc.collect()
    assert fg.live_nodes() == before


def test_a_failed_recording_leaves_no_trace() -> None:
    memory = fg.zeros(2)

    def f(x: fg.Tensor) -> fg.Tensor:
        memory.add_(1.0)
        if x.sum() > 0:
            return x
        return x * 2.0

    with pytest.raises(CompileError):
        fg.compile(f)(leaf(2))
    assert memory.tolist() == [0.0, 0.0]


def test_values_that_decide() -> None:
    """Where an operation decides otherwise than at the recording, both directions do."""
    compiled = fg.compile(lambda x: fg.max(x * 2.0, axis=1))
    for nan in (False, True, False):
        data = rng.standard_normal((3, 4))
        data[0, 0] = np.nan if nan else 1.0
        found, expected = fg.tensor(data, requires_grad=True), fg.tensor(data, requires_grad=True)
        compiled(found).sum().backward()
        fg.max(expected * 2.0, axis=1).sum().backward()
        assert bits(found.grad) == bits(expected.grad)


def test_functions_of_ones_own_inside() -> None:
    compiled = fg.compile(lambda x: Cube.apply(fg.sin(x)).sum())
    for _ in range(3):
        x = leaf(3)
        compiled(x).backward()
        y = x.detach().clone().requires_grad_()
        Cube.apply(fg.sin(y)).sum().backward()
        assert bits(x.grad) == bits(y.grad)


def test_arrays_in_and_a_closed_over_parameter() -> None:
    """A transform of arrays gives arrays; a function of arrays gives what it computed."""
    w = leaf(3)

    def loss(x: Any) -> Any:
        return (w * x * x).sum()

    compiled, plain = fg.compile(fg.value_and_grad(loss)), fg.value_and_grad(loss)
    function = fg.compile(loss)
    for _ in range(4):
        x = rng.standard_normal(3)
        found, expected = compiled(x), plain(x)
        assert [type(part) for part in found] == [type(part) for part in expected]
        assert [bits(part) for part in found] == [bits(part) for part in expected]
        value = function(x)
        assert value.requires_grad
        (slope,) = fg.autograd.grad(value, w)
        assert bits(slope) == bits(x * x)
    assert len(compiled.programs) == len(function.programs) == 1


def test_a_second_run_never_repeats_a_change_outside() -> None:
    memory = fg.zeros(2)

    def f(x: Any) -> Any:
        with fg.no_grad():
            memory.add_(1.0)
        return x * 2.0, x * 3.0

    compiled = fg.compile(f)
    for k in (1.0, 2.0):
        x = leaf(2)
        first, _ = compiled(x)
        first.sum().backward(retain_graph=True)
        assert x.grad is not None
        assert x.grad.tolist() == [2.0, 2.0]
        with pytest.raises(FerrogradError, match="changes memory outside"):
            first.sum().backward(create_graph=True)
        assert memory.tolist() == [k, k]


def test_numbers_of_the_forward_pass_stay_those_of_the_backward_pass() -> None:
    scale = fg.tensor(2.0)
    compiled = fg.compile(lambda x: (x * x * scale.item()).sum())
    x = fg.ones(2, requires_grad=True)
    y = compiled(x)
    scale.fill_(5.0)
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 4.0]
