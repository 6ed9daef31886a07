"""Document 001, line by line: one test for each entry of its checklist, named after it.

The regressions are faults of the document's own implementation that must not come back.
"""

import itertools
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Tensor, functors as F, nn  # noqa: N812
from ferrograd.functors import Op

RNG = np.random.default_rng(4)


def leaf(*shape: int) -> Tensor:
    return fg.tensor(RNG.standard_normal(shape), requires_grad=True)


def grad_of(x: Tensor) -> np.ndarray:
    assert x.grad is not None
    return x.grad.numpy()


def test_callable_equals_free_function() -> None:
    x, y = leaf(2, 2), leaf(2, 2)
    b = fg.tensor(RNG.standard_normal(2), requires_grad=True)
    pairs = [
        (F.Add()(1.0, x, 2.0, y, "z"), F.add(1.0, x, 2.0, y, "z")),
        (F.Gemm()(x, y, 2.0), F.gemm(x, y, 2.0)),
        (F.AddFiber()(1.0, b, 1.0, x, 1), F.add_fiber(1.0, b, 1.0, x, 1)),
        (F.Gelu()(x), F.gelu(x)),
        (F.SumFiber()(x, 1), F.sum_fiber(x, 1)),
    ]
    for called, free in pairs:
        np.testing.assert_array_equal(called.detach().numpy(), free.detach().numpy())
        assert called.grad_fn.name() == free.grad_fn.name()
        assert called.grad_fn.attrs == free.grad_fn.attrs


def test_a_producer_is_set_when_recording_and_not_under_no_grad() -> None:
    x = leaf(2)
    assert F.gelu(x).grad_fn is not None
    with fg.no_grad():
        assert F.gelu(x).grad_fn is None
    assert F.gelu(fg.ones(2)).grad_fn is None


def test_an_operation_is_always_listed() -> None:
    x = leaf(2)
    with fg.Graph() as graph, fg.no_grad():
        F.add(2.0, x, 3.0, x, "z")
    (op,) = graph.ops
    assert (op.name, op.attrs, op.recorded) == ("add", {"alpha": 2.0, "beta": 3.0}, False)


def test_the_guard_nests_and_restores_on_an_exception() -> None:
    x = leaf(2)
    with fg.no_grad():
        with fg.no_grad():
            pass
        assert not F.gelu(x).requires_grad
        with fg.enable_grad():
            assert F.gelu(x).requires_grad
    with pytest.raises(ValueError, match="axis"), fg.no_grad():
        F.sum_fiber(x, 5)
    assert F.gelu(x).requires_grad


def test_leaf_flags() -> None:
    x, c = leaf(2), fg.ones(2)
    y = F.add(1.0, x, 1.0, c)
    assert x.is_leaf
    assert c.is_leaf
    assert not y.is_leaf
    assert (x.requires_grad, c.requires_grad, y.requires_grad) == (True, False, True)


def test_add_alpha_2_beta_3_gives_gradients_2_and_3() -> None:
    x, y = leaf(2, 3), leaf(2, 3)
    F.add(2.0, x, 3.0, y).backward(fg.ones(2, 3))
    assert (grad_of(x) == 2).all()
    assert (grad_of(y) == 3).all()


def test_a_chain() -> None:
    x, y = leaf(3), leaf(3)
    z = F.add(2.0, F.add(3.0, x, 1.0, y), 5.0, y)
    z.sum().backward()
    assert (grad_of(x) == 6).all()
    assert (grad_of(y) == 7).all()


def test_diamond_dx_2_dy_3_dw_2() -> None:
    x, y = leaf(2), leaf(2)
    w = F.add(1.0, x, 1.0, y)
    w.retain_grad()
    v = F.add(1.0, w, 1.0, y)
    z = F.add(1.0, v, 1.0, w)
    z.sum().backward()
    assert (grad_of(x) == 2).all()
    assert (grad_of(y) == 3).all()
    assert (grad_of(w) == 2).all()


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("ndim", [1, 2])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize(("ta", "tb"), list(itertools.product([False, True], repeat=2)))
def test_gemm_all_transposes_ndim_batch_and_unequal_ranks_with_alpha_and_upstream(
    ta: bool, tb: bool, m: int, n: int, ndim: int, batch: int
) -> None:
    M, N, K, B = (2, 1)[:m], (1, 2)[:n], (3, 2)[:ndim], (2,)[:batch]
    a = leaf(*(K + M if ta else M + K), *B)
    b = leaf(*(N + K if tb else K + N), *B)
    c = F.gemm(a, b, 0.5, ta, tb, ndim, batch)
    assert c.shape == (*M, *N, *B)
    c.backward(-np.ones(c.shape))
    ra, rb = grad_of(a), grad_of(b)
    for x, got in ((a, ra), (b, rb)):

        def f(t: Tensor, x: Tensor = x) -> Tensor:
            left, right = (t if x is a else a), (t if x is b else b)
            return -F.gemm(left, right, 0.5, ta, tb, ndim, batch).sum()

        want = fg.GradientComputer.numerical_gradient(f, x).numpy()
        np.testing.assert_allclose(got, want, atol=1e-6)


