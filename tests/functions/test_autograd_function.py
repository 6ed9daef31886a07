"""`fg.functors.AutogradFunction`: `run`, `register_op`, functors of one's own, and deep graphs."""

import gc
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Tensor, functors as F  # noqa: N812

RNG = np.random.default_rng(1)


def leaf(*shape: int, dtype: Any = np.float64) -> Tensor:
    return fg.tensor(RNG.standard_normal(shape).astype(dtype), requires_grad=True)


def check(function: Any, *inputs: Tensor) -> None:
    fg.gradcheck(function, inputs, atol=1e-6)
    fg.gradgradcheck(function, inputs, atol=1e-6)


# --- the base class ----------------------------------------------------------------------------


class Square(F.AutogradFunction):
    @staticmethod
    def build_forward(x: Tensor, name: str | None = None) -> Tensor:
        return Square.run([x], {"power": 2}, lambda: x * x, name=name)

    @staticmethod
    def build_backward(op: F.Op) -> list[Tensor]:
        return [2 * op.inputs[0] * op.grad_outputs[0]]


def test_a_functor_of_ones_own() -> None:
    x = leaf(3)
    y = Square()(x, name="y")
    assert (y.name, y.grad_fn.name(), y.grad_fn.attrs) == ("y", "SquareBackward", {"power": 2})
    check(lambda x: Square()(x), x)


def test_run_shows_the_whole_operation() -> None:
    seen: list[F.Op] = []
    x, y = leaf(2), leaf(2)

    def backward(op: F.Op) -> list[Any]:
        seen.append(op)
        return [op.grad_outputs[0] * op.inputs[1], None]

    z = F.AutogradFunction.run([x, y], "attributes", lambda: x * y, backward, name="z")
    z.backward(fg.tensor([1.0, 2.0]))
    (op,) = seen
    assert (op.name, op.attrs) == ("AutogradFunction", "attributes")
    assert [t.tolist() for t in op.inputs] == [x.tolist(), y.tolist()]
    assert op.outputs[0].tolist() == z.tolist()
    assert op.grad_outputs[0].tolist() == [1.0, 2.0]
    assert op.needs_input_grad == (True, True)
    assert y.grad is None
    assert "AutogradFunction" in repr(op)
    del op
    seen.clear()


def test_run_records_only_when_recording_and_needed() -> None:
    plain = fg.ones(2)
    out = F.AutogradFunction.run([plain], None, lambda: plain * 2, lambda op: [None])
    assert not out.requires_grad
    x = leaf(2)
    with fg.no_grad():
        out = F.AutogradFunction.run([x], None, lambda: x * 2, lambda op: [None])
    assert not out.requires_grad
    assert out.is_leaf


def test_run_is_not_recorded_inside() -> None:
    x = leaf(2)
    before = fg.live_nodes()
    out = F.AutogradFunction.run([x], None, lambda: ((x * 2) * 3) + 1, lambda op: op.grad_outputs)
    assert fg.live_nodes() - before == 2
    assert out.requires_grad


def test_run_works_under_no_grad_for_its_own_backward() -> None:
    x = leaf(2)
    out = F.AutogradFunction.run([x], None, lambda: x, lambda op: [op.grad_outputs[0] * 5])
    assert out is not x
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [5.0, 5.0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None, None, lambda: 1, lambda op: []), TypeError, "inputs must not be null"),
        (([None], None, lambda: 1, lambda op: []), TypeError, "entry 0 is None"),
        (([1.0], None, lambda: 1, lambda op: []), TypeError, "entry 0 of inputs is a float"),
        (([fg.ones(1)], None, None, lambda op: []), TypeError, "forward_fn is a NoneType"),
        (([fg.ones(1)], None, lambda: fg.ones(1), None), TypeError, "backward_fn is a NoneType"),
        (
            ([fg.ones(1)], None, lambda: None, lambda op: []),
            RuntimeError,
            "^Forward pass returned null",
        ),
    ],
)
def test_run_refuses_what_it_cannot_run(
    arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        F.AutogradFunction.run(*arguments)


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (None, RuntimeError, "^Backward pass returned null"),
        ([fg.ones(3), None], ValueError, "^Gradient at index 0 has shape .* but expected"),
        ([fg.ones(2)], ValueError, "^Expected 2 gradients but got 1"),
    ],
)
def test_gradients_are_validated(returned: Any, error: type[Exception], message: str) -> None:
    x, y = leaf(2), leaf(2)
    out = F.AutogradFunction.run([x, y], None, lambda: x * y, lambda op: returned)
    with pytest.raises(error, match=message):
        out.sum().backward()
    assert x.grad is None


