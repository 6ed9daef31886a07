"""Document 002: `fg.BackwardPass` and `fg.GradientComputer` as faces of the one engine."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import BackwardPass, GradientComputer, Graph, Tensor


def leaf(*values: float) -> Tensor:
    return fg.tensor(list(values), requires_grad=True)


def scalar(value: float) -> Tensor:
    return fg.tensor(value, requires_grad=True)


def grad_of(x: Tensor) -> Any:
    assert x.grad is not None
    return x.grad.tolist()


# --- run ---------------------------------------------------------------------------------------


def test_run_starts_with_one() -> None:
    x = scalar(2.0)
    BackwardPass().run((x + 1) ** 2)
    assert grad_of(x) == 6.0


def test_run_with_an_initial_gradient() -> None:
    x, y = scalar(2.0), leaf(1.0, 2.0)
    BackwardPass().run(x * 3.0, 2.0)
    assert grad_of(x) == 6.0
    BackwardPass().run(y * y, np.array([1.0, -1.0]))
    assert grad_of(y) == [2.0, -4.0]


def test_run_of_more_elements_needs_a_gradient_of_their_shape() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="Gradient must be provided for non-scalar tensors"):
        BackwardPass().run(x * 2)
    with pytest.raises(ValueError, match=r"the gradient has shape \(3,\)"):
        BackwardPass().run(x * 2, fg.ones(3))
    assert x.grad is None


def test_retain_graph() -> None:
    x = scalar(3.0)
    y = x * x
    backward = BackwardPass(retain_graph=True)
    backward.run(y)
    backward.run(y)
    assert grad_of(x) == 12.0
    backward.retain_graph = False
    backward.run(y)
    with pytest.raises(fg.errors.GraphFreedError, match="retain_graph=True"):
        backward.run(y)
    assert grad_of(x) == 18.0


def test_run_from_an_intermediate_tensor() -> None:
    x = scalar(2.0)
    y = x * 3.0
    _ = y.exp()
    BackwardPass().run(y)
    assert grad_of(x) == 3.0


def test_a_pass_of_a_graph_takes_its_tensors_only() -> None:
    x = scalar(2.0)
    with Graph() as graph:
        y = x * x
    other = x * 3.0
    backward = BackwardPass(graph)
    assert backward.graph is graph
    assert backward.retain_graph is False
    with pytest.raises(fg.errors.GradientError, match="the loss is no tensor of the graph"):
        backward.run(other)
    assert x.grad is None
    backward.run(y)
    assert grad_of(x) == 4.0
    assert repr(backward) == "BackwardPass(graph=<Graph of 1 operations>, retain_graph=False)"


def test_a_pass_of_the_graph_of_a_tensor() -> None:
    x = scalar(2.0)
    y = x * x
    z = y * 2
    backward = BackwardPass(Graph.of(z))
    backward.run(y)
    assert grad_of(x) == 4.0
    with pytest.raises(fg.errors.GradientError, match="not in the computational graph"):
        backward.run(x.exp())


@pytest.mark.parametrize("loss", [None, 1.0, np.ones(1)])
def test_run_refuses_what_is_no_tensor(loss: Any) -> None:
    with pytest.raises(TypeError, match="the loss is a"):
        BackwardPass().run(loss)


def test_run_refuses_what_was_not_recorded() -> None:
    with pytest.raises(RuntimeError, match="Tensor is not in the computational graph or graph is"):
        BackwardPass().run(fg.ones(1))
    x = scalar(1.0)
    with fg.no_grad():
        y = x * 2
    with pytest.raises(RuntimeError, match="graph is disabled"):
        BackwardPass().run(y)


def test_a_graph_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="graph is a dict"):
        BackwardPass({})


# --- run_from_node -----------------------------------------------------------------------------


def test_run_from_a_node() -> None:
    x = scalar(2.0)
    y = x * x
    BackwardPass(retain_graph=True).run_from_node(y.grad_fn)
    assert grad_of(x) == 4.0
    BackwardPass().run_from_node(y.grad_fn, 3.0)
    assert grad_of(x) == 16.0


def test_run_from_an_operation_of_a_graph() -> None:
    x = leaf(1.0, 2.0)
    with Graph() as graph:
        y = x * x
        z = y.sum()
    BackwardPass(graph).run_from_node(graph.ops[0], np.array([1.0, 10.0]))
    assert grad_of(x) == [2.0, 40.0]
    assert z.item() == 5.0


class Split(fg.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        return x[:1] * 1, x[1:] * 1

    @staticmethod
    def backward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        return fg.concatenate([a, b * 10])


def test_run_from_a_node_with_several_outputs() -> None:
    x = leaf(1.0, 2.0)
    a, _b = Split.apply(x)
    backward = BackwardPass(retain_graph=True)
    backward.run_from_node(a.grad_fn, [fg.ones(1), fg.ones(1)])
    assert grad_of(x) == [1.0, 10.0]
    backward.run_from_node(a.grad_fn, [None, fg.tensor([2.0])])
    assert grad_of(x) == [1.0, 30.0]
    backward.run_from_node(a.grad_fn, [None, None])
    assert grad_of(x) == [1.0, 30.0]
    with pytest.raises(ValueError, match="has 2 outputs; pass a sequence"):
        backward.run_from_node(a.grad_fn, fg.ones(1))
    with pytest.raises(ValueError, match="1 gradients for the 2 outputs"):
        backward.run_from_node(a.grad_fn, [fg.ones(1)])


def test_run_from_the_node_of_a_leaf() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    BackwardPass().run_from_node(accumulator, np.array([1.0, 2.0]))
    assert grad_of(x) == [1.0, 2.0]


def test_run_from_node_checks_the_gradient() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    with pytest.raises(fg.errors.GradientError, match=r"the output of .* is \(2,\); pass gradient"):
        BackwardPass().run_from_node(y.grad_fn)
    with pytest.raises(ValueError, match=r"output 0 has shape \(3,\) but the output has shape"):
        BackwardPass().run_from_node(y.grad_fn, fg.ones(3))
    node = (y + 1).sum().grad_fn.next_functions[0][0]
    with pytest.raises(fg.errors.GradientError, match="is not known; pass gradient="):
        BackwardPass().run_from_node(node)
    assert x.grad is None


def test_run_from_node_takes_numbers_and_other_dtypes() -> None:
    x = fg.tensor(2.0, dtype=np.float32, requires_grad=True)
    y = x * x
    BackwardPass(retain_graph=True).run_from_node(y.grad_fn, fg.tensor(1))
    BackwardPass().run_from_node(y.grad_fn, fg.tensor(1.0))
    assert grad_of(x) == 8.0
    assert x.grad.dtype == np.float32


def test_run_from_node_refuses_foreign_gone_and_unrecorded_nodes() -> None:
    x = scalar(1.0)
    with Graph() as graph:
        x.exp()
        with fg.no_grad():
            x.sin()
    backward = BackwardPass(graph)
    with pytest.raises(fg.errors.GradientError, match="the operation exp was freed"):
        backward.run_from_node(graph.ops[0])
    with pytest.raises(fg.errors.GradientError, match="the operation sin was not recorded"):
        backward.run_from_node(graph.ops[1])
    other = x.cos()
    with pytest.raises(fg.errors.GradientError, match="is no node of the graph of this pass"):
        backward.run_from_node(other.grad_fn)
    with pytest.raises(TypeError, match="the node is a Tensor"):
        backward.run_from_node(other)


# --- GradientComputer --------------------------------------------------------------------------


def test_compute_gradient_is_one_operation() -> None:
    x = scalar(3.0)
    y = x * 2.0
    z = y.exp()
    g = GradientComputer.compute_gradient(1.0, y, z.grad_fn)
    assert g.item() == pytest.approx(np.exp(6.0))
    assert x.grad is None
    z.backward()
    assert grad_of(x) == pytest.approx(2 * np.exp(6.0)), "nothing was freed"


def test_compute_gradient_sums_what_is_used_twice() -> None:
    x = scalar(3.0)
    y = x * x
    assert GradientComputer.compute_gradient(2.0, x, y.grad_fn).item() == 12.0
    parts = GradientComputer.compute_gradients(2.0, [x, x], y.grad_fn)
    assert [p.item() for p in parts] == [6.0, 6.0]


def test_compute_gradients_of_several_inputs() -> None:
    x, y, c = leaf(1.0, 2.0), leaf(3.0, 4.0), fg.ones(2)
    z = x / y
    a, b = GradientComputer.compute_gradients(fg.tensor([1.0, 10.0]), [x, y], z.grad_fn)
    np.testing.assert_allclose(a.numpy(), [1 / 3, 10 / 4])
    np.testing.assert_allclose(b.numpy(), [-1 / 9, -10 * 2 / 16])
    w = x * c
    assert GradientComputer.compute_gradient(fg.ones(2), c, w.grad_fn) is None


def test_compute_gradients_of_several_outputs() -> None:
    x = leaf(1.0, 2.0)
    a, _ = Split.apply(x)
    (g,) = GradientComputer.compute_gradients([None, fg.ones(1)], [x], a.grad_fn)
    assert g.tolist() == [0.0, 10.0]


def test_compute_gradient_is_recorded_when_its_gradient_is() -> None:
    x, g = scalar(3.0), scalar(1.0)
    y = x * x
    first = GradientComputer.compute_gradient(g, x, y.grad_fn)
    (second,) = fg.autograd.grad(first, [x])
    assert second.item() == 2.0


def test_compute_gradient_refuses_what_does_not_belong() -> None:
    x, other = leaf(1.0, 2.0), leaf(1.0, 2.0)
    y = x * 2
    with pytest.raises(fg.errors.GradientError, match="is no input of <MultiplyBackward>"):
        GradientComputer.compute_gradient(fg.ones(2), other, y.grad_fn)
    with pytest.raises(TypeError, match="the context is a Tensor"):
        GradientComputer.compute_gradient(fg.ones(2), x, y)
    with pytest.raises(TypeError, match="an input is a float"):
        GradientComputer.compute_gradients(fg.ones(2), [1.0], y.grad_fn)
    with pytest.raises(ValueError, match=r"has shape \(3,\)"):
        GradientComputer.compute_gradient(fg.ones(3), x, y.grad_fn)


def test_compute_gradient_after_the_graph_was_freed() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    node = y.grad_fn
    y.sum().backward()
    with pytest.raises(fg.errors.GraphFreedError):
        GradientComputer.compute_gradient(fg.ones(2), x, node)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numerical_gradient(dtype: Any) -> None:
    x = fg.tensor(np.array([[0.5, -1.0], [2.0, 0.0]]), dtype=dtype)
    before = x.tolist()
    g = GradientComputer.numerical_gradient(lambda t: (t * t * t).sum(), x)
    want = 3 * np.array(before) ** 2
    np.testing.assert_allclose(g.numpy(), want, atol=1e-6)
    assert (g.dtype, g.shape, x.tolist()) == (np.dtype(dtype), (2, 2), before)


def test_numerical_gradient_of_an_array_is_an_array() -> None:
    x = np.array([1.0, 2.0], dtype=np.float32)
    g = GradientComputer.numerical_gradient(lambda v: np.sum(v**2), x)
    assert type(g) is np.ndarray
    assert g.dtype == np.float32
    np.testing.assert_allclose(g, 2 * x, rtol=1e-6)


def test_numerical_gradient_of_python_numbers_and_bad_functions() -> None:
    assert GradientComputer.numerical_gradient(
        lambda t: float((t * t).item()), fg.tensor(3.0)
    ).item() == pytest.approx(6.0)
    with pytest.raises(ValueError, match=r"gives \(2,\); reduce it"):
        GradientComputer.numerical_gradient(lambda t: t, fg.ones(2))
    with pytest.raises(ValueError, match="epsilon is 0"):
        GradientComputer.numerical_gradient(lambda t: t, fg.ones(1), 0.0)


def test_analytic_and_numerical_gradients_agree() -> None:
    x = leaf(0.3, -0.7, 1.1)

    def f(t: Tensor) -> Tensor:
        return (fg.tanh(t) * fg.exp(t)).sum()

    BackwardPass().run(f(x))
    numeric = GradientComputer.numerical_gradient(f, x)
    np.testing.assert_allclose(x.grad.numpy(), numeric.numpy(), atol=1e-6)