def test_add_fiber_and_sum_fiber_shapes_and_batch() -> None:
    x = leaf(2, 3, 4, 5)
    assert F.sum_fiber(x, 0).shape == (2,)
    assert F.sum_fiber(x, 2).shape == (4,)
    assert F.sum_fiber(x, 1, 1).shape == (3, 5)
    assert F.sum_fiber(x, 1, 2).shape == (3, 4, 5)
    assert F.add_fiber(1.0, leaf(3, 5), 1.0, x, 1, 1).shape == x.shape
    with pytest.raises(fg.errors.ShapeError, match="0 <= axis < ndim - batch_ndim"):
        F.sum_fiber(x, 2, 2)


def test_linear_constructor_validations() -> None:
    for make in (
        lambda: nn.Linear(0, 1),
        lambda: nn.Linear(1, 0),
        lambda: nn.Linear(weight=leaf(3)),
        lambda: nn.Linear(2, 2, weight=leaf(3, 2)),
        lambda: nn.Linear(3, 2, bias=leaf(3)),
        lambda: nn.Linear(3, 2, bias=leaf(2, 1)),
    ):
        with pytest.raises(ValueError, match="Linear: "):
            make()


def test_linear_with_and_without_bias_and_n_d_input() -> None:
    for bias in (True, False):
        linear = nn.Linear(8, 4, bias, name="linear")
        assert len(list(linear.parameters())) == 1 + bias
        assert linear(fg.ones(2, 3, 8)).shape == (2, 3, 4)
        assert linear.build_forward(fg.ones(8)).shape == (4,)
        assert linear.name == "linear"


def test_mlp_children_and_parameters() -> None:
    mlp = nn.MLP(4, 16)
    assert [name for name, _ in mlp.named_children()] == ["fc1", "activation", "fc2"]
    assert [(n, p.shape) for n, p in mlp.named_parameters()] == [
        ("fc1.weight", (4, 16)),
        ("fc2.weight", (16, 4)),
    ]


