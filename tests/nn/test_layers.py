"""`fg.nn`: layers, containers, activations, losses and initialisers, by value and by derivative."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Tensor, nn

RNG = np.random.default_rng(3)


def leaf(*shape: int) -> Tensor:
    return fg.tensor(RNG.standard_normal(shape), requires_grad=True)


# --- Linear ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 4, 3), (0, 3), (2, 1, 5, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_contracts_the_last_axis(shape: tuple[int, ...], bias: bool) -> None:
    layer, x = nn.Linear(3, 4, bias=bias), leaf(*shape)
    want = x.detach().numpy() @ layer.weight.detach().numpy()
    if bias:
        want = want + layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(x).detach().numpy(), want, rtol=1e-13, atol=1e-14)
    assert layer(x).shape == (*shape[:-1], 4)


def test_linear_derivatives() -> None:
    layer, x = nn.Linear(3, 2), leaf(2, 2, 3)

    def function(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return nn.functional.linear(x, w, b) ** 2

    inputs = (x, layer.weight, layer.bias)
    fg.gradcheck(function, inputs, atol=1e-6)
    fg.gradgradcheck(function, inputs, atol=1e-6)


def test_linear_is_a_gemm_and_an_add_fiber() -> None:
    layer, x = nn.Linear(3, 2), fg.ones(4, 3)
    for y in (layer(x), nn.functional.linear(x, layer.weight, layer.bias)):
        graph = fg.Graph.of(y)
        assert [op.name for op in graph.ops] == ["gemm", "add_fiber"]
        want = x.numpy() @ layer.weight.detach().numpy() + layer.bias.detach().numpy()
        np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-6)


def test_linear_is_one_function() -> None:
    for dtype in ("float16", "float32", "float64"):
        layer = nn.Linear(3, 2, dtype=dtype)
        x = fg.tensor(RNG.standard_normal((2, 4, 3)), dtype=dtype)
        y = nn.functional.linear(x, layer.weight, layer.bias)
        np.testing.assert_array_equal(layer(x).detach(), y.detach())


def test_linear_starts_within_its_bound() -> None:
    fg.manual_seed(0)
    layer = nn.Linear(100, 50)
    assert np.abs(layer.weight.detach().numpy()).max() <= 0.1
    assert np.abs(layer.bias.detach().numpy()).max() <= 0.1
    fg.manual_seed(0)
    assert nn.Linear(100, 50).weight.tolist() == layer.weight.tolist()
    a, b = (nn.Linear(3, 2, generator=np.random.default_rng(5)) for _ in range(2))
    assert a.weight.tolist() == b.weight.tolist()


def test_linear_ties_weights_and_biases() -> None:
    first = nn.Linear(3, 3)
    second = nn.Linear(weight=first.weight, bias=first.bias)
    assert second.weight is first.weight
    assert (second.in_features, second.out_features) == (3, 3)
    net = nn.Sequential(first, second)
    assert len(list(net.parameters())) == 2
    net(fg.ones(1, 3)).sum().backward()
    assert first.weight.grad is not None


def test_linear_with_a_weight_of_three_axes() -> None:
    w = nn.Parameter(RNG.standard_normal((3, 2, 4)))
    layer = nn.Linear(3, 4, weight=w)
    x = RNG.standard_normal((5, 3))
    want = np.einsum("ni,ijk->njk", x, w.detach().numpy()) + layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(fg.tensor(x)).detach().numpy(), want)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Linear(0, 2), ValueError, "in_features is 0; give at least 1"),
        (lambda: nn.Linear(2), TypeError, "out_features is None"),
        (lambda: nn.Linear(2.0, 2), TypeError, "in_features is 2.0; give an integer"),
        (lambda: nn.Linear(True, 2), TypeError, "in_features is True"),
        (lambda: nn.Linear(weight=leaf(3)), ValueError, "the weight has 1 dimensions"),
        (lambda: nn.Linear(4, weight=leaf(3, 2)), ValueError, "in_features is 4 but the weight"),
        (lambda: nn.Linear(3, 5, weight=leaf(3, 2)), ValueError, "out_features is 5 but"),
        (lambda: nn.Linear(weight=np.ones((2, 2))), TypeError, "the weight is a ndarray"),
        (lambda: nn.Linear(weight=leaf(2, 2), dtype=np.float32), TypeError, "dtype float64"),
        (lambda: nn.Linear(3, 2, bias=leaf(2, 1)), ValueError, "the bias has 2 dimensions"),
        (lambda: nn.Linear(3, 2, bias=leaf(3)), ValueError, "3 entries but the weight has 2"),
        (
            lambda: nn.Linear(3, 2, bias=nn.Parameter([1.0, 2.0], dtype=np.float32)),
            TypeError,
            "dtype float32 and the weight float64",
        ),
        (lambda: nn.Linear(3, 2)(fg.tensor(1.0)), ValueError, "the input is a scalar"),
        (lambda: nn.Linear(3, 2)(fg.ones(2, 4)), ValueError, "Expected 3, got 4"),
        (lambda: nn.Linear(3, 2)(None), TypeError, "input is None"),
    ],
)
def test_linear_validations(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


# --- MLP, containers, activations --------------------------------------------------------------


def test_mlp_of_the_document() -> None:
    mlp = nn.MLP(4, 8)
    assert [name for name, _ in mlp.named_children()] == ["fc1", "activation", "fc2"]
    assert [name for name, _ in mlp.named_parameters()] == ["fc1.weight", "fc2.weight"]
    x = leaf(2, 4)
    assert mlp(x).shape == (2, 4)
    hidden = fg.gelu(x @ mlp.fc1.weight) @ mlp.fc2.weight
    np.testing.assert_allclose(mlp(x).detach().numpy(), hidden.detach().numpy(), rtol=1e-13)


@pytest.mark.parametrize("activation", ["gelu", "relu", "silu", "gelu_tanh", nn.Tanh()])
def test_mlp_activations_and_derivatives(activation: Any) -> None:
    mlp = nn.MLP(2, 5, 3, activation, bias=True)
    assert len(list(mlp.parameters())) == 4
    assert mlp(leaf(4, 2)).shape == (4, 3)
    fg.gradcheck(mlp, [leaf(2, 2)], atol=1e-6)
    fg.gradgradcheck(mlp, [leaf(2, 2)], atol=1e-6)


def test_an_unknown_activation_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'wave' is not known; use a Module or one of gelu, "):
        nn.MLP(2, 2, activation="wave")


def test_sequential() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU()).append(nn.Linear(3, 1))
    assert net(fg.ones(4, 2)).shape == (4, 1)
    assert [name for name, _ in net.named_children()] == ["0", "1", "2"]
    assert (len(net), net[-1], list(net)[1]) == (3, net[2], net[1])
    named = nn.Sequential({"fc": nn.Linear(2, 3), "act": nn.ReLU()})
    assert [name for name, _ in named.named_parameters()] == ["fc.weight", "fc.bias"]


def test_module_list_and_dict() -> None:
    layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    assert len(list(layers.parameters())) == 4
    assert layers[1] is list(layers)[1]
    assert len(layers) == 2
    table = nn.ModuleDict({"a": nn.ReLU()})
    table["b"] = nn.Tanh()
    assert "b" in table
    assert [key for key, _ in table.items()] == list(table) == ["a", "b"]
    assert (len(table), table["a"]) == (2, next(table.children()))


ACTIVATIONS = [
    (nn.ReLU(), fg.relu),
    (nn.ReLU6(), fg.relu6),
    (nn.LeakyReLU(0.2), lambda x: fg.leaky_relu(x, 0.2)),
    (nn.ELU(alpha=0.5), lambda x: fg.elu(x, 0.5)),
    (nn.GELU(), fg.gelu),
    (nn.GELU(approximate="tanh"), lambda x: fg.gelu(x, "tanh")),
    (nn.SiLU(), fg.silu),
    (nn.Sigmoid(), fg.sigmoid),
    (nn.Tanh(), fg.tanh),
    (nn.Softplus(), fg.softplus),
    (nn.Softmax(), lambda x: fg.softmax(x, -1)),
    (nn.Softmax(axis=0), lambda x: fg.softmax(x, 0)),
    (nn.LogSoftmax(), lambda x: fg.log_softmax(x, -1)),
    (nn.Identity(), lambda x: x),
]


@pytest.mark.parametrize(("module", "function"), ACTIVATIONS, ids=[repr(m) for m, _ in ACTIVATIONS])
def test_activations(module: nn.Module, function: Any) -> None:
    x = leaf(3, 4)
    np.testing.assert_array_equal(module(x).detach().numpy(), function(x).detach().numpy())


def test_an_activation_refuses_unknown_options() -> None:
    with pytest.raises(ValueError, match=r"Tanh: the options are none; got \(1,\)"):
        nn.Tanh(1)
    assert repr(nn.ELU(2.0)) == "ELU(alpha=2.0)"


# --- losses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_mse_loss(reduction: str) -> None:
    x, t = leaf(3, 2), leaf(3, 2)
    loss = nn.MSELoss(reduction)
    squares = (x.detach().numpy() - t.detach().numpy()) ** 2
    want = {"mean": squares.mean(), "sum": squares.sum(), "none": squares}[reduction]
    np.testing.assert_allclose(loss(x, t).detach().numpy(), want)
    fg.gradcheck(loss, [x, t], atol=1e-6)
    fg.gradgradcheck(loss, [x, t], atol=1e-6)


def test_losses_multiply_by_the_upstream_gradient() -> None:
    x = leaf(2, 3)
    for loss in (nn.MSELoss()(x, fg.zeros(2, 3)), nn.CrossEntropyLoss()(x, fg.tensor([0, 2]))):
        (once,) = fg.autograd.grad(loss, [x], retain_graph=True)
        (thrice,) = fg.autograd.grad(loss * -3.0, [x])
        np.testing.assert_allclose(thrice.numpy(), -3.0 * once.numpy(), rtol=1e-14)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_loss(reduction: str) -> None:
    x, t = leaf(4, 3), fg.tensor([0, 2, 1, 1])
    loss = nn.CrossEntropyLoss(reduction=reduction)
    log_p = fg.log_softmax(x, -1).detach().numpy()
    rows = -log_p[np.arange(4), t.numpy()]
    want = {"mean": rows.mean(), "sum": rows.sum(), "none": rows}[reduction]
    np.testing.assert_allclose(loss(x, t).detach().numpy(), want)
    fg.gradcheck(lambda x: loss(x, t), [x], atol=1e-6)


def test_losses_refuse_shapes_and_reductions() -> None:
    with pytest.raises(ValueError, match=r"input of shape \(2,\) and target of shape \(2, 1\)"):
        nn.MSELoss()(fg.ones(2), fg.ones(2, 1))
    with pytest.raises(ValueError, match="reduction='avg'"):
        nn.MSELoss("avg")
    with pytest.raises(ValueError, match="reduction='avg'"):
        nn.CrossEntropyLoss(reduction="avg")
    assert repr(nn.MSELoss()) == "MSELoss(reduction='mean')"
    assert repr(nn.CrossEntropyLoss(reduction="sum")) == "CrossEntropyLoss(reduction='sum')"


# --- initialisers ------------------------------------------------------------------------------


def test_initialisers() -> None:
    init, w = nn.init, nn.Parameter(np.zeros((200, 100)))
    rng = np.random.default_rng(0)
    assert init.ones_(w) is w
    assert w.detach().numpy().all()
    assert not init.zeros_(w).detach().numpy().any()
    assert init.constant_(w, 3.0).detach().numpy().max() == 3.0
    for fill, std in [
        (lambda: init.uniform_(w, -1, 1, rng), 1 / np.sqrt(3)),
        (lambda: init.normal_(w, 0, 2, rng), 2.0),
        (lambda: init.xavier_uniform_(w, 1.0, rng), np.sqrt(2 / 300)),
        (lambda: init.xavier_normal_(w, 2.0, rng), 2 * np.sqrt(2 / 300)),
        (lambda: init.kaiming_uniform_(w, generator=rng), np.sqrt(2 / 200)),
        (lambda: init.kaiming_normal_(w, mode="fan_out", generator=rng), np.sqrt(2 / 100)),
    ]:
        assert fill().detach().numpy().std() == pytest.approx(std, rel=0.03)
    assert w.is_leaf
    assert w.requires_grad


def test_a_layer_s_fans_survive_copies() -> None:
    layer = nn.Linear(weight=nn.Parameter(np.ones((3, 2, 4))))
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), layer.to(np.float32)):
        assert nn.init.fans(other.weight) == (3, 8)


@pytest.mark.parametrize(
    ("fill", "std"),
    [
        (nn.init.kaiming_uniform_, np.sqrt(2 / (16 * 9))),
        (nn.init.kaiming_normal_, np.sqrt(2 / (16 * 9))),
        (nn.init.xavier_uniform_, np.sqrt(2 / (80 * 9))),
        (nn.init.xavier_normal_, np.sqrt(2 / (80 * 9))),
    ],
)
def test_weights_of_convolutions_are_out_by_in(fill: Any, std: float) -> None:
    w = nn.Parameter(np.zeros((64, 16, 3, 3)))
    fill(w, generator=np.random.default_rng(0))
    assert w.detach().numpy().std() == pytest.approx(std, rel=0.03)
    fill(w, generator=np.random.default_rng(0), layout="in_out")
    assert w.detach().numpy().std() != pytest.approx(std, rel=0.1)


def test_gains_and_fans() -> None:
    assert nn.init.calculate_gain("relu") == pytest.approx(np.sqrt(2))
    assert nn.init.calculate_gain("leaky_relu", 1.0) == pytest.approx(1.0)
    assert nn.init.fans(fg.ones(3, 2)) == (3, 2)
    assert nn.init.fans(fg.ones(3, 2), layout="out_in") == (2, 3)
    assert nn.init.fans(fg.ones(3, 2, 4)) == (8, 12)
    assert nn.init.fans(fg.ones(3, 2, 4), layout="in_out") == (3, 8)
    assert nn.init.fans(nn.Linear(weight=nn.Parameter(np.ones((3, 2, 4)))).weight) == (3, 8)
    with pytest.raises(ValueError, match="layout='hwio'"):
        nn.init.fans(fg.ones(3, 2), layout="hwio")
    with pytest.raises(ValueError, match="'wave' is not known"):
        nn.init.calculate_gain("wave")
    with pytest.raises(ValueError, match="mode='fan'"):
        nn.init.kaiming_normal_(nn.Parameter(np.zeros((2, 2))), mode="fan")
    with pytest.raises(ValueError, match="has no fan"):
        nn.init.xavier_normal_(nn.Parameter([1.0]))


def test_a_list_shows_equal_neighbours_in_one_line() -> None:
    layers = [fg.nn.Linear(2, 2), fg.nn.Linear(2, 2), fg.nn.ReLU()]
    assert str(fg.nn.ModuleList(layers)).splitlines() == [
        "ModuleList(",
        "  (0-1): 2 x Linear(in_features=2, out_features=2, bias=True)",
        "  (2): ReLU()",
        ")",
    ]
    inner = [fg.nn.Sequential(layer) for layer in layers[:2]]
    assert str(fg.nn.ModuleList(inner)).splitlines()[1:4] == [
        "  (0-1): 2 x Sequential(",
        "    (0): Linear(in_features=2, out_features=2, bias=True)",
        "  )",
    ]
    assert str(fg.nn.ModuleList()) == "ModuleList()"