def test_a_functor_without_build_forward_says_so() -> None:
    class Empty(F.AutogradFunction):
        pass

    with pytest.raises(TypeError, match="Empty: the functor has no build_forward"):
        Empty()()
    assert repr(Empty()) == "Empty()"


def test_any_input_requires_grad() -> None:
    test = F.AutogradFunction.any_input_requires_grad
    assert test([fg.ones(1), leaf(1)])
    assert not test([fg.ones(1), None])
    assert not test([])


# --- register_op -------------------------------------------------------------------------------


def test_register_op_makes_an_existing_tensor_a_result() -> None:
    x = leaf(2)
    with fg.no_grad():
        y = x * x
    known = y
    Square.register_op([x], y, {"power": 2}, name="y")
    assert y is known
    assert (y.requires_grad, y.is_leaf, y.name) == (True, False, "y")
    assert (y.grad_fn.name(), y.grad_fn.attrs) == ("SquareBackward", {"power": 2})
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy())


def test_register_op_with_several_outputs_runs_backward_once() -> None:
    x, calls = leaf(4), []
    with fg.no_grad():
        a, b = x[:2] * 1, x[2:] * 1

    def backward(op: F.Op) -> list[Tensor]:
        calls.append(op.grad_outputs)
        return [fg.concatenate(list(op.grad_outputs))]

    F.AutogradFunction.register_op([x], [a, b], None, backward)
    (2 * a).sum().backward()
    assert len(calls) == 1
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0, 0.0, 0.0]
    calls.clear()


def test_register_op_is_differentiable_twice() -> None:
    def function(x: Tensor) -> Tensor:
        with fg.no_grad():
            y = x**3
        F.AutogradFunction.register_op(
            [x], y, None, lambda op: [3 * op.inputs[0] ** 2 * op.grad_outputs[0]]
        )
        return y

    check(function, leaf(3))


def test_register_op_leaves_outputs_alone_when_nothing_is_recorded() -> None:
    x = leaf(2)
    with fg.no_grad():
        y = x * 2
        F.AutogradFunction.register_op([x], y, None, lambda op: [None])
    assert not y.requires_grad
    y = fg.ones(2)
    F.AutogradFunction.register_op([fg.ones(2)], y, None, lambda op: [None])
    assert not y.requires_grad
    labels = fg.tensor([1, 2])
    F.AutogradFunction.register_op([x], labels, None, lambda op: [None])
    assert not labels.requires_grad


def test_register_op_checks_the_number_of_gradients() -> None:
    x = leaf(2)
    with fg.no_grad():
        y = x * 2
    F.AutogradFunction.register_op([x], y, None, lambda op: [])
    with pytest.raises(ValueError, match="Expected 1 gradients but got 0"):
        y.sum().backward()


def test_a_cycle_names_both_ends() -> None:
    x = leaf(2)
    y = fg.tensor([1.0, 2.0], requires_grad=True, name="y")
    message = '"Square" to its input 1 would close a cycle, because input 1 depends on "output 0'
    with pytest.raises(fg.errors.CycleError, match=message):
        Square.register_op([x, y], y)
    later = (y * 2).exp()
    with pytest.raises(fg.errors.CycleError, match=message + r" \(y\)"):
        Square.register_op([x, later], y)
    middle = y * 2
    with pytest.raises(fg.errors.CycleError, match="close a cycle"):
        Square.register_op([middle.exp()], middle)
    assert y.is_leaf
    assert x.grad is None


def test_register_op_refuses_outputs_that_have_a_place() -> None:
    x, y = leaf(2), leaf(2)
    with pytest.raises(fg.errors.GradientError, match="is a leaf that requires grad"):
        Square.register_op([x], y)
    z = y * 2
    with pytest.raises(fg.errors.GradientError, match="comes from <MultiplyBackward>"):
        Square.register_op([x], z)
    with pytest.raises(TypeError, match="outputs must not be null"):
        Square.register_op([x], None)


# --- deep graphs -------------------------------------------------------------------------------


def test_a_graph_of_300_000_functors_runs_and_drops() -> None:
    x = fg.tensor([1.0], requires_grad=True)
    one = fg.tensor([1e-9])
    y = x
    for _ in range(300_000):
        y = F.add(1.0, y, 1.0, one)
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 1.0
    z = x
    for _ in range(100_000):
        z = F.add(1.0, z, 1.0, one)
    del y, z
    gc.collect()


@pytest.mark.slow
def test_a_graph_of_300_000_calls_of_run_runs_and_drops() -> None:
    x = fg.tensor([1.0], requires_grad=True)
    y = x
    for _ in range(300_000):
        y = F.AutogradFunction.run([y], None, lambda y=y: y, lambda op: op.grad_outputs)
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 1.0