class LinearManual(nn.Module):
    """The document's worked example."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = nn.Parameter(linear.weight.detach())
        self.bias = nn.Parameter(linear.bias.detach())

    def forward(self, x: Tensor) -> Tensor:
        def build(x: Tensor) -> Tensor:
            return F.add_fiber(1.0, self.bias, 1.0, F.gemm(x, self.weight), x.ndim - 1)

        return self.wrap_forward(x, build, lambda: [x, self.weight, self.bias], self.build_backward)

    @staticmethod
    def build_backward(op: Op) -> list[Tensor]:
        (x, weight, _), (g,) = op.inputs, op.grad_outputs
        rows = x.ndim - 1
        dx = F.gemm(g, weight, trans_b=True)
        dw = F.gemm(x, g, trans_a=True, ndim=rows) if rows == 1 else _contract(x, g)
        return [dx, dw, F.sum_fiber(g, rows)]


def _contract(x: Tensor, g: Tensor) -> Tensor:
    """`Σ x[…, i] g[…, o]` over all leading axes."""
    x, g = x.reshape(-1, x.shape[-1]), g.reshape(-1, g.shape[-1])
    return F.gemm(x, g, trans_a=True)


@pytest.mark.parametrize("shape", [(5, 3), (2, 4, 3)])
def test_custom_backward_module_is_one_node_and_equals_linear(shape: tuple[int, ...]) -> None:
    linear = nn.Linear(3, 2)
    manual = LinearManual(linear)
    x = leaf(*shape)
    before = fg.live_nodes()
    y = manual(x)
    assert fg.live_nodes() - before == 1 + 3
    g = RNG.standard_normal(y.shape)
    y.backward(g)
    first = grad_of(x).copy()
    x.grad = None
    linear(x).backward(g)
    np.testing.assert_allclose(first, grad_of(x), rtol=1e-12)
    np.testing.assert_allclose(grad_of(manual.weight), grad_of(linear.weight), rtol=1e-12)
    np.testing.assert_allclose(grad_of(manual.bias), grad_of(linear.bias), rtol=1e-12)


# --- regressions -------------------------------------------------------------------------------


def test_outputs_under_no_grad_do_not_look_like_parameters() -> None:
    x = leaf(2)
    with fg.no_grad():
        y = F.AutogradFunction.run([x], None, lambda: x * 2, lambda op: [None])
        z = F.add(1.0, x, 1.0, x)
    for out in (y, z):
        assert not out.requires_grad
        with pytest.raises(RuntimeError, match="Tensor is not in the computational graph"):
            out.sum().backward()


def test_wrap_forward_sets_no_producer_under_an_outer_guard_or_without_need() -> None:
    manual = LinearManual(nn.Linear(3, 2))
    with fg.no_grad():
        assert manual(leaf(2, 3)).grad_fn is None
    manual.requires_grad_(False)
    assert manual(fg.ones(2, 3)).grad_fn is None


def test_a_module_may_be_destroyed_before_backward() -> None:
    x = leaf(2, 3)
    y = LinearManual(nn.Linear(3, 2))(x)
    y.sum().backward()
    assert grad_of(x).shape == (2, 3)


def test_a_one_element_root_starts_from_one_and_others_need_a_gradient() -> None:
    x = leaf(1)
    F.add(2.0, x, 0.0, x).backward()
    assert grad_of(x).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="Gradient must be provided"):
        F.gelu(leaf(2)).backward()


@pytest.mark.parametrize(
    "loss",
    [
        lambda x: nn.MSELoss()(x, fg.zeros(2, 3)),
        lambda x: nn.MSELoss("sum")(x, fg.zeros(2, 3)),
        lambda x: nn.CrossEntropyLoss()(x, fg.tensor([0, 2])),
        lambda x: nn.CrossEntropyLoss(reduction="sum")(x, fg.tensor([0, 2])),
        lambda x: fg.functions.ClampedMSELoss(-0.5, 0.5)(x, fg.zeros(2, 3)),
        lambda x: fg.functions.FocalLoss()(x, fg.ones(2, 3)),
    ],
)
def test_every_loss_multiplies_by_the_upstream_gradient(loss: Any) -> None:
    x = leaf(2, 3)
    (once,) = fg.autograd.grad(loss(x), [x])
    (times,) = fg.autograd.grad(loss(x), [x], fg.tensor(-2.5))
    np.testing.assert_allclose(times.numpy(), -2.5 * once.numpy(), rtol=1e-14)


def test_gradients_stay_at_leaves_and_a_second_pass_does_not_count_twice() -> None:
    x = leaf(2)
    w = F.add(1.0, x, 1.0, x)
    z = F.add(3.0, w, 0.0, w).sum()
    z.backward(retain_graph=True)
    with pytest.warns(UserWarning, match="no leaf"):
        assert w.grad is None
    z.backward()
    assert grad_of(x).tolist() == [12.0, 12.0]


def test_a_first_gradient_does_not_read_what_was_there() -> None:
    x = leaf(2)
    x.grad = fg.tensor([1.0, 2.0])
    x.zero_grad()
    out = F.add_fiber(1.0, x, 0.0, fg.tensor([np.nan, np.nan]))
    out.sum().backward()
    assert grad_of(x).tolist() == [1.0, 1.0]


def test_recording_a_gradient_does_not_make_a_tensor_require_one() -> None:
    x, c = leaf(2), fg.ones(2)
    F.add(1.0, x, 1.0, c).sum().backward()
    assert not c.requires_grad
    assert c.grad is None


def test_the_graph_of_another_loss_survives() -> None:
    x = leaf(2)
    shared = F.add(2.0, x, 0.0, x)
    first, second = F.sum_fiber(shared).sum(), F.add(1.0, x, 1.0, x).sum()
    first.backward()
    second.backward()
    assert grad_of(x).tolist() == [4.0, 4.0]


def test_the_same_tensor_twice() -> None:
    x = leaf(3, 3)
    for f in (
        lambda x: x * x,
        lambda x: F.gemm(x, x),
        lambda x: F.add(1.0, x, 1.0, x),
        lambda x: x @ x.T,
    ):
        fg.gradcheck(f, [x], atol=1e-6)


def test_a_rule_that_is_missing_is_refused_when_it_is_registered() -> None:
    x = leaf(2)
    with pytest.raises(TypeError, match="backward_fn is a NoneType"):
        F.AutogradFunction.run([x], None, lambda: x * 2)
    with fg.no_grad():
        y = x * 2
    with pytest.raises(TypeError, match="backward_fn is a NoneType"):
        F.AutogradFunction.register_op([x], y)
    assert not y.requires_grad


def test_shared_parameters_are_listed_once() -> None:
    net = nn.Sequential(nn.Linear(2, 2, bias=False))
    net.append(nn.Linear(weight=net[0].weight, bias=False))
    assert len(list(net.parameters())) == 1


def test_peak_memory_of_a_backward_through_100_layers() -> None:
    x = fg.tensor(np.ones(131_072), requires_grad=True)
    y = x
    for _ in range(100):
        y = fg.relu(y)
    y = y.sum()
    start, peak = fg.live_bytes(), 0

    def watch(op: Op) -> list[Tensor]:
        nonlocal peak
        peak = max(peak, fg.live_bytes())
        return list(op.grad_outputs)

    y.backward()
    assert fg.live_bytes() <= start + 3 * 2**20
    z = x
    for i in range(100):
        z = fg.relu(z)
        if i % 10 == 0:
            z = F.AutogradFunction.run([z], None, lambda z=z: z, watch)
    z = z.sum()
    start, peak = fg.live_bytes(), 0
    z.backward()
    assert 0 < peak <= start + 3 * 2**20
